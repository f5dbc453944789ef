"""The turn: one loop from a message to idle.

A turn is a plain coroutine that notes events and never yields. However it ends, the log is legal
afterwards: every call has one result, and the turn has one end.
"""

from contextlib import nullcontext

import anyio
from msgspec import Struct, field

from hub.core import events as ev
from hub.core.errors import ModelError
from hub.core.jobs import TurnResult
from hub.core.limits import LimitHit
from hub.core.text import without_surrogates
from hub.engine.agent import Agent
from hub.engine.answer import Partial, request_answer
from hub.engine.batch import settle_open
from hub.engine.ending import End, cancelled, model_failed
from hub.engine.last_word import last_word
from hub.engine.steps import Progress, take_step


class _Turn(Struct):
    """What is known of a turn while it runs."""

    partial: Partial = field(default_factory=Partial)
    progress: Progress = field(default_factory=Progress)
    end: End | None = None

    @property
    def said(self) -> str:
        """The text to show when there is no final answer."""
        return self.partial.text or self.progress.said


async def run_turn(agent: Agent, prompt: str) -> TurnResult:
    """Run one turn and return how it ended.

    A cancel of the agent's own token ends the turn with ``cancelled``. A cancel from outside
    settles the log in the same way and goes on upwards.

    Raises:
        StoreError: the log cannot be written.
    """
    started = agent.clock.monotonic()
    journal = agent.journal
    journal.turn += 1
    journal.step = 0
    agent.ledger.start_turn(agent.clock.now())
    journal.note(ev.TurnStarted())
    journal.note(ev.UserMessageEvent(text=without_surrogates(prompt)))
    turn = _Turn()
    try:
        await _guarded(agent, turn)
    finally:
        end = turn.end or cancelled(agent, turn.said)
        settle_open(agent, f"The turn ended ({end.stop_reason}) before this call did")
        elapsed = agent.clock.monotonic() - started
        result = _result(agent, end, round(elapsed * 1000))
        journal.note(_turn_done(result))
    return result


async def _guarded(agent: Agent, turn: _Turn) -> None:
    with agent.cancel.scope() as scope:
        deadline = agent.ledger.deadline
        if deadline is not None and agent.ledger.deadline_owner() is agent.ledger:
            scope.deadline = anyio.current_time() + deadline - agent.clock.now()
        async with nullcontext() if agent.jobs is None else agent.jobs.opened():
            try:
                turn.end = await _steps(agent, turn)
            except ModelError as error:
                turn.end = model_failed(error, turn.said)
    if scope.cancelled_caught and not agent.cancel.cancelled:
        seconds = agent.ledger.limits.seconds or 0
        hit = LimitHit("seconds", seconds, seconds, agent.journal.agent)
        settle_open(agent, "The time of this agent is over")
        with agent.cancel.scope():
            turn.end = await last_word(agent, hit, turn.said)


async def _steps(agent: Agent, turn: _Turn) -> End:
    while True:
        if hit := agent.ledger.hit(agent.clock.now()):
            return await last_word(agent, hit, turn.said)
        if agent.jobs is not None:
            agent.jobs.deliver()
        agent.journal.step = agent.ledger.steps + 1
        choice = turn.progress.tool_choice
        completion = await request_answer(agent, tool_choice=choice, partial=turn.partial)
        if isinstance(completion, LimitHit):
            return await last_word(agent, completion, turn.said)
        turn.progress.said = completion.message.text or turn.progress.said
        turn.partial.text = ""
        if end := await take_step(agent, completion, turn.progress):
            return end
        await agent.journal.room()


def _result(agent: Agent, end: End, duration_ms: int) -> TurnResult:
    return TurnResult(
        outcome=end.outcome,
        stop_reason=end.stop_reason,
        text=without_surrogates(end.text),
        report=end.report,
        usage=agent.ledger.total,
        cost_usd=agent.ledger.cost,
        steps=agent.ledger.steps,
        denied_calls=agent.denials.open(),
        error=end.error,
        duration_ms=duration_ms,
        session_id=agent.journal.session,
    )


def _turn_done(result: TurnResult) -> ev.TurnDone:
    return ev.TurnDone(
        outcome=result.outcome,
        stop_reason=result.stop_reason,
        text=result.text,
        error=result.error.as_dict() if result.error else None,
        steps=result.steps,
        input_tokens=result.usage.input_tokens,
        output_tokens=result.usage.output_tokens,
        cost_usd=result.cost_usd,
        denied_calls=[denied.as_dict() for denied in result.denied_calls],
        duration_ms=result.duration_ms,
    )
