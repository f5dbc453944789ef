"""What the tests of the stand-alone servers share: clients, and a look at live processes."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp import Client, StdioServerParameters

from hub_servers import files, notes, shell


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the tests run on."""
    return "asyncio"


@dataclass(frozen=True)
class Caller:
    """Calls the tools of one server, each within ten seconds."""

    client: Client

    async def result(self, tool: str, **arguments: Any) -> types.CallToolResult:
        """Return what the server answers."""
        with anyio.fail_after(10):
            return await self.client.call_tool(tool, arguments)

    async def __call__(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer that is no error."""
        result = await self.result(tool, **arguments)
        assert not result.is_error, result.content
        return text_of(result)

    async def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured content of an answer that is no error."""
        result = await self.result(tool, **arguments)
        assert not result.is_error, result.content
        data = result.structured_content
        assert isinstance(data, dict)
        return data

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer that is an error."""
        result = await self.result(tool, **arguments)
        assert result.is_error, result.content
        return text_of(result)


def text_of(result: types.CallToolResult) -> str:
    """Return the one text of a result."""
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The protocol era of a connection."""
    era: str = request.param
    return era


@pytest.fixture
async def on_files(tmp_path: Path, mode: str) -> AsyncIterator[Caller]:
    """A client of `files` on the temporary folder."""
    async with Client(files.create_server(tmp_path), mode=mode) as client:
        yield Caller(client)


@pytest.fixture
async def on_shell(tmp_path: Path, mode: str) -> AsyncIterator[Caller]:
    """A client of `shell` on the temporary folder."""
    async with Client(shell.create_server(tmp_path), mode=mode) as client:
        yield Caller(client)


@pytest.fixture
async def on_notes(tmp_path: Path, mode: str) -> AsyncIterator[Caller]:
    """A client of `notes` on the temporary folder."""
    async with Client(notes.create_server(tmp_path), mode=mode) as client:
        yield Caller(client)


@pytest.fixture
def over_stdio(tmp_path: Path) -> Callable[..., Client]:
    """Return an unopened client of a server process, by the server's name."""

    def client(name: str, *options: str, mode: str = "auto") -> Client:
        args = ["-m", f"hub_servers.{name}", "--root", str(tmp_path), *options]
        return Client(StdioServerParameters(command=sys.executable, args=args), mode=mode)

    return client


@pytest.fixture
def caller() -> type[Caller]:
    """The class that calls tools, for clients that a test opens itself."""
    return Caller


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[0] not in {b"Z", b"X"}


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, within five seconds."""
    with anyio.fail_after(5):
        while not condition():  # noqa: ASYNC110 - a process tells nobody that it ends
            await anyio.sleep(0.01)


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Wait until a condition holds, within five seconds."""
    return until


@pytest.fixture
def ended() -> Callable[..., Awaitable[None]]:
    """Wait until none of the processes is left, within five seconds."""

    async def wait(*pids: int) -> None:
        await until(lambda: not any(is_alive(pid) for pid in pids))

    return wait


@pytest.fixture
def pids_in() -> Callable[[Path, int], Awaitable[list[int]]]:
    """Wait until a file holds so many process ids, and return them."""

    async def wait(file: Path, count: int) -> list[int]:
        await until(lambda: file.exists() and file.read_text().count("\n") >= count)
        return [int(line) for line in file.read_text().split()]

    return wait


@pytest.fixture
def children_of() -> Callable[[int, str], list[int]]:
    """Return the children of a process whose command line holds a text."""

    def find(parent: int, text: str) -> list[int]:
        found = []
        for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit()):  # noqa: PTH208
            try:
                status = Path(f"/proc/{pid}/stat").read_text()
                command = Path(f"/proc/{pid}/cmdline").read_text()
            except OSError:
                continue
            if int(status.rpartition(")")[2].split()[1]) == parent and text in command:
                found.append(pid)
        return found

    return find
