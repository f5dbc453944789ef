"""An event as one line of JSON and back; the form in which every store keeps it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from pydantic_core import PydanticSerializationError, ValidationError

from hub.core.events import AnyEvent, Event, parse_event
from hub.core.text import one_line, without_surrogates

DEEPEST = 100
"""Levels of nesting that are kept where the usual encoder or parser gives up."""


class Skipped(Struct, frozen=True):
    """A stored line that cannot be read as an event of its session."""

    seq: int
    """Its position in the session's log."""
    why: str
    """One printable line."""


class Log(Struct, frozen=True):
    """What is stored of one session, and what of it could not be read."""

    events: tuple[AnyEvent, ...]
    skipped: tuple[Skipped, ...]
    last_seq: int
    """Position of the latest line, readable or not; the next event follows it."""


def encode(event: Event) -> str:
    """Return an event as JSON that encodes as UTF-8, whatever a tool has put into it."""
    try:
        return event.model_dump_json()
    except PydanticSerializationError:
        return json.dumps(_plain(event.model_dump()), ensure_ascii=False, separators=(",", ":"))


def decode(line: bytes, session: str, seq: int) -> AnyEvent | Skipped:
    """Read the line at a position of a session's log."""
    try:
        event = parse_event(line)
    except ValidationError as error:
        found = _decode_odd(line)
        if found is None:
            return Skipped(seq, one_line(f"{error.errors()[0]['msg']}: {line[:80]!r}", 160))
        event = found
    if (event.session, event.seq) != (session, seq):
        return Skipped(seq, one_line(f"it says that it is {event.session} {event.seq}", 160))
    return event


def read_log(session: str, lines: Iterable[tuple[int, bytes]], *, after: int = 0) -> Log:
    """Read the numbered lines behind a position; what is no event is skipped and named."""
    events: list[AnyEvent] = []
    skipped: list[Skipped] = []
    last = after
    for seq, line in lines:
        last = seq
        found = decode(line, session, seq)
        if isinstance(found, Skipped):
            skipped.append(found)
        else:
            events.append(found)
    return Log(tuple(events), tuple(skipped), last)


def _decode_odd(line: bytes) -> AnyEvent | None:
    """Read a line that is too deep, or has half of a surrogate pair, for the usual parser."""
    try:
        return parse_event(json.dumps(_plain(json.loads(line))))
    except (ValueError, RecursionError):
        return None


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) != float("inf") and value == value else None
    if depth >= DEEPEST:
        return "(nested too deeply)"
    if isinstance(value, Mapping):
        return {without_surrogates(str(key)): _plain(v, depth + 1) for key, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    return without_surrogates(repr(value))
