"""The contracts of the engine: what it needs from the outside, on one page."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from hub.core.events import AnyEvent, Event
from hub.core.messages import Message, ToolOutcome, ToolSpec
from hub.core.requests import ModelEvent, ModelRequest


class Clock(Protocol):
    """Time, as the engine sees it."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a cancellation point even for zero."""
        ...


class Model(Protocol):
    """Answers requests. One instance serves many sessions at once."""

    @property
    def name(self) -> str:
        """What the log and the live view call it."""
        ...

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Open the answer to a request. The last item is a Completion.

        Leaving the context closes the connection. Retries happen inside.

        Raises:
            ModelError: no usable answer; raised on entry or while iterating.
        """
        ...

    def leftover(self, messages: Sequence[Message]) -> str:
        """Name what a scripted model still had to say after this history; empty for others."""
        ...


class CallContext(Struct, frozen=True):
    """What a tool may know of the call that it serves."""

    session: str
    agent: str
    call_id: str
    progress: Callable[[str, float | None, float | None], None]
    """Tells the live view how far the call is: message, progress, total. Never blocks."""


class Tool(Protocol):
    """Something that an agent may call."""

    @property
    def spec(self) -> ToolSpec:
        """How it is offered."""
        ...

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        """Run it. Expected trouble is an error outcome; cancellation is the only exception."""
        ...


class RemoteTool(Struct, frozen=True):
    """One tool as its server describes it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=dict)
    output_schema: dict[str, Any] | None = None
    title: str = ""
    annotations: dict[str, Any] = field(default_factory=dict)
    """The MCP annotations, such as ``readOnlyHint``; hints of the server, not facts."""


class ServerListing(Struct, frozen=True):
    """What a server says of itself once it is connected."""

    server: str
    protocol: str
    """Negotiated protocol version, such as ``2026-07-28``."""
    tools: tuple[RemoteTool, ...] = ()
    """Every page of its tool list."""
    version: str = ""
    instructions: str = ""
    warnings: tuple[str, ...] = ()
    """What was odd in the listing: repeated cursors, duplicate names, invalid tools."""


class Servers(Protocol):
    """The MCP servers of a run, by name; each is started when it is first needed."""

    async def listing(self, server: str) -> ServerListing:
        """Connect if need be and return the server's tools.

        Raises:
            ServerError: it did not start, or not within its limit.
        """
        ...

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: "CallContext"
    ) -> ToolOutcome:
        """Call a tool. A server that is gone or silent gives an error outcome, not an exception."""
        ...


class EventStore(Protocol):
    """The append-only log of all sessions."""

    def create(self, session: str, *, parent: str, role: str, workspace: str) -> None:
        """Register a session before its first event."""
        ...

    def append(self, event: Event) -> None:
        """Store one event in one transaction; when it returns, a killed process keeps it.

        Raises:
            StoreError: it could not be stored; nothing of it was.
        """
        ...

    def events(self, session: str, *, after: int = 0) -> Iterable[AnyEvent]:
        """Read a session's events in order, from ``after`` on (exclusive)."""
        ...


class Journal(Protocol):
    """One session's way to the log and to whoever watches the run."""

    @property
    def session(self) -> str:
        """The session that is written."""
        ...

    @property
    def agent(self) -> str:
        """Path of the agent whose session it is."""
        ...

    def note(self, event: Event) -> None:
        """Store a durable event, then publish it. Never waits.

        Raises:
            StoreError: it could not be stored.
        """
        ...

    def tell(self, event: Event) -> None:
        """Publish a transient event. Never waits."""
        ...

    async def room(self) -> None:
        """Wait while whoever watches is far behind."""
        ...


class Question(Struct, frozen=True):
    """Something that only a person can decide."""

    agent: str
    """Who asks, as a path."""
    call_id: str
    tool: str
    arguments: str
    """Canonical JSON."""
    reason: str


Answer = Literal["once", "session", "deny", "nobody"]
"""``nobody`` means that nobody could be asked."""


class Asker(Protocol):
    """Puts a question to a person."""

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer; answers ``nobody`` at once when there is no one."""
        ...
