"""The calls of one message: in order, with what is safe side by side run together."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import anyio

from hub.core.messages import ToolCall, ToolOutcome
from hub.engine.agent import Agent

NOT_RUN = {
    "length": "The answer was cut at its length limit, so this call was not run. Send it again; "
    "if it is long, split it into smaller ones.",
    "content_filter": "A content filter cut the answer, so this call was not run.",
    "limit": "A limit is reached, so this call was not run.",
    "incomplete": "The connection broke before the answer was complete, so this call was not run. "
    "Send it again.",
}
"""What a model is told of calls in an answer that did not end well, by finish reason."""

AFTER_REPORT = "Your report was accepted and ended the work, so this call was not run."
"""What is noted of calls that stand behind the report in the same message."""


async def run_batch(
    agent: Agent, calls: Sequence[ToolCall], *, counted: bool = True
) -> list[ToolOutcome]:
    """Run the calls of one message and return their outcomes in call order.

    Neighbours that are concurrency-safe run together; every other call waits for those before it.
    Calls past the agent's limit, and calls after the report that ended the work, get an error
    result and are not run. What is not ``counted`` has no limit.
    """
    allowed = calls[: agent.ledger.reserve_calls(len(calls))] if counted else calls
    outcomes: list[ToolOutcome] = []
    for group in _groups(agent, allowed):
        if agent.duty is not None and agent.duty.accepted() is not None:
            refused = _refusal(AFTER_REPORT, "report_closed")
            outcomes.extend(agent.path.settle(call, refused) for call in group)
        else:
            outcomes.extend(await _together(agent, group))
    outcomes.extend(
        agent.path.settle(call, _refusal("The limit of tool calls is reached; not run.", "limit"))
        for call in calls[len(allowed) :]
    )
    return outcomes


def refuse_batch(agent: Agent, calls: Sequence[ToolCall], finish: str) -> None:
    """Answer every call of an answer that did not end well with an error result."""
    for call in calls:
        agent.path.settle(call, _refusal(NOT_RUN[finish], "not_run"))


def settle_open(agent: Agent, why: str) -> int:
    """Close every call that has no result, and return how many there were."""
    unsettled = agent.journal.conversation.unsettled()
    for call, started in unsettled:
        state = "it may have run in part" if started else "it was not run"
        agent.path.settle(call, _refusal(f"{why}; {state}.", "cancelled"))
    return len(unsettled)


async def _together(agent: Agent, calls: Sequence[ToolCall]) -> list[ToolOutcome]:
    if len(calls) == 1:
        return [await agent.path.run(calls[0])]
    outcomes: dict[str, ToolOutcome] = {}

    async def run(call: ToolCall) -> None:
        outcomes[call.id] = await agent.path.run(call)

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(run, call)
    return [outcomes[call.id] for call in calls]


def _groups(agent: Agent, calls: Sequence[ToolCall]) -> Iterator[Sequence[ToolCall]]:
    def safe(call: ToolCall) -> bool:
        spec = agent.path.spec(call.name)
        return spec is not None and spec.concurrency_safe

    for together, group in groupby(calls, key=safe):
        if together:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _refusal(text: str, kind: str) -> ToolOutcome:
    return ToolOutcome(text, is_error=True, kind=kind)
