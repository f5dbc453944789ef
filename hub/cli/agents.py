"""The agents of a run as the screen shows them: a fold of events into one row each."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct, field

from hub.cli.failures import call_failure, quarantine, said_of, server_failure
from hub.cli.reports import report_words
from hub.core import events as ev
from hub.core.outcomes import Outcome
from hub.core.text import one_line

State = Literal["queued", "thinking", "streaming", "tool", "waiting", "done"]

TAIL = 400
"""How many characters of the text that streams in are kept for the screen."""


class AgentRow(Struct):
    """What is known of one agent."""

    path: str
    role: str = ""
    state: State = "thinking"
    started: float = 0.0
    """Seconds since 1970."""
    ended: float | None = None
    outcome: Outcome | None = None
    steps: int = 0
    tokens: int = 0
    """Input and output of its own requests."""
    calls: dict[str, str] = field(default_factory=dict)
    """Tool and arguments of every call without a result, by call id, oldest first."""
    asked: set[str] = field(default_factory=set)
    """Ids of the calls that a person is asked about."""
    tail: str = ""
    """The end of what it last said, raw."""
    note: str = ""
    """A retry, a failure or a queue position, until something newer happens."""

    @property
    def depth(self) -> int:
        """How many agents are above it."""
        return self.path.count("/")

    def last_line(self, limit: int) -> str:
        """Return the last line of its text that is not empty, printable."""
        lines = self.tail.rstrip().rsplit("\n", 1)
        return one_line(lines[-1], limit)

    def detail(self, limit: int) -> str:
        """Return what it does right now, printable, on one line."""
        if self.calls and self.state in {"tool", "waiting"}:
            current = next(iter(self.asked), "") or next(reversed(self.calls))
            more = f" (+{len(self.calls) - 1})" if len(self.calls) > 1 else ""
            return one_line(self.calls.get(current, ""), limit - len(more)) + more
        return one_line(self.note, limit) if self.note else self.last_line(limit)

    def elapsed(self, now: float) -> float:
        """Return the seconds it has run, or ran."""
        end = now if self.ended is None else self.ended
        return max(end - self.started, 0.0) if self.started else 0.0


class RunAgents:
    """All agents of a run, grown event by event. Cheap: no event costs more than its own row."""

    def __init__(self) -> None:
        self.rows: dict[str, AgentRow] = {}
        self.notices: list[str] = []
        """What went wrong beside the agents, such as a server that did not start."""
        self.session = ""
        """The session of the root agent."""
        self.changed = True
        """Something on the screen is out of date; whoever draws sets it back."""
        self._jobs: dict[str, str] = {}

    def apply(self, event: ev.AnyEvent) -> None:
        """Take the next event into account."""
        handler = _HANDLERS.get(event.type)
        if handler is not None:
            handler(self, event)
            self.changed = True

    def row(self, path: str, at: float) -> AgentRow:
        """Return the row of an agent; a new one starts now."""
        row = self.rows.get(path)
        if row is None:
            row = self.rows[path] = AgentRow(path, started=at)
        return row

    def in_order(self) -> Iterator[AgentRow]:
        """Yield every agent behind its parent, siblings in the order of their start."""
        children: dict[str, list[AgentRow]] = {}
        for row in self.rows.values():
            above = row.path.rpartition("/")[0]
            children.setdefault(above if above in self.rows else "", []).append(row)
        stack = list(reversed(children.get("", [])))
        while stack:
            row = stack.pop()
            yield row
            stack.extend(reversed(children.get(row.path, [])))

    def _session_started(self, event: ev.SessionStarted | ev.SessionResumed) -> None:
        row = self.row(event.agent, event.at)
        row.role = event.role
        if not row.depth:
            self.session = event.session

    def _turn_started(self, event: ev.TurnStarted) -> None:
        row = self.row(event.agent, event.at)
        row.state, row.started, row.ended, row.outcome = "thinking", event.at, None, None
        row.note = ""

    def _text_delta(self, event: ev.TextDelta) -> None:
        row = self.rows.get(event.agent) or self.row(event.agent, event.at)
        if row.state != "streaming":
            row.state, row.tail, row.note = "streaming", "", ""
        row.tail = (row.tail + event.text)[-TAIL:]

    def _assistant_message(self, event: ev.AssistantMessageEvent) -> None:
        row = self.row(event.agent, event.at)
        row.steps += 1
        row.note = ""
        row.tail = event.text[-TAIL:] or row.tail
        row.state = "tool" if event.calls else "thinking"

    def _usage(self, event: ev.UsageEvent) -> None:
        self.row(event.agent, event.at).tokens += event.input_tokens + event.output_tokens

    def _tool_call(self, event: ev.ToolCallEvent) -> None:
        row = self.row(event.agent, event.at)
        row.calls[event.call_id] = f"{event.name} {event.arguments[:TAIL]}"
        row.note = ""
        row.state = "tool"

    def _tool_ruling(self, event: ev.ToolRulingEvent) -> None:
        row = self.row(event.agent, event.at)
        if event.ruling == "ask":
            row.asked.add(event.call_id)
            row.state = "waiting"
        else:
            self._answered(row, event.call_id)

    def _tool_result(self, event: ev.ToolResultEvent) -> None:
        row = self.row(event.agent, event.at)
        row.calls.pop(event.call_id, None)
        self._answered(row, event.call_id)
        if event.is_error:
            row.note = call_failure(event)[:TAIL]

    def _answered(self, row: AgentRow, call_id: str) -> None:
        row.asked.discard(call_id)
        row.state = "waiting" if row.asked else "tool" if row.calls else "thinking"

    def _model_retry(self, event: ev.ModelRetry) -> None:
        row = self.row(event.agent, event.at)
        row.state, row.tail = "thinking", ""
        delay = event.delay_ms / 1000
        row.note = f"retry {event.attempt} in {delay:.1f}s: {event.reason}"

    def _job_started(self, event: ev.JobStarted) -> None:
        row = self.row(event.child_agent, event.at)
        row.role, row.state, row.note = event.role, "queued", event.task[:TAIL]
        self._jobs[event.job] = event.child_agent

    def _job_progress(self, event: ev.JobProgress) -> None:
        row = self.rows.get(self._jobs.get(event.job, ""))
        if row is None or row.state == "done":
            return
        if event.state == "queued":
            row.state, row.note = "queued", f"place {event.position} in the queue"
        elif row.state == "queued":
            row.state, row.note = "thinking", ""

    def _job_question(self, event: ev.JobQuestion) -> None:
        row = self.rows.get(self._jobs.get(event.job, ""))
        if row is not None:
            row.state, row.note = "waiting", f"asks: {event.question}"[:TAIL]

    def _job_answered(self, event: ev.JobAnswered) -> None:
        row = self.rows.get(self._jobs.get(event.job, ""))
        if row is not None:
            row.state, row.note = "thinking", f"answered by {event.by}"

    def _job_done(self, event: ev.JobDone) -> None:
        row = self.rows.get(self._jobs.get(event.job, ""))
        if row is not None:
            self._end(row, event.outcome, event.at)
            row.note = said_of(event.result)[:TAIL]

    def _report_submitted(self, event: ev.ReportSubmitted) -> None:
        if words := report_words(event):
            self.row(event.agent, event.at).note = words[:TAIL]

    def _cancel_requested(self, event: ev.CancelRequested) -> None:
        self.row(event.agent, event.at).note = f"stopping ({event.reason})"

    def _server_failed(self, event: ev.ServerFailed) -> None:
        self.notices.append(server_failure(event))

    def _server_quarantined(self, event: ev.ServerQuarantined) -> None:
        self.notices.append(quarantine(event))

    def _turn_done(self, event: ev.TurnDone) -> None:
        row = self.row(event.agent, event.at)
        self._end(row, event.outcome, event.at)
        row.tail = event.text[-TAIL:] or row.tail
        first = event.text.lstrip()[:TAIL].partition("\n")[0]
        row.note = str(event.error.get("message", "")) if event.error else first

    def _end(self, row: AgentRow, outcome: Outcome, at: float) -> None:
        row.state, row.outcome = "done", outcome
        row.ended = at if row.ended is None else row.ended
        row.calls.clear()
        row.asked.clear()


_HANDLERS: dict[str, Callable[[RunAgents, Any], None]] = {
    "session.started": RunAgents._session_started,
    "session.resumed": RunAgents._session_started,
    "turn.started": RunAgents._turn_started,
    "text.delta": RunAgents._text_delta,
    "assistant.message": RunAgents._assistant_message,
    "usage": RunAgents._usage,
    "tool.call": RunAgents._tool_call,
    "tool.ruling": RunAgents._tool_ruling,
    "tool.result": RunAgents._tool_result,
    "model.retry": RunAgents._model_retry,
    "job.started": RunAgents._job_started,
    "job.progress": RunAgents._job_progress,
    "job.question": RunAgents._job_question,
    "job.answered": RunAgents._job_answered,
    "job.done": RunAgents._job_done,
    "report.submitted": RunAgents._report_submitted,
    "cancel.requested": RunAgents._cancel_requested,
    "server.failed": RunAgents._server_failed,
    "server.quarantined": RunAgents._server_quarantined,
    "turn.done": RunAgents._turn_done,
}

UNSEEN = frozenset({
    "user.message",
    "context.added",
    "session.forked",
    "server.connected",
    "catalog.changed",
    "session.done",
    "tools.loaded",
    "reasoning.delta",
    "tool.progress",
    "server.log",
    "server.asked",
})
"""Events that change nothing on the screen; a test proves that every other one has a handler."""
