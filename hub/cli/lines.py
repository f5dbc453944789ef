"""A run as plain lines: one for each event that a reader of a log would want to know of."""

from collections.abc import Callable
from typing import Any

from hub.cli.failures import (
    call_failure,
    dispatch_result,
    ending,
    quarantine,
    said_of,
    server_asked,
    server_failure,
)
from hub.cli.figures import plural, short_count, short_time
from hub.cli.reports import report_words
from hub.core import events as ev
from hub.core.text import one_line

WIDTH = 160
"""Characters of one line after the agent's path."""
REMEDY_WIDTH = 1000
"""The same for lines that say what is wrong and what to do."""
WITH_REMEDY = frozenset({
    "tool.result",
    "tool.ruling",
    "model.retry",
    "job.question",
    "job.done",
    "report.submitted",
    "server.failed",
    "catalog.changed",
    "turn.done",
})
"""Events whose lines may say what to do, which stands at their end."""
SLOW_MS = 1000
"""A tool that took this long gets a second line when it is done."""
TOLD_OTHERWISE = frozenset({"dispatch", "report"})
"""Tools whose calls are told by the events of the job."""


class RunLines:
    """Words each notable event as one printable line, such as ``[  1.2s] lead: files__read …``."""

    def __init__(self) -> None:
        self._start: float | None = None
        self._paths: dict[str, str] = {}

    def line(self, event: ev.AnyEvent) -> str | None:
        """Return the line for an event; None for the many that are not worth one."""
        if self._start is None:
            self._start = event.at
        worder = _WORDERS.get(event.type)
        words = worder(self, event) if worder is not None else ""
        if not words:
            return None
        elapsed = short_time(max(event.at - self._start, 0.0))
        agent = one_line(event.agent, WIDTH) or "hub"
        room = REMEDY_WIDTH if event.type in WITH_REMEDY else WIDTH
        return f"[{elapsed:>6}] {agent}: {one_line(words, room)}"

    def _session_started(self, event: ev.SessionStarted) -> str:
        if event.parent:
            return ""
        return f"session {event.session}, role {event.role}, model {event.model}"

    def _session_resumed(self, event: ev.SessionResumed) -> str:
        settled = f", {plural(event.settled, 'open call')} closed" if event.settled else ""
        return f"resumed, role {event.role}, model {event.model}{settled}"

    def _session_forked(self, event: ev.SessionForked) -> str:
        return f"a copy of session {event.source}"

    def _assistant_message(self, event: ev.AssistantMessageEvent) -> str:
        return event.text if event.calls else ""

    def _tool_call(self, event: ev.ToolCallEvent) -> str:
        if event.name in TOLD_OTHERWISE:
            return ""
        return f"{event.name} {event.arguments}"

    def _tool_ruling(self, event: ev.ToolRulingEvent) -> str:
        match event.ruling:
            case "deny":
                return f"{event.name} denied: {event.reason}"
            case "ask":
                return f"{event.name} waits for an answer: {event.reason}"
            case "allow":
                return ""

    def _tool_result(self, event: ev.ToolResultEvent) -> str:
        if event.is_error:
            told = event.kind == "denied" or dispatch_result(event) is not None
            return "" if told else call_failure(event)
        if event.duration_ms < SLOW_MS:
            return ""
        return f"{event.name} done in {short_time(event.duration_ms / 1000)}"

    def _model_retry(self, event: ev.ModelRetry) -> str:
        return f"model retry {event.attempt} in {short_time(event.delay_ms / 1000)}: {event.reason}"

    def _job_started(self, event: ev.JobStarted) -> str:
        self._paths[event.job] = event.child_agent
        return f"dispatches {event.child_agent}: {event.task}"

    def _job_question(self, event: ev.JobQuestion) -> str:
        return f"{self._paths.get(event.job, event.role)} asks: {event.question}"

    def _job_answered(self, event: ev.JobAnswered) -> str:
        if event.by == "nobody":
            return f"nobody answers {self._paths.get(event.job, event.role)}"
        return f"answers {self._paths.get(event.job, event.role)}: {event.answer}"

    def _job_done(self, event: ev.JobDone) -> str:
        said = said_of(event.result)
        agent = self._paths.get(event.job, event.role)
        return f"{agent} ended, {ending(event.outcome, event.stop_reason)}" + (said and f": {said}")

    def _report_submitted(self, event: ev.ReportSubmitted) -> str:
        return report_words(event)

    def _cancel_requested(self, event: ev.CancelRequested) -> str:
        return f"stopping ({event.reason})"

    def _server_connected(self, event: ev.ServerConnected) -> str:
        took = short_time(event.duration_ms / 1000)
        return f"server {event.server} connected in {took}, {plural(event.tools, 'tool')}"

    def _server_failed(self, event: ev.ServerFailed) -> str:
        return server_failure(event)

    def _server_quarantined(self, event: ev.ServerQuarantined) -> str:
        return quarantine(event)

    def _server_asked(self, event: ev.ServerAsked) -> str:
        return server_asked(event)

    def _catalog_changed(self, event: ev.CatalogChanged) -> str:
        changes = {"new": event.added, "gone": event.removed, "changed": event.changed}
        words = "; ".join(f"{kind}: {', '.join(tools)}" for kind, tools in changes.items() if tools)
        others = {"prompts": event.prompts, "resources": event.resources}
        others_said = " and ".join(kind for kind, are_others in others.items() if are_others)
        if not words:
            return f"{others_said} of server {event.server} have changed"
        more = f"; other {others_said}" if others_said else ""
        return f"tools of server {event.server}: {words}{more}"

    def _turn_done(self, event: ev.TurnDone) -> str:
        if "/" in event.agent:
            return ""
        tokens = short_count(event.input_tokens + event.output_tokens)
        took = short_time(event.duration_ms / 1000)
        error = f": {event.error.get('message', '')}" if event.error else ""
        figures = f"{plural(event.steps, 'step')}, {tokens} tokens, {took}"
        return f"{ending(event.outcome, event.stop_reason)}, {figures}{error}"


_WORDERS: dict[str, Callable[[RunLines, Any], str]] = {
    "session.started": RunLines._session_started,
    "session.resumed": RunLines._session_resumed,
    "session.forked": RunLines._session_forked,
    "assistant.message": RunLines._assistant_message,
    "tool.call": RunLines._tool_call,
    "tool.ruling": RunLines._tool_ruling,
    "tool.result": RunLines._tool_result,
    "model.retry": RunLines._model_retry,
    "job.started": RunLines._job_started,
    "job.question": RunLines._job_question,
    "job.answered": RunLines._job_answered,
    "job.done": RunLines._job_done,
    "report.submitted": RunLines._report_submitted,
    "cancel.requested": RunLines._cancel_requested,
    "server.connected": RunLines._server_connected,
    "server.failed": RunLines._server_failed,
    "server.quarantined": RunLines._server_quarantined,
    "server.asked": RunLines._server_asked,
    "catalog.changed": RunLines._catalog_changed,
    "turn.done": RunLines._turn_done,
}
