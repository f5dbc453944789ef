"""Events of one conversation: sessions, turns, messages, calls and their results."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hub.core.events.envelope import Event
from hub.core.messages import FinishReason
from hub.core.outcomes import Outcome, StopReason


class SessionStarted(Event):
    """A session was opened for the first time."""

    type: Literal["session.started"] = "session.started"
    role: str
    """Name of the role that the agent plays."""
    model: str
    """What the log calls its model."""
    workspace: str
    """Folder on which the team works."""
    parent: str = ""
    """Session of the parent; empty for a root."""
    job: str = ""
    """Job that the session carries out; empty for a root."""
    depth: int = 0
    """Levels below the root; 0 for a root."""
    tools: list[str] = Field(default_factory=list)
    """Names on offer at the start."""


class SessionResumed(Event):
    """A stored session was opened again."""

    type: Literal["session.resumed"] = "session.resumed"
    role: str
    """Name of the role that the agent plays."""
    model: str
    """What the log calls its model."""
    settled: int = 0
    """How many calls without a result were closed."""
    ignored: list[str] = Field(default_factory=list)
    """What in the log was not legal and is left out of the conversation."""


class SessionForked(Event):
    """A session begins as a copy of another one; what stands before this event is copied."""

    type: Literal["session.forked"] = "session.forked"
    source: str
    """The session that was copied."""
    events: int
    """How many events of it there were."""


class TurnStarted(Event):
    """A turn began."""

    type: Literal["turn.started"] = "turn.started"


class UserMessageEvent(Event):
    """The user, or the parent, said something."""

    type: Literal["user.message"] = "user.message"
    text: str
    """What was said."""


class Call(BaseModel):
    """A call as it is stored inside an assistant message."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str
    """Unique within the session."""
    name: str
    """Model-facing name of the tool, as the model wrote it."""
    arguments: str
    """JSON text; what could not be parsed is kept as it came."""


class AssistantMessageEvent(Event):
    """The model said something; it has text, calls or both."""

    type: Literal["assistant.message"] = "assistant.message"
    text: str = ""
    """What the model said."""
    reasoning: str = ""
    """What the model thought aloud."""
    calls: list[Call] = Field(default_factory=list)
    """Calls that it asked for, in order."""
    finish: FinishReason
    """Why the answer ended; its calls are run after ``stop`` and ``tool_calls`` alone."""
    model: str = ""
    """What the log calls the model."""


class UsageEvent(Event):
    """Tokens of one model request."""

    type: Literal["usage"] = "usage"
    input_tokens: int
    """Tokens of the request."""
    output_tokens: int
    """Tokens of the answer."""
    cached_tokens: int = 0
    """Part of the input that came from a prompt cache."""
    reasoning_tokens: int = 0
    """Part of the output that was spent on reasoning."""
    estimated: bool = False
    """The server did not say; the numbers are an estimate."""
    cost_usd: float | None = None
    """What the request cost; null when the price of the model is not known."""


class ToolCallEvent(Event):
    """A call is about to be judged and run; stored before anything runs."""

    type: Literal["tool.call"] = "tool.call"
    call_id: str
    """The call, unique within the session."""
    name: str
    """Model-facing name of the tool."""
    arguments: str
    """Canonical JSON where it could be parsed."""


class ToolRulingEvent(Event):
    """Whether a call may happen, and who says so."""

    type: Literal["tool.ruling"] = "tool.ruling"
    call_id: str
    """The call, unique within the session."""
    name: str
    """Model-facing name of the tool."""
    ruling: Literal["allow", "ask", "deny"]
    """``ask`` is followed by the answer as a second ruling."""
    reason: str
    """Why, as a sentence."""
    origin: str = ""
    """Layer, file and line of the rule that decided."""


class Kept(BaseModel):
    """A part of a result that is kept whole outside of the log."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    part: str
    """``text``, ``structured``, or ``block N``, counted from 1."""
    handle: str
    """Opens it again with ``read_result``, within the session tree that made it."""
    digest: str
    """SHA-256 of its bytes, in hex; names its file in the state folder."""
    size: int
    """Bytes."""
    media_type: str = "text/plain"
    """What it is."""


class ToolResultEvent(Event):
    """What a call came to; exactly one for each call."""

    type: Literal["tool.result"] = "tool.result"
    call_id: str
    """The call, unique within the session."""
    name: str
    """Model-facing name of the tool."""
    text: str
    """What the model is told."""
    is_error: bool = False
    """Whether the call failed or was not run."""
    kind: str = ""
    """Why it is an error."""
    structured: Any = None
    """Structured content, when there is some of a moderate size."""
    blocks: list[dict[str, Any]] = Field(default_factory=list)
    """All blocks in their order, large ones without their content; empty for plain text."""
    warnings: list[str] = Field(default_factory=list)
    """What is odd about the result without making it an error."""
    kept: list[Kept] = Field(default_factory=list)
    """Parts that were too large and are kept on disk; ``text`` then holds a preview."""
    duration_ms: int = 0
    """Time from the call to its result."""
    delivers: list[str] = Field(default_factory=list)
    """Jobs whose results are in it; each is delivered once."""


class ToolsLoaded(Event):
    """Tools joined the list that is sent to the model, at its end; they never leave it again."""

    type: Literal["tools.loaded"] = "tools.loaded"
    names: list[str] = Field(default_factory=list)
    """Model-facing names, in the order in which they were loaded."""


class ContextAdded(Event):
    """The harness tells the agent something; a model sees it as a user message."""

    type: Literal["context.added"] = "context.added"
    source: str
    """What the harness speaks of: ``report``, ``loop``, …"""
    text: str
    """What the agent is told."""
    delivers: list[str] = Field(default_factory=list)
    """Jobs whose results are in it; each is delivered once."""


class ModelRetry(Event):
    """A model request failed and is sent again."""

    type: Literal["model.retry"] = "model.retry"
    attempt: int
    """Number of the attempt that failed, from 1."""
    delay_ms: int
    """Time until the next one."""
    reason: str
    """What went wrong."""
    status: int | None = None
    """HTTP status, when there was one."""


class TurnDone(Event):
    """A turn ended."""

    type: Literal["turn.done"] = "turn.done"
    outcome: Outcome
    """How it ended, in one word."""
    stop_reason: StopReason
    """Why it ended, in detail."""
    text: str = ""
    """The answer, or what was said last."""
    error: dict[str, Any] | None = None
    """``kind``, ``message`` and ``retryable``, when something failed."""
    steps: int = 0
    """Model requests of the turn."""
    input_tokens: int = 0
    """Tokens read, those of all children included."""
    output_tokens: int = 0
    """Tokens written, those of all children included."""
    cost_usd: float | None = None
    """US dollars, those of all children included; null when a price is not known."""
    denied_calls: list[dict[str, str]] = Field(default_factory=list)
    """Calls that were denied, here and below, and not made good later."""
    duration_ms: int = 0
    """Time from the message to the end."""


class SessionDone(Event):
    """A child's session is closed for good."""

    type: Literal["session.done"] = "session.done"
    outcome: Outcome
    """How the work of the session ended."""
