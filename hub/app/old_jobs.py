"""The jobs of a stored session: which have no end, what became of them, what the agent heard."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hub.core import events as ev
from hub.core.changes import Changes
from hub.core.jobs import Failure, JobResult, Report
from hub.core.messages import ToolOutcome, Usage
from hub.dispatch.board import Entry
from hub.dispatch.frame import result_outcome
from hub.dispatch.report import stored_report
from hub.dispatch.tool import DISPATCH

LOST = "the process ended before this was done"


class OldJobs:
    """The jobs of one session's log."""

    def __init__(self, events: Iterable[ev.AnyEvent]) -> None:
        self._started: dict[str, ev.JobStarted] = {}
        self._results: dict[str, Mapping[str, Any]] = {}
        self._heard: set[str] = set()
        self._answered: set[str] = set()
        """Dispatch calls that have brought their job's result."""
        for event in events:
            match event:
                case ev.JobStarted():
                    self._started[event.job] = event
                case ev.JobDone():
                    self._results[event.job] = event.result
                case ev.ContextAdded():
                    self._heard.update(event.delivers)
                case ev.ToolResultEvent():
                    self._heard.update(event.delivers)
                    if event.name == DISPATCH and event.kind != "question":
                        self._answered.add(event.call_id)
                case _:
                    pass

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self._started)

    @property
    def open(self) -> list[ev.JobStarted]:
        """Those that have no end."""
        return [job for job in self._started.values() if job.job not in self._results]

    def settle(
        self, job: ev.JobStarted, child: Sequence[ev.AnyEvent], changes: Changes | None = None
    ) -> ev.JobDone:
        """End a job by what its child's log says: with its report if it had come so far."""
        result = replace(_result_of(job, child), changes=changes)
        self._results[job.job] = result.as_dict()
        return ev.JobDone(
            job=job.job,
            role=job.role,
            outcome=result.outcome,
            stop_reason=result.stop_reason,
            child=job.child,
            result=result.as_dict(),
        )

    def outcome(self, call_id: str) -> tuple[ToolOutcome, str] | None:
        """Return what a dispatch call came to and its job, if it became one."""
        for job in self._started.values():
            if job.call_id == call_id:
                self._heard.add(job.job)
                return result_outcome(self._results[job.job]), job.job
        return None

    def unheard(self) -> list[Entry]:
        """Return the jobs whose results no event has told the agent; all must have ended."""
        return [
            Entry(
                id=job.job,
                role=job.role,
                task=job.task,
                agent=job.child_agent,
                started=0.0,
                background=True,
                state="done",
                result=dict(self._results[job.job]),
            )
            for job in self._started.values()
            if job.job not in self._heard and not self._came_with_its_call(job)
        ]

    def _came_with_its_call(self, job: ev.JobStarted) -> bool:
        """Say whether a job in the foreground was answered; older logs do not name it."""
        return not job.background and job.call_id in self._answered


def accepted_report(events: Iterable[ev.AnyEvent]) -> Report | None:
    """Return the report that a child had accepted; None when there is none."""
    valid = _valid_reports(events)
    return next((stored_report(event) for event in valid if event.accepted), None)


def _valid_reports(events: Iterable[ev.AnyEvent]) -> list[ev.ReportSubmitted]:
    return [event for event in events if isinstance(event, ev.ReportSubmitted) and event.valid]


def _result_of(job: ev.JobStarted, child: Sequence[ev.AnyEvent]) -> JobResult:
    usage, turn = Usage(), None
    for event in child:
        match event:
            case ev.UsageEvent():
                usage = usage + Usage(event.input_tokens, event.output_tokens, requests=1)
            case ev.TurnDone():
                turn = event
            case _:
                pass
    known: dict[str, Any] = {
        "job_id": job.job,
        "role": job.role,
        "session_id": job.child,
        "usage": usage,
    }
    if turn is None or turn.outcome == "lost":
        error = Failure("lost", LOST)
        return JobResult(outcome="lost", stop_reason="interrupted", error=error, **known)
    report = accepted_report(child)
    if report is None and turn.outcome == "failed":
        report = next((stored_report(event) for event in _valid_reports(child)[::-1]), None)
    return JobResult(
        outcome=turn.outcome,
        stop_reason=turn.stop_reason,
        report=report,
        partial_text="" if report else turn.text,
        error=Failure(**turn.error) if turn.error else None,
        cost_usd=turn.cost_usd,
        **known,
    )
