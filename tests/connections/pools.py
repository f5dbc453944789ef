"""A pool over good and faulty servers, as the tests of the connections need it."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio

from hub.connections.pool import ServerPool
from hub.connections.records import FileRecords
from hub.core.clock import SystemClock
from hub.core.events import Event
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, Clock
from hub.core.servers import ServerSpec
from hub.testing.faulty.http import PATH, SSE_PATH
from hub.testing.faulty.launch import faulty_command

LIMIT = 20
"""Seconds for one test; starting a Python process on a busy machine takes a good part of it."""
E = TypeVar("E", bound=Event)


def faulty(
    name: str, *knobs: str, log: Path | None = None, start: float = 15, call: float = 15
) -> ServerSpec:
    """A faulty server on stdio."""
    command, args = faulty_command(*knobs, log=log)
    return ServerSpec(
        name, "stdio", command=command, args=tuple(args), start_timeout=start, call_timeout=call
    )


def over_http(name: str, url: str, *, start: float = 15, call: float = 15) -> ServerSpec:
    """A server that is reached over HTTP."""
    return ServerSpec(name, "http", url=url, start_timeout=start, call_timeout=call)


def over_sse(name: str, url: str, *, start: float = 15, call: float = 15) -> ServerSpec:
    """The same server, reached over the older HTTP transport."""
    url = f"{url.removesuffix(PATH)}{SSE_PATH}"
    return ServerSpec(name, "sse", url=url, start_timeout=start, call_timeout=call)


def bundled(name: str) -> ServerSpec:
    """A bundled server, in this process."""
    return ServerSpec(name, "memory", command=name)


@dataclass(slots=True)
class Heard:
    """The events of a pool, in their order."""

    events: list[Event] = field(default_factory=list)
    more: anyio.Event = field(default_factory=anyio.Event)

    def emit(self, event: Event) -> None:
        """Take an event in."""
        self.events.append(event)
        self.more.set()
        self.more = anyio.Event()

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    async def wait_for(self, kind: type[E], count: int = 1) -> list[E]:
        """Wait until there are so many of a kind."""
        while len(found := self.of(kind)) < count:
            await self.more.wait()
        return found


@asynccontextmanager
async def open_pool(
    *specs: ServerSpec,
    workspace: Path,
    env: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    heard: Heard | None = None,
    protocols: Mapping[str, str] | None = None,
    resolve: Callable[[ServerSpec], ServerSpec] = lambda spec: spec,
    state: Path | None = None,
    idempotent: Callable[[ServerSpec, str], bool] = lambda spec, tool: False,
    homes: Mapping[str, Path] | None = None,
) -> AsyncIterator[ServerPool]:
    """A pool, bounded in time."""
    with anyio.fail_after(LIMIT):
        async with ServerPool(
            specs,
            workspace=workspace,
            env=os.environ if env is None else env,
            resolve=resolve,
            emit=(heard or Heard()).emit,
            clock=clock or SystemClock(),
            protocols=protocols or {},
            records=None if state is None else FileRecords(state),
            idempotent=idempotent,
            homes={} if homes is None else homes,
        ) as pool:
            yield pool


def context(
    told: list[tuple[str, float | None, float | None]] | None = None, *, agent: str = "lead"
) -> CallContext:
    """What a call knows of itself; its progress goes into a list."""

    def progress(message: str, done: float | None, total: float | None) -> None:
        if told is not None:
            told.append((message, done, total))

    return CallContext("s-1", agent, "c-1", progress)


async def called(pool: ServerPool, server: str, tool: str, /, **arguments: Any) -> ToolOutcome:
    """The outcome of one call."""
    return await pool.call(server, tool, arguments, context())


async def called_by(
    pool: ServerPool, agent: str, server: str, tool: str, /, **arguments: Any
) -> ToolOutcome:
    """The outcome of one call of an agent."""
    return await pool.call(server, tool, arguments, context(agent=agent))


async def echoes(pool: ServerPool, server: str) -> bool:
    """Whether a server answers an ordinary call."""
    outcome = await called(pool, server, "echo", text="still here")
    return not outcome.is_error and "still here" in outcome.text
