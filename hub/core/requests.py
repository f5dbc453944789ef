"""What goes to a model and what comes back while it answers."""

from collections.abc import Sequence

from msgspec import Struct

from hub.core.messages import AssistantMessage, FinishReason, Message, ToolSpec, Usage


class ModelRequest(Struct, frozen=True):
    """One request: the whole conversation and the tools on offer."""

    instructions: str
    messages: Sequence[Message]
    """Legal history, oldest first. Between requests of one session it only grows at the end."""
    tools: Sequence[ToolSpec] = ()
    tool_choice: str = "auto"
    """``auto``, ``none``, ``required``, or the name of the tool that must be called."""
    max_output_tokens: int | None = None
    session: str = ""
    """The session that asks: key of prompt caches and of the request log."""
    agent: str = ""
    """Path of the agent that asks."""


class TextPiece(Struct, frozen=True):
    """Some more of the answer's text."""

    text: str


class ReasoningPiece(Struct, frozen=True):
    """Some more of the model's reasoning."""

    text: str


class RetryNotice(Struct, frozen=True):
    """The request failed and is sent again; whatever text came before is void."""

    attempt: int
    """Number of the attempt that failed, from 1."""
    delay: float
    """Seconds until the next one."""
    reason: str
    status: int | None = None


class Completion(Struct, frozen=True):
    """The end of an answer; always the last item of a stream."""

    message: AssistantMessage
    finish: FinishReason
    usage: Usage | None
    """None when the server did not say."""


ModelEvent = TextPiece | ReasoningPiece | RetryNotice | Completion
