"""The run's MCP servers, behind an import that is paid only when the first one is needed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import anyio
import anyio.to_thread

from hub.app.guarding import require_prompt, require_resource
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import refresh_cache
from hub.connections.records import FileRecords
from hub.connections.tokens import TokenStore
from hub.core.asking import Answers
from hub.core.errors import ServerError
from hub.core.events import Event, ServerQuarantined
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, Clock, ServerListing, Servers
from hub.core.servers import ServerSpec
from hub.pins.store import PinStore

HEAD_START = 0.1
"""Seconds that the first model request has to itself before servers start beside it."""

STOPPED = "the servers are being stopped"


class Pool(Servers, Protocol):
    """What is used of the pool of connections."""

    def warm(self) -> None:
        """Start every server in the background."""
        ...

    def release(self, agent: str) -> None:
        """End what was kept for one agent."""
        ...

    async def leave(self, agent: str) -> None:
        """End every server over the workspace that an agent had to itself."""
        ...


class LazyServers:
    """The Servers port: imports and opens the pool when it is first asked for."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        *,
        workspace: Path,
        env: Mapping[str, str],
        resolve: Callable[[ServerSpec], ServerSpec],
        emit: Callable[[Event], None],
        clock: Clock,
        cache: ListingCache | None = None,
        state: Path | None = None,
        pins: PinStore | None = None,
        answers: Answers | None = None,
    ) -> None:
        """Take the servers in.

        Records of what becomes of them and sign-ins are kept in the ``state`` folder, where one is
        given; ``pins`` knows what was approved of each, and holds back everything else;
        ``answers`` answers what servers ask.
        """
        self._specs = specs
        self._workspace = workspace
        self._env = env
        self._resolve = resolve
        self._emit = emit
        self._told: dict[str, ServerQuarantined] = {}
        self._clock = clock
        self._records = None if state is None else FileRecords(state)
        self._answers = answers
        self._tokens = None if state is None else TokenStore(state)
        self.pins = pins
        """What was approved of each server; None holds nothing back."""
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._stop = anyio.Event()
        self._pool: Pool | None = None
        self._homes: dict[str, Path] = {}
        self.cache = cache or ListingCache(None)
        """What the servers listed the last time."""
        self.cached: tuple[ServerSpec, ...] = ()
        """Servers whose tools were taken from the cache, to be compared once they are up."""

    async def own(self) -> None:
        """Hold the pool from the moment in which it is wanted until ``stop``."""
        try:
            await self._wanted.wait()
            if self._stop.is_set():
                return
            module = await anyio.to_thread.run_sync(import_module, "hub.connections.pool")
            async with cast(
                AbstractAsyncContextManager[Pool],
                module.ServerPool(
                    self._specs,
                    workspace=self._workspace,
                    env=self._env,
                    resolve=self._resolve,
                    emit=self.tell,
                    clock=self._clock,
                    protocols=self._protocols(),
                    records=self._records,
                    tokens=self._tokens,
                    answers=self._answers,
                    idempotent=self._repeatable,
                    pins=self.pins,
                    homes=self._homes,
                ),
            ) as pool:
                self._pool = pool
                self._ready.set()
                await self._stop.wait()
        finally:
            self._pool = None
            self._stop.set()
            self._ready.set()

    def doubtful(self, server: str) -> bool:
        """Say whether a server was started before, and did not come up the last time."""
        spec = self._spec(server)
        last = self._records.read(spec) if self._records and spec else None
        return last is not None and last.came_to_nothing

    def _protocols(self) -> dict[str, str]:
        """Return which protocol each server spoke the last time, where no record says it."""
        known = ((spec.name, self.cache.load(spec)) for spec in self._specs)
        return {name: listing.protocol for name, listing in known if listing is not None}

    def _repeatable(self, spec: ServerSpec, tool: str) -> bool:
        return self.pins is not None and self.pins.idempotent(spec, tool)

    def tell(self, event: Event) -> None:
        """Pass an event on; what is held back of a server is told once, until it changes."""
        if isinstance(event, ServerQuarantined):
            if self._told.get(event.server) == event:
                return
            self._told[event.server] = event
        self._emit(event)

    def stop(self) -> None:
        """End every connection."""
        self._stop.set()
        self._wanted.set()

    async def stopped(self) -> None:
        """Wait until the connections are being ended."""
        await self._stop.wait()

    async def warm(self, emit: Callable[[Event], None]) -> None:
        """Start all servers in the background, shortly after the first model request.

        Those whose tools came from the cache are compared with it; ``emit`` is told what changed.
        """
        await self._clock.sleep(HEAD_START)
        pool = await self._opened()
        if pool is None:
            return
        pool.warm()
        await refresh_cache(self.cached, servers=pool, cache=self.cache, emit=emit)
        self.cached = ()

    async def listing(self, server: str) -> ServerListing:
        """Connect if need be and return the server's tools.

        Raises:
            ServerError: it did not start, or not within its limit.
        """
        return await (await self._open_pool(server)).listing(server)

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: CallContext
    ) -> ToolOutcome:
        """Call a tool of a server, starting it if need be."""
        pool = self._pool or await self._opened()
        if pool is None:
            text = f"MCP server {server!r}: {STOPPED}. The call did not run."
            return ToolOutcome(text, is_error=True, kind="server_unavailable")
        outcome = await pool.call(server, tool, arguments, context)
        if outcome.kind == "quarantined" and (spec := self._spec(server)) is not None:
            with suppress(ServerError):
                self.cache.save(spec, await pool.listing(server))
        return outcome

    def release(self, agent: str) -> None:
        """End the processes and sessions that were kept for one agent, whose work is over."""
        if self._pool is not None:
            self._pool.release(agent)

    def enter(self, agent: str, workspace: Path) -> None:
        """Let an agent, and everybody below it, work in a folder of its own."""
        self._homes[agent] = workspace

    async def leave(self, agent: str) -> None:
        """End the servers over the folder of an agent; its calls are refused from now on."""
        if self._pool is not None:
            await self._pool.leave(agent)

    async def read_resource(self, server: str, uri: str) -> tuple[dict[str, Any], ...]:
        """Return the contents of a resource, starting its server if need be.

        Raises:
            ServerError: the server does not start, is silent, or refuses.
        """
        pool = await self._open_pool(server)
        if self.pins is not None and (spec := self._spec(server)) is not None:
            await require_resource(self.pins, pool, spec, uri)
        return await pool.read_resource(server, uri)

    async def get_prompt(
        self, server: str, prompt: str, arguments: Mapping[str, str]
    ) -> tuple[dict[str, Any], ...]:
        """Return the messages of a prompt, starting its server if need be.

        Raises:
            ServerError: the server does not start, is silent, or refuses.
        """
        pool = await self._open_pool(server)
        if self.pins is not None and (spec := self._spec(server)) is not None:
            await require_prompt(self.pins, pool, spec, prompt)
        return await pool.get_prompt(server, prompt, arguments)

    def _spec(self, server: str) -> ServerSpec | None:
        return next((spec for spec in self._specs if spec.name == server), None)

    async def _open_pool(self, server: str) -> Pool:
        pool = self._pool or await self._opened()
        if pool is None:
            raise ServerError(f"MCP server {server!r}: {STOPPED}", server=server)
        return pool

    async def _opened(self) -> Pool | None:
        """Return the pool, opening it if need be; None when it is closed."""
        self._wanted.set()
        await self._ready.wait()
        return None if self._stop.is_set() else self._pool
