"""How the tests start each third-party server, and what they say when one is not there."""

import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from tests.third_party.install import INSTALLATION, NPM, NPM_SERVERS, PYTHON_SERVERS

NAMES = (*NPM_SERVERS, *PYTHON_SERVERS)
"""The third-party servers, by the names that the tests use."""

SKIP_VARIABLE = "SKIP_THIRD_PARTY"
"""Set to 1, it lets the tests do without the servers; otherwise they have to be there."""

_START_LIMIT = 20.0


class Launch(NamedTuple):
    """How one server is started on stdio."""

    command: str
    args: list[str]
    env: dict[str, str]
    """What is added to the environment of the server."""


def launch(name: str, workspace: Path) -> Launch:
    """The way to start a server for one workspace; ends the test when the server is not there."""
    require(name)
    folder = str(workspace)
    match name:
        case "everything":
            return _npm(name, "stdio")
        case "filesystem":
            return _npm(name, folder)
        case "memory":
            return _npm(name, MEMORY_FILE_PATH=str(workspace / "memory.jsonl"))
        case "sequential-thinking":
            return _npm(name, DISABLE_THOUGHT_LOGGING="true")
        case "git":
            return _python(name, "--repository", folder)
        case "time":
            return _python(name, "--local-timezone", "UTC")
        case "sqlite":
            return _python(name, "--db-path", str(workspace / "test.db"))
        case _:
            return _python(name)


def require(name: str) -> None:
    """Fail the test when a server was not installed, or skip it where that was asked for."""
    if not INSTALLATION.has(name):
        if os.environ.get(SKIP_VARIABLE) == "1":
            pytest.skip(f"{SKIP_VARIABLE} is set and the server {name} is not installed")
        pytest.fail(
            f"the third-party server {name} is not installed; run: make servers "
            f"(or set {SKIP_VARIABLE}=1 to do without)",
            pytrace=False,
        )
    if name == "git" and shutil.which("git") is None:
        pytest.skip("mcp-server-git needs the program git, which is not on PATH")


@asynccontextmanager
async def everything_http(kind: str = "streamableHttp") -> AsyncIterator[str]:
    """The everything server over HTTP, as `streamableHttp` or `sse`; the value is its URL."""
    require("everything")
    port = _free_port()
    started = _npm("everything", kind)
    environment = {**os.environ, **started.env, "PORT": str(port)}
    command = [started.command, *started.args]
    async with await anyio.open_process(
        command, env=environment, stdin=None, stdout=None, stderr=None
    ) as process:
        try:
            with anyio.fail_after(_START_LIMIT):
                await _listening(port)
            yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
        finally:
            process.kill()


def _npm(name: str, *arguments: str, **environment: str) -> Launch:
    package = INSTALLATION.target / NPM / "node_modules" / "@modelcontextprotocol"
    script = package / f"server-{name}" / "dist" / "index.js"
    return Launch(str(INSTALLATION.node()), [str(script), *arguments], environment)


def _python(name: str, *arguments: str) -> Launch:
    script = INSTALLATION.python(name).with_name(f"mcp-server-{name}")
    return Launch(str(script), list(arguments), {})


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def _listening(port: int) -> None:
    while True:
        try:
            async with await anyio.connect_tcp("127.0.0.1", port):
                return
        except OSError:
            await anyio.sleep(0.05)
