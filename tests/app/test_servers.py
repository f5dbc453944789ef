"""The servers of a run: opened when needed, compared with the cache, closed for good."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from hub.app.servers import LazyServers
from hub.catalog.cache import ListingCache
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.servers import ServerSpec
from hub.testing.clock import FakeClock
from hub.testing.faulty.launch import FaultyLog
from tests.connections.pools import Heard, bundled, context, faulty


def lazy(tmp_path: Path, *specs: ServerSpec, heard: Heard | None = None) -> LazyServers:
    """The servers of a run whose cache is in a folder of the test."""
    return LazyServers(
        specs,
        workspace=tmp_path,
        env=os.environ,
        resolve=lambda spec: spec,
        emit=(heard or Heard()).emit,
        clock=FakeClock(patient=False),
        cache=ListingCache(tmp_path / "cache"),
    )


@asynccontextmanager
async def owned(servers: LazyServers) -> AsyncIterator[LazyServers]:
    """Servers with their owner beside."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(servers.own)
            try:
                yield servers
            finally:
                servers.stop()


async def test_servers_that_nobody_needs_are_never_opened(tmp_path: Path):
    """Stopping before the first need ends the owner."""
    log = FaultyLog(tmp_path / "log")
    async with owned(lazy(tmp_path, faulty("a", log=tmp_path / "log"))):
        await anyio.wait_all_tasks_blocked()
    assert log.events("start") == []


async def test_the_first_call_opens_the_pool(tmp_path: Path):
    """And the answer comes from the server."""
    async with owned(lazy(tmp_path, bundled("files"))) as servers:
        outcome = await servers.call("files", "list", {"path": "."}, context())
        assert not outcome.is_error
        assert (await servers.listing("files")).tools


async def test_after_the_stop_nothing_hangs_and_nothing_starts(tmp_path: Path):
    """Calls are refused with an outcome, listings with an error, warming does nothing."""
    async with owned(lazy(tmp_path, bundled("files"))) as servers:
        pass
    with anyio.fail_after(5):
        outcome = await servers.call("files", "list", {"path": "."}, context())
        assert outcome.kind == "server_unavailable"
        assert "being stopped" in outcome.text
        with pytest.raises(ServerError, match="being stopped"):
            await servers.listing("files")
        await servers.warm(lambda event: None)


async def test_a_cached_listing_is_compared_once_the_server_is_up(tmp_path: Path):
    """What changed since is told and kept, and the server is greeted as it was understood (H31)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty("a", "discover=exit", log=tmp_path / "log")
    async with owned(lazy(tmp_path, spec)) as servers:
        known = await servers.listing("a")
    old = replace(known, tools=known.tools[1:])
    servers.cache.save(spec, old)
    again = lazy(tmp_path, spec, heard=heard)
    again.cached = (spec,)
    async with owned(again):
        await again.warm(heard.emit)
    (change,) = heard.of(ev.CatalogChanged)
    assert change.added == [known.tools[0].name]
    assert again.cache.load(spec) == known
    assert len(log.events("start")) == 3
