"""What follows from one answer of the model: run its calls, remind, or end."""

from collections.abc import Sequence

from msgspec import Struct

from hub.core import events as ev
from hub.core.jobs import Failure
from hub.core.messages import AssistantMessage, ToolCall, ToolOutcome
from hub.core.requests import Completion
from hub.engine.agent import Agent, ReportDuty
from hub.engine.batch import NOT_RUN, refuse_batch, run_batch
from hub.engine.ending import End, completed, not_accepted, reported
from hub.engine.last_word import last_word
from hub.engine.loops import NUDGE, REPEATS

MAX_CUT_ANSWERS = 3
"""How many answers of one turn may be cut before it ends."""

REPORT_NUDGE = (
    "You answered without calling {tool}. Your parent sees nothing but your report: call {tool} "
    "now, with what you found, what you did, and what is missing."
)


class Progress(Struct):
    """What a turn remembers from step to step."""

    tool_choice: str = "auto"
    said: str = ""
    """The latest text of the agent."""
    cut_answers: int = 0
    nudges: int = 0
    invalid_reports: int = 0
    refused_reports: int = 0
    loop_nudged: bool = False


async def take_step(agent: Agent, completion: Completion, progress: Progress) -> End | None:
    """Act on a noted answer; None means that the turn goes on."""
    if completion.finish in NOT_RUN:
        return _cut(agent, completion, progress)
    if completion.message.calls:
        return await _run_calls(agent, completion.message, progress)
    if agent.jobs is not None and await agent.jobs.more():
        return None
    if agent.duty is None:
        return completed(agent, completion.message.text)
    return _remind(agent, agent.duty, progress)


def _cut(agent: Agent, completion: Completion, progress: Progress) -> End | None:
    progress.cut_answers += 1
    refuse_batch(agent, completion.message.calls, completion.finish)
    if completion.message.calls and progress.cut_answers < MAX_CUT_ANSWERS:
        return None
    if completion.finish == "length":
        error = Failure("max_output_tokens", "the answer was cut at its length limit")
        return End("limit", "max_output_tokens", progress.said, error=error)
    if completion.finish == "content_filter":
        error = Failure("content_filter", "a content filter cut the answer")
        return End("model_error", "model_error", progress.said, error=error)
    error = Failure(
        "incomplete", "the connection broke in the middle of the answer", retryable=True
    )
    return End("model_error", "model_error", progress.said, error=error)


async def _run_calls(agent: Agent, message: AssistantMessage, progress: Progress) -> End | None:
    calls = message.calls
    before = agent.ledger.tool_calls
    outcomes = await run_batch(agent, calls)
    made = agent.ledger.tool_calls - before
    if agent.duty is not None:
        if report := agent.duty.accepted():
            return reported(agent, report)
        if end := _count_invalid(agent.duty, calls, outcomes, progress):
            return end
    if made < len(calls):
        return await last_word(agent, agent.ledger.calls_hit(), progress.said)
    return _watch_loops(agent, message, outcomes, progress)


def _count_invalid(
    duty: ReportDuty, calls: Sequence[ToolCall], outcomes: list[ToolOutcome], progress: Progress
) -> End | None:
    for call, outcome in zip(calls, outcomes, strict=True):
        if call.name != duty.tool or not outcome.is_error:
            continue
        if outcome.kind == "not_accepted":
            progress.refused_reports += 1
            if progress.refused_reports >= duty.acceptances:
                return not_accepted(duty, progress.said)
            continue
        progress.invalid_reports += 1
        if progress.invalid_reports >= duty.tries:
            error = Failure("invalid_report", outcome.text)
            return End("invalid_report", "invalid_report", progress.said, error=error)
    return None


def _watch_loops(
    agent: Agent, message: AssistantMessage, outcomes: list[ToolOutcome], progress: Progress
) -> End | None:
    calls = message.calls
    pairs = zip(calls, outcomes, strict=True)
    seen = [agent.loops.saw(call, done, message.text) for call, done in pairs]
    if not any(seen):
        return None
    name = calls[seen.index(True)].name
    if progress.loop_nudged:
        error = Failure("loop", f"{name} was called with the same result again after a reminder")
        return End("loop", "loop_detected", progress.said, error=error)
    progress.loop_nudged = True
    agent.loops.forget()
    agent.journal.note(ev.ContextAdded(source="loop", text=NUDGE.format(times=REPEATS)))
    return None


def _remind(agent: Agent, duty: ReportDuty, progress: Progress) -> End | None:
    if progress.tool_choice == duty.tool:
        if duty.refused() is not None:
            return not_accepted(duty, progress.said)
        error = Failure("no_report", f"it never called {duty.tool}, not even when it had to")
        return End("invalid_report", "no_report", progress.said, error=error)
    if progress.nudges >= duty.nudges:
        progress.tool_choice = duty.tool
    progress.nudges += 1
    text = REPORT_NUDGE.format(tool=duty.tool)
    agent.journal.note(ev.ContextAdded(source="report", text=text))
    return None
