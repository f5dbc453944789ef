"""The ways in which a turn can end, each made in one place."""

from msgspec import Struct

from hub.core.errors import ContextOverflowError, ModelError
from hub.core.jobs import REPORT_OUTCOME, Failure, Report
from hub.core.limits import LimitHit, LimitKind
from hub.core.outcomes import Outcome, StopReason
from hub.engine.agent import Agent, ReportDuty

_LIMIT_ENDS: dict[LimitKind, tuple[Outcome, StopReason]] = {
    "steps": ("limit", "max_turns"),
    "tool_calls": ("limit", "max_tool_calls"),
    "seconds": ("limit", "deadline"),
    "tokens": ("budget", "max_tokens"),
    "usd": ("budget", "max_budget_usd"),
}


class End(Struct, frozen=True):
    """How a turn ended."""

    outcome: Outcome
    stop_reason: StopReason
    text: str = ""
    report: Report | None = None
    error: Failure | None = None


def completed(agent: Agent, text: str) -> End:
    """End with an answer; denied when something that was denied was never made good."""
    if left := _leftover(agent):
        return _script_left(left, text)
    if agent.denials.open():
        return End("denied", "approval_denied", text)
    return End("done", "completed", text)


def reported(agent: Agent, report: Report) -> End:
    """End with a report; a success with denied calls in it is no success."""
    if left := _leftover(agent):
        return _script_left(left, report.summary)
    if report.status == "success" and agent.denials.open():
        return End("denied", "approval_denied", report.summary, report)
    return End(REPORT_OUTCOME[report.status], "reported", report.summary, report)


def not_accepted(duty: ReportDuty, said: str) -> End:
    """End with a report that did not pass what the role asks for."""
    report = duty.refused()
    error = Failure("not_accepted", "what the role asks for did not hold for any report")
    return End("failed", "reported", report.summary if report else said, report, error)


def limit_reached(hit: LimitHit, text: str) -> End:
    """End because a limit forbids to go on."""
    outcome, reason = _LIMIT_ENDS[hit.kind]
    return End(outcome, reason, text, error=Failure(reason, str(hit)))


def model_failed(error: ModelError, text: str) -> End:
    """End because the model gave no usable answer."""
    failure = Failure(error.kind, str(error), retryable=error.retryable)
    if isinstance(error, ContextOverflowError):
        return End("context_overflow", "prompt_too_long", text, error=failure)
    return End("model_error", "model_error", text, error=failure)


def cancelled(agent: Agent, text: str) -> End:
    """End because the agent's token, or something around it, was cancelled.

    For a child it is always its parent that stops it.
    """
    reason: StopReason
    if agent.duty is not None or agent.cancel.reason in ("parent", "shutdown"):
        reason = "parent_cancelled"
    elif agent.journal.conversation.unsettled():
        reason = "aborted_tools"
    else:
        reason = "aborted_streaming"
    return End("cancelled", reason, text)


def _leftover(agent: Agent) -> str:
    return agent.model.leftover(agent.journal.conversation.messages) if agent.final else ""


def _script_left(left: str, text: str) -> End:
    return End("failed", "model_error", text, error=Failure("script", left))
