"""A stored session as a readable transcript, children inside of their parents."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from hub.app.inspect import Transcript
from hub.cli.failures import ending, quarantine, server_asked, server_failure
from hub.cli.figures import plural, short_count, short_time
from hub.cli.layout import paragraph, width
from hub.cli.reports import report_words
from hub.core import events as ev
from hub.core.text import one_line

STEM = "│ "
"""What stands before each line of a child."""
CUT_LINES = 12
"""Lines of one result, task or message of the harness that are shown unless all is wanted."""
LEAST_WIDTH = 40


def transcript(top: Transcript, *, full: bool = False) -> list[str]:
    """Return the lines of a session and of everything below it."""
    return _Words(full=full).session(top, 0)


def moment(seconds: float) -> str:
    """Return a time since 1970 as local date and time."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


class _Words:
    def __init__(self, *, full: bool) -> None:
        self._full = full
        self._room = width()

    def session(self, node: Transcript, depth: int) -> list[str]:
        info = node.info
        outcome = info.outcome or "not ended"
        head = " · ".join((info.id, info.role, outcome, moment(info.created), info.model))
        lines = [one_line(head, max(self._room - depth * len(STEM), LEAST_WIDTH))]
        children = {child.info.id: child for child in node.children}
        for event in node.log.events:
            lines += [f"  {line}" for line in self._event(event, depth)]
            if isinstance(event, ev.JobStarted) and event.child in children:
                lines += self._child(children.pop(event.child), depth)
        for child in children.values():
            lines += self._child(child, depth)
        skipped = [f"  ! line {lost.seq} cannot be read: {lost.why}" for lost in node.log.skipped]
        return lines + skipped

    def _child(self, child: Transcript, depth: int) -> Iterator[str]:
        return (f"  {STEM}{line}" for line in self.session(child, depth + 1))

    def _event(self, event: ev.AnyEvent, depth: int) -> list[str]:
        worder = _WORDERS.get(event.type)
        if worder is None:
            return []
        mark, text = worder(event)
        if not text:
            return []
        room = max(self._room - (depth + 1) * (len(STEM) + 2), LEAST_WIDTH)
        lines = paragraph(text, limit=room - len(mark) - 1)
        whole = self._full or event.type in _WHOLE
        if not whole and len(lines) > CUT_LINES:
            lines = [*lines[:CUT_LINES], f"… {len(lines) - CUT_LINES} more lines (--full)"]
        blank = " " * len(mark)
        return [f"{mark if index == 0 else blank} {line}" for index, line in enumerate(lines)]


def _started(event: ev.SessionStarted) -> tuple[str, str]:
    return "·", f"in {event.workspace} with {plural(len(event.tools), 'tool')}"


def _resumed(event: ev.SessionResumed) -> tuple[str, str]:
    return "·", f"resumed {moment(event.at)}, {plural(event.settled, 'open call')} closed"


def _forked(event: ev.SessionForked) -> tuple[str, str]:
    return "·", f"copied from {event.source}, {plural(event.events, 'event')}"


def _user(event: ev.UserMessageEvent) -> tuple[str, str]:
    return ">", event.text


def _assistant(event: ev.AssistantMessageEvent) -> tuple[str, str]:
    return "<", event.text


def _call(event: ev.ToolCallEvent) -> tuple[str, str]:
    return "$", f"{event.name} {event.arguments}"


def _ruling(event: ev.ToolRulingEvent) -> tuple[str, str]:
    if event.ruling == "allow":
        return "", ""
    origin = f" ({event.origin})" if event.origin else ""
    return "?", f"{event.name}: {event.ruling}, {event.reason}{origin}"


def _result(event: ev.ToolResultEvent) -> tuple[str, str]:
    took = f"[{short_time(event.duration_ms / 1000)}] " if event.duration_ms >= 100 else ""
    return ("✗" if event.is_error else "="), took + event.text


def _context(event: ev.ContextAdded) -> tuple[str, str]:
    return "+", f"({event.source}) {event.text}"


def _retry(event: ev.ModelRetry) -> tuple[str, str]:
    return "!", f"model retry {event.attempt}: {event.reason}"


def _job(event: ev.JobStarted) -> tuple[str, str]:
    return "@", f"dispatched {event.child_agent}"


def _job_question(event: ev.JobQuestion) -> tuple[str, str]:
    return "?", f"{event.role} asks: {event.question}"


def _job_answered(event: ev.JobAnswered) -> tuple[str, str]:
    return "?", f"answered by {event.by}: {event.answer}"


def _job_done(event: ev.JobDone) -> tuple[str, str]:
    return "@", f"{event.role} ended, {ending(event.outcome, event.stop_reason)}"


def _report(event: ev.ReportSubmitted) -> tuple[str, str]:
    words = report_words(event)
    return ("✗" if not (event.valid and event.accepted) else "·" if words else "", words)


def _cancel(event: ev.CancelRequested) -> tuple[str, str]:
    return "!", f"stopped ({event.reason})"


def _server_failed(event: ev.ServerFailed) -> tuple[str, str]:
    return "!", server_failure(event)


def _server_asked(event: ev.ServerAsked) -> tuple[str, str]:
    return "?", server_asked(event)


def _server_quarantined(event: ev.ServerQuarantined) -> tuple[str, str]:
    return "!", quarantine(event)


def _turn_done(event: ev.TurnDone) -> tuple[str, str]:
    tokens = short_count(event.input_tokens + event.output_tokens)
    error = f": {event.error.get('message', '')}" if event.error else ""
    cost = f", {event.cost_usd:.4g} USD" if event.cost_usd else ""
    figures = f"{plural(event.steps, 'step')}, {tokens} tokens{cost}"
    took = short_time(event.duration_ms / 1000)
    return "·", f"{ending(event.outcome, event.stop_reason)}, {figures}, {took}{error}"


_WORDERS: dict[str, Callable[[Any], tuple[str, str]]] = {
    "session.started": _started,
    "session.resumed": _resumed,
    "session.forked": _forked,
    "user.message": _user,
    "assistant.message": _assistant,
    "tool.call": _call,
    "tool.ruling": _ruling,
    "tool.result": _result,
    "context.added": _context,
    "model.retry": _retry,
    "job.started": _job,
    "job.question": _job_question,
    "job.answered": _job_answered,
    "job.done": _job_done,
    "report.submitted": _report,
    "cancel.requested": _cancel,
    "server.failed": _server_failed,
    "server.asked": _server_asked,
    "server.quarantined": _server_quarantined,
    "turn.done": _turn_done,
}
_WHOLE = frozenset({"assistant.message"})
"""Events whose text is never cut."""
