"""Events of dispatched work: jobs, reports, cancels."""

from typing import Any, Literal

from pydantic import Field

from hub.core.events.envelope import Event
from hub.core.outcomes import Outcome, StopReason


class JobStarted(Event):
    """A child was dispatched; stored in the parent's session."""

    type: Literal["job.started"] = "job.started"
    job: str
    """The job, unique."""
    role: str
    """Role of the child."""
    task: str
    """What the child is to do."""
    call_id: str
    """The dispatch call that asked for it."""
    child: str
    """Session of the child."""
    child_agent: str
    """Path of the child, such as ``lead/worker#2``."""
    depth: int
    """Levels below the root."""
    background: bool = False
    """The parent goes on while it works."""


class JobQuestion(Event):
    """A child asks something and waits for the answer."""

    type: Literal["job.question"] = "job.question"
    job: str
    """The job that waits."""
    role: str
    """Role of the child."""
    question: str
    """What it wants to know."""
    options: list[str] = Field(default_factory=list)
    """Answers that it proposes."""


class JobAnswered(Event):
    """The question of a child was answered; it goes on."""

    type: Literal["job.answered"] = "job.answered"
    job: str
    """The job that waited."""
    role: str
    """Role of the child."""
    answer: str
    """What it was told."""
    by: Literal["parent", "user", "nobody"]
    """Who answered; ``nobody`` when the wait was over."""


class JobDone(Event):
    """A child ended; exactly one for each ``job.started``."""

    type: Literal["job.done"] = "job.done"
    job: str
    """The job, unique."""
    role: str
    """Role of the child."""
    outcome: Outcome
    """How it ended, in one word."""
    stop_reason: StopReason
    """Why it ended, in detail."""
    child: str
    """Session of the child."""
    result: dict[str, Any] = Field(default_factory=dict)
    """The ``dispatch_result``."""


class ReportSubmitted(Event):
    """A child handed in its report."""

    type: Literal["report.submitted"] = "report.submitted"
    valid: bool
    """Whether it fits the schema; the first valid one is taken."""
    errors: list[str] = Field(default_factory=list)
    """Where it does not fit, as sentences."""
    report: dict[str, Any] = Field(default_factory=dict)
    """The report as it was handed in."""
    accepted: bool = True
    """False when the acceptance of the role failed; the child may then go on."""
    acceptance: dict[str, Any] | None = None
    """What was checked: ``kind``, ``passed``, ``exit_code``, ``output_tail``, ``reason``."""
    files: list[dict[str, Any]] = Field(default_factory=list)
    """The files that it names, as they were then: ``path``, ``size``, ``mtime``, ``sha256``."""
    files_missing: list[str] = Field(default_factory=list)
    """Those that it names and that are not in the workspace."""


class CancelRequested(Event):
    """Somebody stops this agent and everything below it."""

    type: Literal["cancel.requested"] = "cancel.requested"
    reason: str
    """Who stops it: ``user``, ``parent``, ``deadline``, ``budget`` or ``shutdown``."""
