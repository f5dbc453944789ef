"""Typed events: the durable log of a session, and what passes by while it grows.

One frozen model per event, one ``type`` each. Names and fields are a file format, pinned by a
golden file in the tests. A durable event is stored before anybody hears of it; a transient one is
never stored, and a durable event that contains it follows.
"""

from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hub.core.messages import FinishReason
from hub.core.outcomes import Outcome, StopReason


class Event(BaseModel):
    """What every event says of itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    durable: ClassVar[bool] = True

    session: str = ""
    """The session that it belongs to."""
    seq: int = 0
    """Position in the session's log, from 1 without gaps; 0 for a transient event."""
    at: float = 0.0
    """Seconds since 1970."""
    agent: str = ""
    """Path of the agent, such as ``lead/worker#2``."""
    turn: int = 0
    """Number of the turn, from 1; 0 outside of turns."""
    step: int = 0
    """Number of the model request within the turn, from 1; 0 before the first."""


class Transient(Event):
    """An event that is published and not stored."""

    durable: ClassVar[bool] = False


class SessionStarted(Event):
    """A session was opened for the first time."""

    type: Literal["session.started"] = "session.started"
    role: str
    model: str
    workspace: str
    parent: str = ""
    """Session of the parent; empty for a root."""
    job: str = ""
    depth: int = 0
    tools: list[str] = Field(default_factory=list)
    """Names on offer at the start."""


class SessionResumed(Event):
    """A stored session was opened again."""

    type: Literal["session.resumed"] = "session.resumed"
    role: str
    model: str
    settled: int = 0
    """How many calls without a result were closed."""
    ignored: list[str] = Field(default_factory=list)
    """What in the log was not legal and is left out of the conversation."""


class TurnStarted(Event):
    """A turn began."""

    type: Literal["turn.started"] = "turn.started"


class UserMessageEvent(Event):
    """The user, or the parent, said something."""

    type: Literal["user.message"] = "user.message"
    text: str


class Call(BaseModel):
    """A call as it is stored inside an assistant message."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str
    name: str
    arguments: str
    """JSON text; what could not be parsed is kept as it came."""


class AssistantMessageEvent(Event):
    """The model said something; it has text, calls or both."""

    type: Literal["assistant.message"] = "assistant.message"
    text: str = ""
    reasoning: str = ""
    calls: list[Call] = Field(default_factory=list)
    finish: FinishReason
    model: str = ""


class UsageEvent(Event):
    """Tokens of one model request."""

    type: Literal["usage"] = "usage"
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    """The server did not say; the numbers are an estimate."""


class ToolCallEvent(Event):
    """A call is about to be judged and run; stored before anything runs."""

    type: Literal["tool.call"] = "tool.call"
    call_id: str
    name: str
    arguments: str
    """Canonical JSON where it could be parsed."""


class ToolRulingEvent(Event):
    """Whether a call may happen, and who says so."""

    type: Literal["tool.ruling"] = "tool.ruling"
    call_id: str
    name: str
    ruling: Literal["allow", "ask", "deny"]
    reason: str
    origin: str = ""
    """Layer, file and line of the rule that decided."""


class ToolResultEvent(Event):
    """What a call came to; exactly one for each call."""

    type: Literal["tool.result"] = "tool.result"
    call_id: str
    name: str
    text: str
    is_error: bool = False
    kind: str = ""
    """Why it is an error."""
    structured: Any = None
    duration_ms: int = 0


class ContextAdded(Event):
    """The harness tells the agent something; a model sees it as a user message."""

    type: Literal["context.added"] = "context.added"
    source: str
    text: str


class ModelRetry(Event):
    """A model request failed and is sent again."""

    type: Literal["model.retry"] = "model.retry"
    attempt: int
    delay_ms: int
    reason: str
    status: int | None = None


class JobStarted(Event):
    """A child was dispatched; stored in the parent's session."""

    type: Literal["job.started"] = "job.started"
    job: str
    role: str
    task: str
    call_id: str
    child: str
    """Session of the child."""
    child_agent: str
    depth: int


class JobDone(Event):
    """A child ended; exactly one for each ``job.started``."""

    type: Literal["job.done"] = "job.done"
    job: str
    role: str
    outcome: Outcome
    stop_reason: StopReason
    child: str
    result: dict[str, Any] = Field(default_factory=dict)
    """The ``dispatch_result``."""


class ReportSubmitted(Event):
    """A child handed in its report."""

    type: Literal["report.submitted"] = "report.submitted"
    valid: bool
    errors: list[str] = Field(default_factory=list)
    report: dict[str, Any] = Field(default_factory=dict)


class CancelRequested(Event):
    """Somebody stops this agent and everything below it."""

    type: Literal["cancel.requested"] = "cancel.requested"
    reason: str


class ServerConnected(Event):
    """An MCP server answered the handshake."""

    type: Literal["server.connected"] = "server.connected"
    server: str
    protocol: str
    tools: int
    duration_ms: int


class ServerFailed(Event):
    """An MCP server did not start, or went away."""

    type: Literal["server.failed"] = "server.failed"
    server: str
    error: str
    where: str = ""
    """File and line that describe the server."""
    remedy: str = ""
    """What to do about it."""
    stderr: str = ""
    """The last lines that it wrote to stderr."""


class CatalogChanged(Event):
    """A server's tools are not those of the cached catalog."""

    type: Literal["catalog.changed"] = "catalog.changed"
    server: str
    added: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    changed: list[str] = Field(default_factory=list)


class TurnDone(Event):
    """A turn ended."""

    type: Literal["turn.done"] = "turn.done"
    outcome: Outcome
    stop_reason: StopReason
    text: str = ""
    error: dict[str, Any] | None = None
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    denied_calls: list[dict[str, str]] = Field(default_factory=list)
    duration_ms: int = 0


class SessionDone(Event):
    """A child's session is closed for good."""

    type: Literal["session.done"] = "session.done"
    outcome: Outcome


class TextDelta(Transient):
    """Some more text of the answer that is being written."""

    type: Literal["text.delta"] = "text.delta"
    text: str


class ReasoningDelta(Transient):
    """Some more of the model's reasoning."""

    type: Literal["reasoning.delta"] = "reasoning.delta"
    text: str


class ToolProgress(Transient):
    """A running tool tells how far it is."""

    type: Literal["tool.progress"] = "tool.progress"
    call_id: str
    name: str
    message: str = ""
    progress: float | None = None
    total: float | None = None


class JobProgress(Transient):
    """A dispatched job changed its state."""

    type: Literal["job.progress"] = "job.progress"
    job: str
    role: str
    state: Literal["queued", "running"]
    position: int = 0
    """Place in the queue, from 1; 0 when running."""


class ServerLog(Transient):
    """An MCP server logged something."""

    type: Literal["server.log"] = "server.log"
    server: str
    level: str
    text: str


AnyEvent = (
    SessionStarted
    | SessionResumed
    | TurnStarted
    | UserMessageEvent
    | AssistantMessageEvent
    | UsageEvent
    | ToolCallEvent
    | ToolRulingEvent
    | ToolResultEvent
    | ContextAdded
    | ModelRetry
    | JobStarted
    | JobDone
    | ReportSubmitted
    | CancelRequested
    | ServerConnected
    | ServerFailed
    | CatalogChanged
    | TurnDone
    | SessionDone
    | TextDelta
    | ReasoningDelta
    | ToolProgress
    | JobProgress
    | ServerLog
)

EVENT_TYPES: tuple[type[Event], ...] = get_args(AnyEvent)
"""Every kind of event, durable ones first."""


@cache
def _adapter() -> TypeAdapter[AnyEvent]:
    return TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


def parse_event(line: str | bytes) -> AnyEvent:
    """Read one event from its JSON text.

    Raises:
        pydantic.ValidationError: the text is no event of this format.
    """
    return _adapter().validate_json(line)
