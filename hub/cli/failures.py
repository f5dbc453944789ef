"""What went wrong, in words that are the same in every view."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hub.core import events as ev
from hub.core.text import one_line

FRAME = "dispatch_result"
"""Tag around the result of a dispatch."""
GOOD = frozenset({"done", "partial"})
CAUSE_LENGTH = 300
"""Characters of a child's cause that are shown."""
MOST_HELD = 5
"""Parts of a server that are named when they are held back."""
MOST_CHILDREN = 10
"""Failed children that are listed."""


def server_failure(event: ev.ServerFailed) -> str:
    """Return what happened, where it is written, what to do, and the server's last words."""
    place = f"{event.where}: " if event.where else ""
    remedy = f" {event.remedy}" if event.remedy else ""
    last = event.stderr.strip().rpartition("\n")[2]
    said = f" ({last})" if last and last not in event.error else ""
    return f"{place}server {event.server} failed: {event.error}{said}.{remedy}"


def server_asked(event: ev.ServerAsked) -> str:
    """Return what a server asked and what came of it."""
    about = f" ({event.message})" if event.message else ""
    why = f": {event.reason}" if event.reason else ""
    site = f" at {event.site}" if event.site else ""
    return f"server {event.server} asked for {event.asked}{site}{about}: {event.outcome}{why}"


def quarantine(event: ev.ServerQuarantined) -> str:
    """Return what of a server is held back, why, and what to do."""
    groups = (("tool", event.tools), ("prompt", event.prompts), ("resource", event.resources))
    parts = [f"{kind} {name}: {why}" for kind, held in groups for name, why in held.items()]
    if event.instructions:
        parts.append(f"instructions: {event.instructions}")
    shown = "; ".join(parts[:MOST_HELD])
    more = f"; and {len(parts) - MOST_HELD} more" if len(parts) > MOST_HELD else ""
    return f"server {event.server} is not as it was approved: {shown}{more}. {event.remedy}"


def ending(outcome: str, stop_reason: str) -> str:
    """Return how something ended, with the detail where that says more."""
    return outcome if stop_reason in {outcome, ""} else f"{outcome} ({stop_reason})"


def said_of(result: Mapping[str, Any]) -> str:
    """Return what a ``dispatch_result`` says first: the report, the error or the partial text."""
    report, error = result.get("report"), result.get("error")
    if isinstance(report, Mapping):
        return str(report.get("summary", ""))
    if isinstance(error, Mapping):
        return str(error.get("message", ""))
    return str(result.get("partial_text", ""))


def call_failure(event: ev.ToolResultEvent) -> str:
    """Return which call failed and why; of a dispatch, who failed, how, and why."""
    result = dispatch_result(event)
    if result is None:
        return f"{event.name} failed: {event.text}"
    how = ending(str(result.get("outcome", "")), str(result.get("stop_reason", "")))
    said = said_of(result)
    return f"{event.name} failed: {result.get('role')} ended, {how}" + (said and f": {said}")


def dispatch_result(event: ev.ToolResultEvent) -> Mapping[str, Any] | None:
    """Return the ``dispatch_result`` that a result of a call holds, if it holds one."""
    if not event.text.startswith(f"<{FRAME}>"):
        return None
    with suppress(ValueError):
        found = json.loads(event.text.removeprefix(f"<{FRAME}>").removesuffix(f"</{FRAME}>"))
        if isinstance(found, dict):
            return found
    return {"role": "the child", "outcome": event.kind}


class FailedChildren:
    """The dispatched agents of a run that did not end well, in the order of their ends."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._stored: set[str] = set()
        self._failed: list[ev.JobDone] = []

    def note(self, event: ev.AnyEvent) -> None:
        """Take the next event of the run into account."""
        match event:
            case ev.JobStarted():
                self._paths[event.job] = event.child_agent
            case ev.SessionStarted():
                self._stored.add(event.session)
            case ev.JobDone() if event.outcome not in GOOD:
                self._failed.append(event)
            case _:
                pass

    def lines(self) -> list[str]:
        """Return who failed, how, why, and where to see it, one line for each."""
        lines = [self._line(event) for event in self._failed[:MOST_CHILDREN]]
        more = len(self._failed) - len(lines)
        return [*lines, f"{more} more children failed"] if more else lines

    def _line(self, event: ev.JobDone) -> str:
        agent = one_line(self._paths.get(event.job, event.role), CAUSE_LENGTH)
        words = f"{agent} ended, {ending(event.outcome, event.stop_reason)}"
        if cause := one_line(said_of(event.result), CAUSE_LENGTH):
            words += f": {cause}"
        return (
            f"{words} (hub sessions show {event.child})" if event.child in self._stored else words
        )
