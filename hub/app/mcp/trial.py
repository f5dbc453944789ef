"""Tests one server as a conformance run would, in both eras of the protocol.

A server on stdio is started once for each era, talked to without the SDK, and its input is closed
at the end to see whether it goes by itself and takes along all that it started.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import replace

from hub.app.mcp.checks import Check, tool_checks, twice_check
from hub.app.mcp.questions import (
    Greeting,
    offer,
    ping,
    read_discover,
    read_initialize,
    read_more,
    read_tools,
    unknown_method,
    unknown_tool,
)
from hub.app.mcp.traffic import (
    ending_checks,
    gone_check,
    start_check,
    stderr_check,
    traffic_checks,
)
from hub.config.references import resolve_server
from hub.connections.masking import hidden_values
from hub.connections.opening import Place
from hub.connections.raw.http import address_under_test
from hub.connections.raw.stdio import Process, process_under_test
from hub.connections.raw.wire import CLIENT, MODERN, Era, Wire
from hub.connections.tokens import TokenStore
from hub.connections.watch import Watch
from hub.core.errors import ServerError
from hub.core.servers import ServerSpec

PROBE_LIMIT = 5.0
"""Seconds that an answer to ``server/discover`` is waited for."""

Tell = Callable[[Check], None]


async def try_server(
    spec: ServerSpec,
    *,
    workspace: Path,
    environ: Mapping[str, str],
    tell: Tell,
    doing: Callable[[str], None] = lambda what: None,
    state: Path | None = None,
) -> None:
    """Start or reach a server and test it; each finding is told as soon as it is known.

    ``doing`` is told what is waited for; sign-ins are in the ``state`` folder. A server that does
    not start is a finding, too.

    Raises:
        ConfigError: a variable that the server's entry refers to is not set.
    """
    tokens = None if state is None else TokenStore(state)
    place = Place(workspace, environ, partial(resolve_server, environ=environ), tokens)
    await _Trial(_as_process(spec), place, tell, doing).run()


class _Life(Struct):
    """One conversation with the server."""

    wire: Wire
    watch: Watch
    process: Process | None
    began: float

    async def settled(self) -> None:
        """Wait a moment to learn how a process that has gone silent ended."""
        if self.process is not None and self.wire.closed():
            await self.process.exited()


class _Trial:
    """One server over as many lives as there are eras."""

    def __init__(
        self, spec: ServerSpec, place: Place, tell: Tell, doing: Callable[[str], None]
    ) -> None:
        self._spec = spec
        self._place = place
        self._told: set[str] = set()
        self._hear = tell
        self._doing = doing
        self._listed: dict[Era, list[Any]] = {}

    async def run(self) -> None:
        """Test the handshake, then requests without one, and say where both differ."""
        try:
            greeted = await self._handshake()
            if self._spec.transport == "sse":
                self._judge(greeted, None)
                return
            self._judge(greeted, await self._modern(greeted))
        except ServerError as error:
            self._tell(Check("start", "fail", error.message))
            return
        if len(self._listed) == 2:
            self._compare()

    async def _handshake(self) -> Greeting:
        self._doing("initialize")
        async with self._life() as life:
            wire = life.wire
            hello = {**offer(), "clientInfo": CLIENT}
            reply = await wire.ask("initialize", hello, limit=self._spec.start_timeout)
            greeting = read_initialize(reply)
            if reply.ok:
                self._tell(start_check(anyio.current_time() - life.began))
                for check in greeting.checks:
                    self._tell(check)
                await wire.tell("notifications/initialized")
                await self._whole(life, greeting, "handshake")
            else:
                await life.settled()
                said = (life.watch.describe(), life.watch.remedy)
                greeting = replace(greeting, words=". ".join(one for one in said if one))
            await self._end(life, first=True)
        return greeting

    async def _modern(self, greeted: Greeting) -> Greeting:
        self._doing("server/discover")
        async with self._life() as life:
            wire = life.wire
            wire.era = "modern"
            reply = await wire.ask("server/discover", {}, limit=PROBE_LIMIT)
            greeting = read_discover(reply)
            for check in greeting.checks:
                self._tell(check)
            if reply.ok and not greeted.reply.ok:
                self._tell(start_check(anyio.current_time() - life.began))
                await self._whole(life, greeting, "modern")
            elif reply.ok:
                entries, checks = await read_tools(wire, greeting.capabilities)
                self._listed |= {} if entries is None else {"modern": entries}
                self._tell_faults([*checks, *await unknown_method(wire)])
            await self._end(life, first=not greeted.reply.ok and reply.ok)
        return greeting

    async def _whole(self, life: _Life, greeting: Greeting, era: Era) -> None:
        """Put every question to a server that has answered the first one, while it lives."""
        wire, capabilities = life.wire, greeting.capabilities

        async def one(what: str, ask: Callable[[], Awaitable[list[Check]]]) -> None:
            if wire.closed():
                return
            self._doing(what)
            found = await ask()
            if wire.closed():
                await life.settled()
                last = life.watch.tail(3)
                found = [gone_check(what, life.watch.exit_code, last)]
            for check in found:
                self._tell(check)

        async def listed() -> list[Check]:
            entries, checks = await read_tools(wire, capabilities)
            if entries is None:
                return checks
            self._listed[era] = entries
            return [*checks, *tool_checks(self._spec.name, entries)]

        async def again() -> list[Check]:
            entries, _ = await read_tools(wire, capabilities)
            return [twice_check(self._listed[era], entries or [])]

        await one("ping", lambda: ping(wire))
        await one("tools/list", listed)
        if era in self._listed:
            await one("tools/list again", again)
        await one("prompts and resources", lambda: read_more(wire, capabilities))
        await one("an unknown method", lambda: unknown_method(wire))
        if "tools" in capabilities or self._listed.get(era):
            await one("an unknown tool", lambda: unknown_tool(wire))

    async def _end(self, life: _Life, *, first: bool) -> None:
        """Look at what came beside the answers, and at the end; a second life tells only faults."""
        process = life.process
        found = traffic_checks(life.wire.traffic, stdio=process is not None)
        if process is not None:
            found += [] if life.wire.closed() else ending_checks(await self._ended(process))
            found.append(stderr_check(process.stderr_bytes, life.watch.tail(1)))
        if first:
            for check in found:
                self._tell(check)
        else:
            self._tell_faults(found)

    async def _ended(self, process: Process) -> Any:
        self._doing("the end")
        return await process.end()

    def _judge(self, greeted: Greeting, modern: Greeting | None) -> None:
        """Tell of an era in which the server does not answer, and whether the other is enough."""
        reply = greeted.reply
        works = modern is not None and modern.reply.ok
        if not reply.ok and works:
            words = f"{reply.words}; only clients of {MODERN} can use it"
            self._tell(Check("initialize", "warn", words))
        elif not reply.ok:
            said = f" ({greeted.words})" if greeted.words else ""
            self._tell(Check("initialize", "fail", f"{reply.words}{said}"))
        if modern is None or works or not reply.ok:
            return
        match modern.reply.kind:
            case "error":
                words = f"answers {modern.reply.code}, so clients go on with the handshake at once"
                self._tell(Check("discover", "ok", words))
            case "silent":
                words = "does not answer server/discover; a first connect waits for it in vain"
                self._tell(Check("discover", "warn", words))
            case _:
                words = "ends on server/discover; a first connect has to start it twice"
                self._tell(Check("discover", "warn", words))

    def _compare(self) -> None:
        before, after = ({_key(one) for one in entries} for entries in self._listed.values())
        if before == after:
            self._tell(Check("eras", "ok", "the same tools in both eras"))
        else:
            names = ", ".join(sorted(before ^ after)[:5])
            self._tell(Check("eras", "warn", f"only in one of both eras: {names}"))

    def _tell(self, check: Check) -> None:
        if check.state in ("fail", "warn"):
            self._told.add(check.name)
        self._hear(check)

    def _tell_faults(self, checks: list[Check]) -> None:
        """Tell what is wrong in the second life and was not in the first."""
        for check in checks:
            if check.state in ("fail", "warn") and check.name not in self._told:
                words = f"{check.message} (without a handshake)"
                self._tell(replace(check, message=words))

    @asynccontextmanager
    async def _life(self) -> AsyncIterator[_Life]:
        """Start or reach the server; leaving the block ends it.

        Raises:
            ServerError: it cannot be started or reached, or the connection breaks.
        """
        watch, began = Watch(), anyio.current_time()
        if self._spec.transport != "stdio":
            async with address_under_test(self._spec, self._place, watch) as wire:
                yield _Life(wire, watch, None, began)
            return
        resolved = self._place.resolve(self._spec)
        watch.hidden = hidden_values(self._spec, resolved)
        async with process_under_test(resolved, self._place, watch) as process:
            yield _Life(process.wire, watch, process, began)


def _key(entry: Any) -> str:
    return str(entry.get("name")) if isinstance(entry, dict) else ""


def _as_process(spec: ServerSpec) -> ServerSpec:
    """Return a bundled server as the program that it also is."""
    if spec.transport != "memory":
        return spec
    arguments = ("-P", "-m", f"hub_servers.{spec.command}")
    return replace(spec, transport="stdio", command=sys.executable, args=arguments)
