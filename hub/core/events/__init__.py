"""Typed events: the durable log of a session, and what passes by while it grows.

One frozen model per event, one ``type`` each. Names and fields are a file format, pinned by a
golden file in the tests. A durable event is stored before anybody hears of it; a transient one is
never stored, and a durable event that contains it follows.
"""

from hub.core.events.envelope import Event, Transient
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
    Call,
    ContextAdded,
    Kept,
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
from hub.core.events.union import EVENT_TYPES, AnyEvent, parse_event
from hub.core.events.work import (
    CancelRequested,
    JobAnswered,
    JobDone,
    JobQuestion,
    JobStarted,
    ReportSubmitted,
)

__all__ = [
    "EVENT_TYPES",
    "AnyEvent",
    "AssistantMessageEvent",
    "Call",
    "CancelRequested",
    "CatalogChanged",
    "ContextAdded",
    "Event",
    "JobAnswered",
    "JobDone",
    "JobProgress",
    "JobQuestion",
    "JobStarted",
    "Kept",
    "ModelRetry",
    "ReasoningDelta",
    "ReportSubmitted",
    "ServerAsked",
    "ServerConnected",
    "ServerFailed",
    "ServerLog",
    "ServerQuarantined",
    "SessionDone",
    "SessionForked",
    "SessionResumed",
    "SessionStarted",
    "TextDelta",
    "ToolCallEvent",
    "ToolProgress",
    "ToolResultEvent",
    "ToolRulingEvent",
    "ToolsLoaded",
    "Transient",
    "TurnDone",
    "TurnStarted",
    "UsageEvent",
    "UserMessageEvent",
    "parse_event",
]
