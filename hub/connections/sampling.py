"""A server's wish for an answer of the model, read from the protocol and written back to it."""

from collections.abc import Sequence

from mcp import types

from hub.connections.pending import Pending
from hub.core.asking import Said, Sampled, Sampling
from hub.core.ports import CallContext
from hub.core.text import without_surrogates

MOST_SAMPLES = 5
"""Answers of a model that one call may cost."""
MOST_TEXT = 200_000
"""Characters that a server may put before a model."""


class Refused(Exception):
    """A server does not get what it asks for; the message says why."""


def request_of(
    server: str, params: types.CreateMessageRequestParams, concerned: Sequence[Pending]
) -> tuple[Sampling, CallContext]:
    """Return what a server asks for, and the call for which; counts it.

    Raises:
        Refused: it cannot be had.
    """
    if len(concerned) != 1:
        several = "several calls are" if concerned else "no call of ours is"
        raise Refused(f"{several} under way, so that it is not known whose model is to answer")
    pending = concerned[0]
    if pending.context is None:
        raise Refused("no agent is at work whose model could answer")
    if params.tools:
        raise Refused("hub lets no server hand tools to a model")
    messages = tuple(Said(message.role, _text(message)) for message in params.messages)
    size = sum(len(message.text) for message in messages) + len(params.system_prompt or "")
    if not messages or size > MOST_TEXT:
        raise Refused(f"the conversation has {size} characters, 1 to {MOST_TEXT} may be")
    if pending.samples >= MOST_SAMPLES:
        raise Refused(f"one call may cost {MOST_SAMPLES} answers of a model")
    pending.samples += 1
    system = without_surrogates(params.system_prompt or "")
    return Sampling(server, messages, max(params.max_tokens, 1), system), pending.context


def answered(sampled: Sampled) -> types.CreateMessageResult:
    """Return a model's answer as the protocol has it."""
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=without_surrogates(sampled.text)),
        model=sampled.model,
        stop_reason="maxTokens" if sampled.cut else "endTurn",
    )


def _text(message: types.SamplingMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    texts = []
    for block in blocks:
        if not isinstance(block, types.TextContent):
            raise Refused(f"hub hands on text only, no {block.type}")
        texts.append(without_surrogates(block.text))
    return "\n".join(texts)
