"""Servers of a workspace, open for one command."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio

from hub.app.faults import one_fault
from hub.app.inspect import listing_cache
from hub.app.pinned import pin_store
from hub.app.servers import LazyServers
from hub.app.setup import Setup
from hub.config.references import resolve_server
from hub.core.asking import Answers
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.core.events import Event
from hub.core.ports import ServerListing
from hub.core.servers import ServerSpec


@asynccontextmanager
async def opened(
    setup: Setup,
    specs: Sequence[ServerSpec],
    emit: Callable[[Event], None] = lambda event: None,
    *,
    answers: Answers | None = None,
) -> AsyncIterator[LazyServers]:
    """Yield servers that start when they are asked; leaving the block ends them.

    What they say is judged by the pins, as in a run, and their lives are recorded. ``answers``
    answers what they ask; without, all is declined.
    """
    environ = setup.loaded.sources.environ
    servers = LazyServers(
        specs,
        workspace=setup.workspace,
        env=environ,
        resolve=partial(resolve_server, environ=environ),
        emit=emit,
        clock=SystemClock(),
        cache=listing_cache(setup),
        state=setup.loaded.sources.paths.state,
        pins=pin_store(setup),
        answers=answers,
    )
    async with one_fault(), anyio.create_task_group() as group:
        group.start_soon(servers.own)
        try:
            yield servers
        finally:
            servers.stop()


async def refresh(setup: Setup, specs: Sequence[ServerSpec]) -> dict[str, str]:
    """Ask approved servers for what they offer now and keep it; return who failed, and why."""
    failed: dict[str, str] = {}

    async def ask(servers: LazyServers, spec: ServerSpec) -> None:
        try:
            listing: ServerListing = await servers.listing(spec.name)
        except ServerError as error:
            failed[spec.name] = str(error)
        else:
            servers.cache.save(spec, listing)

    async with opened(setup, specs) as servers, anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(ask, servers, spec)
    return failed
