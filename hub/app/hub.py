"""The Hub: one role's session over one workspace, open for prompts."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from msgspec import Struct, field

from hub.app.faults import one_fault
from hub.app.live import LiveCatalog
from hub.app.mentions import expanded
from hub.app.options import InitInfo
from hub.app.resume import Stored
from hub.app.run import Run
from hub.app.seat import Seat
from hub.app.servers import LazyServers
from hub.app.stream import EventStream
from hub.core import events as ev
from hub.core.cancel import CancelReason, CancelToken
from hub.core.errors import UsageError
from hub.core.jobs import Denials, TurnResult
from hub.engine.agent import Agent
from hub.engine.feed import Feed, SessionJournal
from hub.engine.turn import run_turn


class News(Struct):
    """Events of the servers, which happen outside of turns as well."""

    waiting: list[ev.Event] = field(default_factory=list)
    journal: SessionJournal | None = None
    follow: Callable[[ev.Event], None] | None = None
    """Is told of each event at once, whether or not there is a session."""
    ailing: dict[str, str] = field(default_factory=dict)
    """Servers that failed and have not come back, with what happened."""

    def attend(self, follow: Callable[[ev.Event], None]) -> None:
        """Tell ``follow`` of each event at once, and of connections that were made before."""
        self.follow = follow
        for event in self.waiting:
            if isinstance(event, ev.ServerConnected):
                follow(event)

    def ailment(self, server: str) -> str:
        """Say what is wrong with a server; empty for nothing."""
        return self.ailing.get(server, "")

    def emit(self, event: ev.Event) -> None:
        """Note an event in the root's session, or keep it until there is one."""
        if self.follow is not None:
            self.follow(event)
        match event:
            case ev.ServerFailed():
                self.ailing[event.server] = event.error
            case ev.ServerConnected():
                self.ailing.pop(event.server, None)
            case _:
                pass
        if self.journal is None:
            self.waiting.append(event)
        elif event.durable:
            self.journal.note(event)
        else:
            self.journal.tell(event)

    def attach(self, journal: SessionJournal) -> None:
        """Note what waits, and what comes from now on, in a journal."""
        self.journal = journal
        waiting, self.waiting = self.waiting, []
        for event in waiting:
            self.emit(event)

    def detach(self) -> None:
        """Keep what comes from now on until there is a journal again."""
        self.journal = None


class Hub:
    """A team, ready for the prompts of one user."""

    def __init__(
        self,
        *,
        run: Run,
        seat: Seat,
        init: InitInfo,
        servers: LazyServers,
        live: LiveCatalog,
        news: News,
        stored: Stored | None,
    ) -> None:
        self._run = run
        self._seat = seat
        self._servers = servers
        self._live = live
        self._news = news
        self._opened = False
        self._stored = stored
        self._token: CancelToken | None = None
        self.init = init
        """What loaded, what failed, and what is withheld."""

    @property
    def session_id(self) -> str:
        """The session of the root agent; it is stored from the first prompt on."""
        return self._seat.session

    def cancel(self, reason: CancelReason = "user") -> None:
        """Stop the turn that is running, and everything below it; its stream then ends."""
        if self._token is not None and not self._token.cancelled:
            if self._news.journal is not None:
                self._news.journal.note(ev.CancelRequested(reason=reason))
            self._token.cancel(reason)

    @asynccontextmanager
    async def ask(self, prompt: str, *, final: bool = False) -> AsyncIterator[EventStream]:
        """Run one turn on a prompt and stream its events, those of all children included.

        With ``final``, no further prompt will follow, so that a scripted model with more to say
        is an error.

        Raises:
            UsageError: another turn is running, the prompt is empty, or it names a prompt or
                resource that no server has.
            ServerError: a server does not give what the prompt names.
            StoreError: the session cannot be written.
        """
        if self._token is not None:
            raise UsageError("A turn is running; read its stream to the end first.")
        if not prompt.strip():
            raise UsageError("The task is empty.", remedy="Say what the team is to do.")
        token = self._seat.cancel = CancelToken()
        self._seat.denials = Denials()
        self._token = token
        try:
            with token.scope():
                prompt = await self._prepared(prompt)
            self._run.feed = Feed()
            agent = self._run.agent(self._seat, final=final)
        except BaseException:
            self._token = None
            raise
        stream = EventStream(self._run.feed)
        try:
            async with one_fault(), anyio.create_task_group() as group:
                group.start_soon(self._turn, agent, prompt, stream)
                try:
                    yield stream
                finally:
                    self._run.feed.abandon()
                    group.cancel_scope.cancel()
        finally:
            self._seat.turn = agent.journal.turn
            self._seat.seq = agent.journal.seq
            self._news.detach()
            self._token = None

    async def welcome(self) -> None:
        """Until the servers are stopped, let each that is late join as soon as it is up."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._take_latecomers)
            await self._servers.stopped()
            group.cancel_scope.cancel()

    async def _take_latecomers(self) -> None:
        while True:
            await self._live.arrival()
            changes = await self._live.join()
            self._run.join(self._live.tools(), self._live.catalog)
            for change in changes:
                self._news.emit(change)
                self._live.stale.discard(change.server)

    async def _prepared(self, prompt: str) -> str:
        """Take in what servers have changed, and put what the prompt names in its place."""
        if await self._live.renew():
            self._run.renew(self._live.tools(), self._live.catalog)
        return await expanded(prompt, self._live.catalog, self._servers)

    async def _turn(self, agent: Agent, prompt: str, stream: EventStream) -> None:
        self._open(agent)
        result: TurnResult | None = None
        async with anyio.create_task_group() as beside:
            beside.start_soon(self._servers.warm, self._news.emit)
            try:
                result = await run_turn(agent, prompt)
                stream.finish(result)
            finally:
                self._run.at_work.pop(self._seat.session, None)
                self._news.detach()
                beside.cancel_scope.cancel()
        self._run.feed.close()

    def _open(self, agent: Agent) -> None:
        if not self._opened and self._stored is None:
            self._run.open_session(self._seat, agent)
        elif not self._opened and self._stored is not None:
            agent.journal.note(
                ev.SessionResumed(
                    role=self._seat.role.name,
                    model=agent.model.name,
                    settled=self._stored.settled,
                    ignored=self._stored.ignored,
                )
            )
        self._opened = True
        self._news.attach(agent.journal)
