"""The union of all events, and reading one from its JSON text."""

from functools import cache
from typing import Annotated, get_args

from pydantic import Field, TypeAdapter

from hub.core.events.envelope import Event
from hub.core.events.passing import (
    JobProgress,
    ReasoningDelta,
    ServerLog,
    TextDelta,
    ToolProgress,
)
from hub.core.events.servers import (
    CatalogChanged,
    ServerAsked,
    ServerConnected,
    ServerFailed,
    ServerQuarantined,
)
from hub.core.events.turns import (
    AssistantMessageEvent,
    ContextAdded,
    ModelRetry,
    SessionDone,
    SessionForked,
    SessionResumed,
    SessionStarted,
    ToolCallEvent,
    ToolResultEvent,
    ToolRulingEvent,
    ToolsLoaded,
    TurnDone,
    TurnStarted,
    UsageEvent,
    UserMessageEvent,
)
from hub.core.events.work import (
    CancelRequested,
    JobAnswered,
    JobDone,
    JobQuestion,
    JobStarted,
    ReportSubmitted,
)

AnyEvent = (
    SessionStarted
    | SessionResumed
    | SessionForked
    | TurnStarted
    | UserMessageEvent
    | AssistantMessageEvent
    | UsageEvent
    | ToolCallEvent
    | ToolRulingEvent
    | ToolResultEvent
    | ToolsLoaded
    | ContextAdded
    | ModelRetry
    | JobStarted
    | JobQuestion
    | JobAnswered
    | JobDone
    | ReportSubmitted
    | CancelRequested
    | ServerConnected
    | ServerFailed
    | ServerQuarantined
    | ServerAsked
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
