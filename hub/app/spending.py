"""What a stored session and everything below it has spent, out of its log."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import fields

from hub.core import events as ev
from hub.core.messages import Usage
from hub.sessions.archive import SessionArchive

COUNTS = frozenset(field.name for field in fields(Usage))


def spent(store: SessionArchive, events: Iterable[ev.AnyEvent]) -> Usage:
    """Return the tokens of a session's own requests and of all that it dispatched.

    A job says what it and those below it used. One that was lost could not say it, so its own log
    is read.

    Raises:
        StoreError: a log cannot be read.
    """
    total = Usage()
    children: dict[str, str] = {}
    for event in events:
        match event:
            case ev.UsageEvent():
                total += _of_request(event)
            case ev.JobStarted():
                children[event.job] = event.child
            case ev.JobDone() if event.outcome != "lost":
                children.pop(event.job, None)
                total += _of_job(event.result.get("usage"))
            case _:
                pass
    for child in children.values():
        total += spent(store, store.read(child).events)
    return total


def _of_request(event: ev.UsageEvent) -> Usage:
    return Usage(
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        cached_tokens=event.cached_tokens,
        reasoning_tokens=event.reasoning_tokens,
        requests=1,
    )


def _of_job(counts: Any) -> Usage:
    if not isinstance(counts, Mapping):
        return Usage()
    return Usage(**{key: value for key, value in counts.items() if key in COUNTS})
