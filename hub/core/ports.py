"""The contracts of the engine: what it needs from the outside, on one page."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from hub.core.events import AnyEvent, Event
from hub.core.messages import Message, ToolOutcome, ToolSpec
from hub.core.prices import Price
from hub.core.requests import ModelEvent, ModelRequest
from hub.core.servers import ServerSpec


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

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None when nobody knows."""
        ...

    @property
    def output_cap(self) -> int | None:
        """Most tokens of one answer; None when nobody knows."""
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
    note: Callable[[Event], None] | None = None
    """Stores an event in the session of the call; None where there is no session."""


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
    meta: dict[str, Any] = field(default_factory=dict)
    """What stands in its ``_meta``."""


class RemotePrompt(Struct, frozen=True):
    """One prompt that a server offers to its users."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[dict[str, Any], ...] = ()
    """Each with ``name``, ``description`` and ``required``, as the server wrote them."""


class RemoteResource(Struct, frozen=True):
    """One resource, or one template of resources."""

    uri: str
    """Its address; for a template the URI template (RFC 6570)."""
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""
    template: bool = False


class ServerListing(Struct, frozen=True):
    """What a server says of itself once it is connected."""

    server: str
    protocol: str
    """Negotiated protocol version, such as ``2026-07-28``."""
    tools: tuple[RemoteTool, ...] = ()
    """Every page of its tool list."""
    version: str = ""
    instructions: str = ""
    prompts: tuple[RemotePrompt, ...] = ()
    resources: tuple[RemoteResource, ...] = ()
    """Resources first, then templates."""
    warnings: tuple[str, ...] = ()
    """What was odd in the listing: repeated cursors, duplicate names, invalid tools."""


class Quarantine(Struct, frozen=True):
    """What of a server is held back, because it is not what was approved."""

    tools: Mapping[str, str] = field(default_factory=dict)
    """Why, in words, by the server's own name of the tool."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    """By URI or URI template."""
    instructions: str = ""
    """Why the server's instructions are held back; empty when they are not."""

    def __bool__(self) -> bool:
        """Say whether anything is held back."""
        return bool(self.tools or self.prompts or self.resources or self.instructions)


class Pins(Protocol):
    """What was approved of each server, and what a later listing changes about it."""

    def check(self, spec: ServerSpec, listing: ServerListing) -> Quarantine:
        """Compare a listing with what was approved; the first listing of an approved server is.

        Never waits for a server.
        """
        ...

    def idempotent(self, spec: ServerSpec, tool: str) -> bool:
        """Say whether a tool was approved as one whose calls may be repeated."""
        ...


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

    async def read_resource(self, server: str, uri: str) -> tuple[dict[str, Any], ...]:
        """Return the contents of a resource: each with ``uri`` and ``text`` or ``blob``.

        Raises:
            ServerError: the server is gone, silent, or refuses.
        """
        ...

    async def get_prompt(
        self, server: str, prompt: str, arguments: Mapping[str, str]
    ) -> tuple[dict[str, Any], ...]:
        """Return the messages of a prompt: each with ``role`` and ``content``.

        Raises:
            ServerError: the server is gone, silent, or refuses.
        """
        ...


class Jobs(Protocol):
    """The jobs that an agent has dispatched, as its turn sees them."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Hold the jobs of one turn; whatever still runs at the end of the body is stopped."""
        ...

    def deliver(self) -> None:
        """Tell the agent, as context, of every result and question that it has not heard."""
        ...

    async def more(self) -> bool:
        """Wait until there is something to hear, if anything can still come; say whether."""
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
