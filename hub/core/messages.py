"""The conversation as a model sees it: users, assistants and tools speak in turn."""

from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "incomplete"]


class ToolCall(Struct, frozen=True):
    """One call that an assistant asked for."""

    id: str
    """Unique within the conversation."""
    name: str
    """The model-facing name of the tool."""
    arguments: str
    """JSON text as the model wrote it; it may be broken."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user, the parent or the harness says to the agent."""

    text: str
    encoded: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Wire form per API dialect, filled by the model that first sends the message."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model said; it has text, calls or both, never neither."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    encoded: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Wire form per API dialect, filled by the model that first sends the message."""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one call, as text for the model."""

    call_id: str
    name: str
    text: str
    is_error: bool = False
    encoded: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Wire form per API dialect, filled by the model that first sends the message."""


Message = UserMessage | AssistantMessage | ToolMessage


class Usage(Struct, frozen=True):
    """Tokens of one or of many requests, as the server counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Part of ``input_tokens`` that came from a prompt cache."""
    reasoning_tokens: int = 0
    """Part of ``output_tokens`` that was spent on reasoning."""
    requests: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.requests + other.requests,
        )

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name, for JSON."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "requests": self.requests,
        }


class ToolSpec(Struct, frozen=True):
    """One tool as it is offered to a model."""

    name: str
    """Model-facing name, ``[A-Za-z0-9_-]{1,64}``."""
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments; its top level is an object."""
    server: str = ""
    """The server that owns it; empty for the hub's own tools."""
    tool: str = ""
    """The name that the server knows it by."""
    other_names: tuple[str, ...] = ()
    """Names that it would have without renaming and aliases; rules speak of it by any of them."""
    read_only: bool = False
    """It changes nothing; may run beside other read-only calls."""
    destructive: bool = False
    concurrency_safe: bool = False
    """It may run at the same time as its neighbours in one message."""
    terminal: bool = False
    """A successful call ends the turn."""


class KeptPart(Struct, frozen=True):
    """A part of a result that is kept whole outside of the conversation."""

    part: str
    """``text``, ``structured``, or ``block N``, counted from 1."""
    handle: str
    """Opens it again, within the session tree that made it."""
    digest: str
    """SHA-256 of its bytes, in hex."""
    size: int
    """Bytes."""
    media_type: str = "text/plain"


class ToolOutcome(Struct, frozen=True):
    """What a call came to."""

    text: str
    """What the model is told."""
    is_error: bool = False
    structured: Any = None
    """Structured content, when the tool gave some."""
    kind: str = ""
    """Why it is an error: ``invalid_arguments``, ``denied``, ``timeout``, ``server_lost``, …"""
    blocks: tuple[dict[str, Any], ...] = ()
    """All blocks in the order in which the tool gave them; empty when one block of text is all."""
    warnings: tuple[str, ...] = ()
    """What is odd about the result without making it an error."""
    kept: tuple[KeptPart, ...] = ()
    """What of it was too large and is kept elsewhere; ``text`` then holds a preview."""
    delivers: tuple[str, ...] = ()
    """Jobs whose results are in it."""
