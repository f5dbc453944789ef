"""The last word of a child whose limit is reached: one request, in which it may only report.

Its outcome stays ``limit`` or ``budget``; a report only tells the parent what there is. The last
twentieth of a bound of tokens or money is kept for this (`hub.core.ledger`); where a report does
not fit into it, the parent gets what the child has said so far.
"""

import anyio
from msgspec.structs import replace

from hub.core import events as ev
from hub.core.errors import ModelError
from hub.core.limits import LimitHit
from hub.engine.agent import Agent
from hub.engine.answer import Partial, request_answer
from hub.engine.batch import NOT_RUN, refuse_batch, run_batch
from hub.engine.ending import End, limit_reached

SECONDS = 30.0
"""Wall time of a last word, at most as much as all its work had; it ends with the parent's time."""
TEXT = (
    "{hit}. Nothing more is run for you. Call {tool} now, with what you have found and done and "
    "what is missing."
)


async def last_word(agent: Agent, hit: LimitHit, said: str) -> End:
    """End an agent at a limit; one that owes a report gets one request to hand it in."""
    end = limit_reached(hit, said)
    duty = agent.duty
    if duty is None or duty.accepted() is not None or agent.journal.conversation.unsettled():
        return end
    text = str(hit)
    agent.journal.note(
        ev.ContextAdded(
            source="limit", text=TEXT.format(hit=text[:1].upper() + text[1:], tool=duty.tool)
        )
    )
    duty.hurry()
    with anyio.move_on_after(_seconds(agent)):
        try:
            await _report(agent, duty.tool)
        except ModelError:
            return end
    report = duty.accepted()
    return end if report is None else replace(end, report=report, text=report.summary)


def _seconds(agent: Agent) -> float:
    """Return the time for a last word: the parent's own time goes on."""
    above, own = agent.ledger.parent, agent.ledger.limits.seconds
    longest = SECONDS if own is None else min(SECONDS, own)
    if above is None or above.deadline is None:
        return longest
    return max(min(longest, above.deadline - agent.clock.now()), 0.0)


async def _report(agent: Agent, tool: str) -> None:
    agent.journal.step += 1
    completion = await request_answer(agent, tool_choice=tool, partial=Partial(), last=True)
    if isinstance(completion, LimitHit):
        return
    calls = completion.message.calls
    if completion.finish in NOT_RUN:
        refuse_batch(agent, calls, completion.finish)
        return
    reports = [call for call in calls if call.name == tool]
    refuse_batch(agent, [call for call in calls if call.name != tool], "limit")
    await run_batch(agent, reports, counted=False)
