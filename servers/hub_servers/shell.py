"""The MCP server `shell`: runs commands in a folder, each in a process group of its own.

The folder is where commands start, not a wall around them: a command can do what the user can.
The environment is built from an allow-list. When a command ends, times out or is cancelled, what
it left running in the background ends with it.
"""

import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.server import Server

from hub_servers import processes
from hub_servers.environment import allowed_environment
from hub_servers.errors import ToolError
from hub_servers.output import Output
from hub_servers.paths import Root
from hub_servers.tooling import (
    Call,
    Reply,
    Tool,
    argument_parser,
    build_server,
    schema,
    serve_stdio,
)

DEFAULT_TIMEOUT = 120.0
"""Seconds a command may take if the call does not say."""
MAX_TIMEOUT = 3600.0
"""The most that a call may ask for."""
OUTPUT_CHARS = 30_000
"""How many characters of the output are kept."""
_REPORT_SECONDS = 1.0
_READ_BYTES = 65536
_MAX_LEFT_OVER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ShellTool:
    """Runs commands in one root."""

    root: Root
    """The folder in which commands start."""
    default_timeout: float
    """Seconds a command may take if the call does not say."""
    environment: dict[str, str]
    """The whole environment of a command."""
    program: str
    """The shell."""

    def tools(self) -> list[Tool]:
        """Return the tool."""
        text = {"type": "string"}
        return [
            Tool(
                "run",
                f"Run a bash command; what it leaves in the background ends with it. "
                f"timeout: seconds, default {self.default_timeout:g}",
                schema(["command"], command=text, cwd=text, timeout={"type": "number"}),
                self.run,
                destructive=True,
                open_world=True,
            )
        ]

    async def run(self, call: Call) -> Reply:
        """Run one command to its end, or to the end of its time."""
        command = call.arguments["command"]
        timeout = call.arguments.get("timeout", self.default_timeout)
        if not 0 < timeout <= MAX_TIMEOUT:
            raise ToolError(f"timeout must be above 0 and at most {MAX_TIMEOUT:g} seconds")
        folder = self.root.place(call.arguments.get("cwd", "."))
        if not folder.path.is_dir():
            raise ToolError(f"cwd '{folder.name}' is not a folder that exists")
        reading, writing = os.pipe()
        try:
            try:
                group = await processes.start(
                    [self.program, "-c", command],
                    env=self.environment,
                    cwd=folder.path,
                    stdin=subprocess.DEVNULL,
                    stdout=writing,
                    stderr=subprocess.STDOUT,
                )
            except processes.LaunchError as error:
                raise ToolError(str(error)) from None
            finally:
                os.close(writing)
            async with group:
                return await _Run(group, reading, Output(OUTPUT_CHARS), timeout).watch(call)
        finally:
            os.close(reading)


@dataclass(frozen=True, slots=True)
class _Run:
    group: processes.GroupProcess
    pipe: int
    output: Output
    timeout: float

    async def watch(self, call: Call) -> Reply:
        """Collect the output until the command ends or its time is up; then end the group."""
        began = time.monotonic()
        os.set_blocking(self.pipe, False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._collect)
            tasks.start_soon(self._report, call, began)
            with anyio.move_on_after(self.timeout) as scope:
                await self.group.wait()
            await self.group.end()
            tasks.cancel_scope.cancel()
        self._collect_left_over()
        return self._reply(time.monotonic() - began, timed_out=scope.cancelled_caught)

    async def _collect(self) -> None:
        while True:
            await anyio.wait_readable(self.pipe)
            with suppress(BlockingIOError):
                data = os.read(self.pipe, _READ_BYTES)
                if not data:
                    return
                self.output.feed(data)

    def _collect_left_over(self) -> None:
        """Read what is still in the pipe; who escaped the group may go on writing to it."""
        collected = 0
        with suppress(BlockingIOError):
            while collected < _MAX_LEFT_OVER and (data := os.read(self.pipe, _READ_BYTES)):
                collected += len(data)
                self.output.feed(data)
        self.output.feed(b"", final=True)

    async def _report(self, call: Call, began: float) -> None:
        while True:
            await anyio.sleep(_REPORT_SECONDS)
            elapsed = round(time.monotonic() - began, 1)
            await call.report(elapsed, self.timeout, self.output.last_line())

    def _reply(self, seconds: float, *, timed_out: bool) -> Reply:
        code = self.group.returncode
        exit_code = 128 - code if code is not None and code < 0 else code
        if timed_out:
            how = f"timed out after {self.timeout:g} s and was ended"
        elif code is not None and code < 0:
            how = f"exit {exit_code} ({_signal_name(-code)}), {seconds:.2f} s"
        else:
            how = f"exit {exit_code}, {seconds:.2f} s"
        text = self.output.text()
        data: dict[str, Any] = {
            "exit_code": exit_code,
            "seconds": round(seconds, 3),
            "timed_out": timed_out,
            "truncated": self.output.left_out > 0,
            "output": text,
        }
        return Reply(f"[{how}]\n{text}" if text else f"[{how}, no output]", data, failed=timed_out)


def create_server(
    root: Path, *, default_timeout: float = DEFAULT_TIMEOUT, env: Iterable[str] = ()
) -> Server[Any]:
    """Return the server for one folder.

    ``env`` adds to the environment: ``NAME`` lets a variable of ours through, ``NAME=VALUE`` sets
    one, a ``*`` at the end of a name stands for anything.

    Raises:
        NotADirectoryError: ``root`` is not a folder that exists.
        ValueError: ``default_timeout`` is not above 0 and at most `MAX_TIMEOUT`, or an item of
            ``env`` names nothing.
    """
    if not (math.isfinite(default_timeout) and 0 < default_timeout <= MAX_TIMEOUT):
        raise ValueError(f"timeout: it must be above 0 and at most {MAX_TIMEOUT:g} seconds")
    environment = allowed_environment(env)
    program = shutil.which("bash", path=environment.get("PATH")) or "/bin/sh"
    tool = ShellTool(Root.at(root), default_timeout, environment, program)
    return build_server("shell", tool.tools())


def main(argv: Sequence[str] | None = None) -> None:
    """Serve over stdio; a wrong option ends with exit code 2."""
    parser = argument_parser("hub-server-shell", "Runs shell commands that start in one folder.")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=DEFAULT_TIMEOUT,
        help="how long a command may take if the call does not say (default: %(default)g)",
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="let one more environment variable through to commands, or set it; repeatable",
    )
    options = parser.parse_args(argv)
    try:
        server = create_server(options.root, default_timeout=options.timeout, env=options.env)
    except NotADirectoryError as error:
        parser.error(f"--root: {error}")
    except ValueError as error:
        parser.error(str(error))
    serve_stdio(server)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


if __name__ == "__main__":
    main()
