"""One dispatched piece of work and what it came to, as values that can cross a process."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from hub.core.acceptance import UNCHECKED, Acceptance, Checked
from hub.core.cancel import CancelToken
from hub.core.changes import Changes
from hub.core.ledger import Ledger
from hub.core.messages import Usage
from hub.core.outcomes import Outcome, StopReason
from hub.core.team import Grant

ReportStatus = Literal["success", "partial", "failed", "blocked"]

REPORT_OUTCOME: Mapping[ReportStatus, Outcome] = {
    "success": "done",
    "partial": "partial",
    "failed": "failed",
    "blocked": "blocked",
}


class Report(Struct, frozen=True):
    """The object with which a child ends."""

    status: ReportStatus
    summary: str
    details: str = ""
    files: tuple[str, ...] = ()
    """Paths relative to the workspace that the work touched or rests on."""
    data: Any = None
    """Checked against the role's ``report_schema``."""
    questions: tuple[str, ...] = ()
    checks: tuple[Mapping[str, str], ...] = ()
    """What the child says it checked: ``what``, ``how`` and ``result`` of each."""
    checked: Checked = UNCHECKED
    """What the host found; it is told beside the report, not in it."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that were given, for JSON."""
        full: dict[str, Any] = {
            "status": self.status,
            "summary": self.summary,
            "details": self.details,
            "files": list(self.files),
            "data": self.data,
            "questions": list(self.questions),
            "checks": [dict(check) for check in self.checks],
        }
        return {key: value for key, value in full.items() if value not in ("", [], None)}


class Job(Struct, frozen=True):
    """A task for a child, validated, with everything that bounds it."""

    id: str
    role: str
    task: str
    session: str
    """The child's session."""
    parent_session: str
    call_id: str
    """The dispatch call that asked for it."""
    agent: str
    """Path of the child, such as ``lead/worker#2``."""
    depth: int
    grant: Grant
    ledger: Ledger
    cancel: CancelToken
    context: str = ""
    files: tuple[str, ...] = ()
    acceptance: Acceptance = field(default_factory=Acceptance)
    """What has to hold before its report counts."""
    isolated: bool = False
    """It works in a git work tree of its own."""


class DeniedCall(Struct, frozen=True):
    """A call that was not allowed to happen."""

    agent: str
    tool: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        """Return the fields by name, for JSON."""
        return {"agent": self.agent, "tool": self.tool, "reason": self.reason}


class Denials:
    """Calls that were denied to an agent or below it, less those made good later.

    A denial is made good when a call of the same tool succeeds afterwards: here, or below in a
    child that began when the denial was known. What a sibling did at the same time is no remedy.
    """

    def __init__(self, parent: "Denials | None" = None) -> None:
        self._parent = parent
        self._known = parent.open() if parent else ()
        self._calls: list[DeniedCall] = []

    def add(self, *denied: DeniedCall) -> None:
        """Record denied calls, of the agent itself or of a child that has ended."""
        self._calls.extend(denied)

    def made_good(self, tool: str) -> None:
        """Forget the denials of a tool that has just succeeded."""
        self._forget(tool, self._calls)

    def _forget(self, tool: str, among: Sequence[DeniedCall]) -> None:
        gone = [id(denied) for denied in among if denied.tool == tool]
        self._calls = [denied for denied in self._calls if id(denied) not in gone]
        if self._parent is not None:
            self._parent._forget(tool, self._known)

    def open(self) -> tuple[DeniedCall, ...]:
        """Return what is still denied."""
        return tuple(self._calls)


class Failure(Struct, frozen=True):
    """Why a turn or job did not end well."""

    kind: str
    message: str
    retryable: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return {"kind": self.kind, "message": self.message, "retryable": self.retryable}


class TurnResult(Struct, frozen=True):
    """How one turn ended, and with what."""

    outcome: Outcome
    """How it ended, in one word."""
    stop_reason: StopReason
    """Why it ended, in detail."""
    text: str = ""
    """The final answer, or what was said before the end when there is none."""
    report: Report | None = None
    """What it was ended with, when the agent works for a parent."""
    usage: Usage = field(default_factory=Usage)
    """Tokens of the agent and of everything below it, in the whole session."""
    cost_usd: float | None = None
    """US dollars of the same; None when the price of some of it is not known."""
    steps: int = 0
    """Model requests of the agent itself in this turn."""
    denied_calls: tuple[DeniedCall, ...] = ()
    """Denied in this turn, here and below, and not made good by a later call of the same tool."""
    error: Failure | None = None
    """Why it did not end well: ``kind``, ``message``, ``retryable``."""
    duration_ms: int = 0
    """Wall time, in milliseconds."""
    session_id: str = ""
    """The session of the agent."""
    changes: Changes | None = None
    """What it changed in a work tree of its own; None where it had none."""


class JobResult(Struct, frozen=True):
    """What a parent learns of a job: the ``dispatch_result``."""

    job_id: str
    role: str
    outcome: Outcome
    stop_reason: StopReason
    report: Report | None = None
    partial_text: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    duration_ms: int = 0
    denied_calls: tuple[DeniedCall, ...] = ()
    session_id: str = ""
    error: Failure | None = None
    changes: Changes | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result in the shape that models, JSON output and MCP clients see."""
        return {
            "job_id": self.job_id,
            "role": self.role,
            "outcome": self.outcome,
            "stop_reason": self.stop_reason,
            "report": self.report.as_dict() if self.report else None,
            **(self.report.checked.as_dict() if self.report else {}),
            "partial_text": self.partial_text,
            "usage": self.usage.as_dict(),
            "cost_usd": self.cost_usd,
            "duration_ms": self.duration_ms,
            "denied_calls": [denied.as_dict() for denied in self.denied_calls],
            "session_id": self.session_id,
            "error": self.error.as_dict() if self.error else None,
            **({"changes": self.changes.as_dict()} if self.changes else {}),
        }


AnsweredBy = Literal["parent", "user", "nobody"]


class Answered(Struct, frozen=True):
    """The answer to a child's question."""

    text: str
    by: AnsweredBy


AskAbove = Callable[[str, str, Sequence[str]], Awaitable[Answered]]
"""Asks whoever is above a parent: agent that asks, question, answers that it proposes."""


class ParentLink(Protocol):
    """What a job may ask of those above it while it runs."""

    async def ask(self, question: str, options: Sequence[str]) -> Answered:
        """Put a question to the parent and wait for the answer, within a deadline."""
        ...

    def waiting(self) -> AbstractAsyncContextManager[None]:
        """Lend the job's place among the running ones to its own children, in the body."""
        ...


RunChild = Callable[[Job, ParentLink], Awaitable[TurnResult]]
"""Runs a job to its end. It returns for every outcome; it raises only when it is cancelled."""
