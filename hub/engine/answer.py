"""One model request: stream it, show it as it comes, and note what came of it."""

import anyio
from msgspec import Struct
from msgspec.structs import replace

from hub.context.estimate import estimate_tokens
from hub.core import events as ev
from hub.core.ledger import Reservation, Use
from hub.core.limits import LimitHit
from hub.core.messages import AssistantMessage, ToolCall, Usage
from hub.core.prices import FREE
from hub.core.requests import Completion, ModelRequest, ReasoningPiece, RetryNotice, TextPiece
from hub.core.text import without_surrogates
from hub.engine.agent import Agent


class Partial(Struct):
    """What has been said so far in an answer that is not complete."""

    text: str = ""


UNKNOWN_OUTPUT = 4096
"""Tokens that are reserved for an answer of a model whose cap nobody knows."""


async def request_answer(
    agent: Agent, *, tool_choice: str, partial: Partial, last: bool = False
) -> Completion | LimitHit:
    """Send the conversation and return the complete answer, noted and charged.

    What it can take is reserved first; the limit that leaves no room for it is returned instead.
    A ``last`` word may use what is kept for it.

    ``partial`` holds the text so far at every moment. When the wait is cancelled, that text is
    noted as an answer that was cut; a message without any text is not.

    Raises:
        ModelError: there is no usable answer.
    """
    agent.path.hear(agent.journal.conversation.messages)
    request = ModelRequest(
        instructions=agent.instructions,
        messages=agent.journal.conversation.messages,
        tools=agent.offer.specs,
        tool_choice=tool_choice,
        session=agent.journal.session,
        agent=agent.journal.agent,
    )
    held = await _reserve(agent, request, last=last)
    if isinstance(held, LimitHit):
        return held
    if agent.ledger.counts_tokens:
        request = replace(request, max_output_tokens=held.output)
    try:
        completion = await _stream(agent, request, partial)
        _note_answer(agent, completion)
        _settle(agent, request, completion, held)
    except anyio.get_cancelled_exc_class():
        _note_cut(agent, partial)
        raise
    finally:
        held.release()
    return completion


async def request_aside(agent: Agent, request: ModelRequest) -> Completion | LimitHit:
    """Send a request that is no part of the conversation; it is charged, its answer is not noted.

    Raises:
        ModelError: there is no usable answer.
    """
    held = await _reserve(agent, request, last=False)
    if isinstance(held, LimitHit):
        return held
    if agent.ledger.counts_tokens:
        request = replace(request, max_output_tokens=held.output)
    try:
        async with agent.model.stream(request) as items:
            async for item in items:
                if isinstance(item, Completion):
                    _settle(agent, request, item, held)
                    return item
    finally:
        held.release()
    raise RuntimeError(f"the stream of model {agent.model.name} ended without a completion")


async def _reserve(agent: Agent, request: ModelRequest, *, last: bool) -> Reservation | LimitHit:
    ledger, model = agent.ledger, agent.model
    use: Use = "last" if last else "answer" if agent.duty is None else "work"
    if not ledger.counts_tokens:
        held = ledger.reserve(0, 0, use=use)
    else:
        wanted = request.max_output_tokens or model.output_cap or UNKNOWN_OUTPUT
        price = model.price or FREE
        weight = estimate_tokens(request)
        while (held := ledger.reserve(weight, wanted, price, use=use)) is None:
            await ledger.settled()
    if held is None:
        raise RuntimeError("a request without weight was not let through")
    return held


async def _stream(agent: Agent, request: ModelRequest, partial: Partial) -> Completion:
    journal = agent.journal
    async with agent.model.stream(request) as items:
        async for item in items:
            match item:
                case TextPiece():
                    partial.text += item.text
                    journal.tell(ev.TextDelta(text=without_surrogates(item.text)))
                    await journal.room()
                case ReasoningPiece():
                    journal.tell(ev.ReasoningDelta(text=without_surrogates(item.text)))
                    await journal.room()
                case RetryNotice():
                    partial.text = ""
                    journal.note(
                        ev.ModelRetry(
                            attempt=item.attempt,
                            delay_ms=round(item.delay * 1000),
                            reason=without_surrogates(item.reason),
                            status=item.status,
                        )
                    )
                case Completion():
                    return item
    raise RuntimeError(f"the stream of model {agent.model.name} ended without a completion")


def _note_answer(agent: Agent, completion: Completion) -> None:
    message = completion.message
    if not message.text and not message.calls:
        return
    agent.journal.note(
        ev.AssistantMessageEvent(
            text=without_surrogates(message.text),
            reasoning=without_surrogates(message.reasoning),
            calls=[_stored(call) for call in message.calls],
            finish=completion.finish,
            model=agent.model.name,
        )
    )


def _stored(call: ToolCall) -> ev.Call:
    return ev.Call(
        id=without_surrogates(call.id),
        name=without_surrogates(call.name),
        arguments=without_surrogates(call.arguments),
    )


def _note_cut(agent: Agent, partial: Partial) -> None:
    if partial.text:
        text = without_surrogates(partial.text)
        agent.journal.note(
            ev.AssistantMessageEvent(text=text, finish="incomplete", model=agent.model.name)
        )


def _settle(agent: Agent, request: ModelRequest, completion: Completion, held: Reservation) -> None:
    usage = completion.usage
    estimated = usage is None
    if usage is None:
        usage = Usage(
            input_tokens=estimate_tokens(request),
            output_tokens=_output_estimate(completion.message),
        )
    if not usage.requests:
        usage = replace(usage, requests=1)
    price = agent.model.price
    cost = None if price is None else price.of(usage)
    held.settle(usage, cost)
    agent.journal.note(
        ev.UsageEvent(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            estimated=estimated,
            cost_usd=cost,
        )
    )


def _output_estimate(message: AssistantMessage) -> int:
    said = len(message.text) + len(message.reasoning)
    called = sum(len(call.name) + len(call.arguments) for call in message.calls)
    return (said + called + 3) // 4
