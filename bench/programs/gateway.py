"""Servers behind the hub, in a process of its own; prints its figures as JSON.

Arguments: ``calls SERVERS``, ``memory SERVERS``, or ``catalog FOLDER all|slowest``.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from bench.programs.large_catalog import resident
from hub.app.servers import LazyServers
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import build_catalog
from hub.catalog.gathering import Patience
from hub.core.clock import SystemClock
from hub.core.ports import CallContext
from hub.core.servers import ServerSpec
from hub.testing.faulty.launch import faulty_command

CALLS = 300
WARM_UP = 30
HEALTHY = 20
SLOWEST = "initialize_delay=4"
"""The slowest healthy server takes so many seconds beside the start of its process."""
PATIENCE = 1.0
"""The default of ``catalog.patience``."""
ARGUMENTS = {"text": "hello"}
CONTEXT = CallContext("s", "lead", "c", lambda message, done, total: None)


def server(name: str, *knobs: str) -> ServerSpec:
    """A scripted server on stdio."""
    command, arguments = faulty_command(*knobs)
    return ServerSpec(name, "stdio", command=command, args=tuple(arguments))


@asynccontextmanager
async def opened(specs: list[ServerSpec], folder: Path) -> AsyncIterator[LazyServers]:
    """The servers of a run."""
    servers = LazyServers(
        specs,
        workspace=folder,
        env=os.environ,
        resolve=lambda spec: spec,
        emit=lambda event: None,
        clock=SystemClock(),
        cache=ListingCache(folder / "cache"),
        state=folder / "state",
    )
    async with anyio.create_task_group() as group:
        group.start_soon(servers.own)
        try:
            yield servers
        finally:
            servers.stop()


async def calls(count: int) -> dict[str, Any]:
    """Time the same call through the hub and on a bare client, turn by turn."""
    specs = [server(f"s{number}") for number in range(count)]
    command, arguments = faulty_command()
    bare_server = StdioServerParameters(command=command, args=arguments)
    took: dict[str, list[float]] = {"bare": [], "hub": []}
    with TemporaryDirectory(prefix="bench-") as name:
        async with (
            opened(specs, Path(name)) as servers,
            Client(bare_server, mode="legacy") as client,
        ):
            catalog = await build_catalog(specs, servers=servers, cache=servers.cache)
            tool = catalog.tools["s0__echo"]

            async def bare() -> str:
                (block,) = (await client.call_tool("echo", ARGUMENTS)).content
                return str(getattr(block, "text", ""))

            async def hub() -> str:
                return (await tool.call(tool.complete(ARGUMENTS), CONTEXT)).text

            ways: dict[str, Callable[[], Awaitable[str]]] = {"bare": bare, "hub": hub}
            for turn in range(CALLS + WARM_UP):
                for way, call in ways.items():
                    started = time.perf_counter()
                    text = await call()
                    ended = time.perf_counter()
                    assert text == "hello", text
                    if turn >= WARM_UP:
                        took[way].append((ended - started) * 1000)
    return {way: statistics.median(times) for way, times in took.items()}


async def memory(count: int) -> dict[str, Any]:
    """Compare the memory of this process with one server and with all of them connected."""
    specs = [server(f"s{number}") for number in range(count)]
    with TemporaryDirectory(prefix="bench-") as name:
        async with opened(specs, Path(name)) as servers:
            await servers.listing("s0")
            before = resident()
            for spec in specs[1:]:
                await servers.listing(spec.name)
            return {"kB": (resident() - before) * 1024 / (count - 1)}


async def catalog(folder: Path, which: str) -> dict[str, Any]:
    """Time the catalog with which a run would start."""
    healthy = [server(f"s{number}") for number in range(HEALTHY - 1)]
    specs = [server("slowest", SLOWEST)]
    if which == "all":
        specs = [server("mute", "mute"), server("crash", "exit_on_start"), *healthy, *specs]
    async with opened(specs, folder) as servers:
        started = time.perf_counter()
        patience = Patience(PATIENCE, servers.doubtful)
        cache = servers.cache
        found = await build_catalog(specs, servers=servers, cache=cache, patience=patience)
        first = time.perf_counter()
        for spec in specs:
            if spec.name in found.starting and spec.name not in ("mute", "crash"):
                cache.save(spec, await servers.listing(spec.name))
        whole = time.perf_counter()
    return {
        "first": (first - started) * 1000,
        "whole": (whole - started) * 1000,
        "servers": len(found.shelves),
    }


def main() -> None:
    kind, *rest = sys.argv[1:]
    match kind:
        case "calls":
            figures = anyio.run(calls, int(rest[0]))
        case "memory":
            figures = anyio.run(memory, int(rest[0]))
        case _:
            figures = anyio.run(catalog, Path(rest[0]), rest[1])
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
