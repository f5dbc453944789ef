"""Runs the command that decides whether a child's work is accepted.

It runs like a command of the shell server: in a process group of its own that ends with it, with an
environment from an allow-list, and it is ended with the job. What it writes is bounded and masked.
"""

import codecs
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio
from msgspec import Struct

from hub.core.acceptance import Acceptance, Verdict
from hub_servers import processes
from hub_servers.environment import allowed_environment

TAIL = 4_000
"""Characters of the output that are kept: the last ones, since failures are told at the end."""
_READ_BYTES = 65536
_MAX_LEFT_OVER = 1024 * 1024


class Commands(Struct, frozen=True):
    """Runs acceptance commands in one environment."""

    environ: Mapping[str, str]
    """What the allow-list chooses from."""
    hidden: Mapping[str, str] = {}
    """Values that never appear in what is told, with what stands in their place."""

    async def run(self, acceptance: Acceptance, folder: Path) -> Verdict:
        """Run a command to its end or the end of its time; exit code 0 accepts."""
        environment = allowed_environment(source=self.environ)
        shell = shutil.which("bash", path=environment.get("PATH")) or "/bin/sh"
        reading, writing = os.pipe()
        try:
            try:
                group = await processes.start(
                    [shell, "-c", acceptance.command],
                    env=environment,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=writing,
                    stderr=subprocess.STDOUT,
                )
            except processes.LaunchError as error:
                return Verdict("command", passed=False, reason=str(error))
            finally:
                os.close(writing)
            async with group:
                return await self._watched(group, reading, acceptance.timeout)
        finally:
            os.close(reading)

    async def _watched(self, group: processes.GroupProcess, pipe: int, seconds: float) -> Verdict:
        os.set_blocking(pipe, False)
        tail = _Tail()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, pipe, tail)
            with anyio.move_on_after(seconds) as scope:
                await group.wait()
            await group.end()
            tasks.cancel_scope.cancel()
        _collect_left_over(pipe, tail)
        code = group.returncode
        said = tail.text(self.hidden)
        if scope.cancelled_caught or code is None:
            reason = f"it did not end within {seconds:g} s and was ended"
            return Verdict("command", passed=False, output_tail=said, reason=reason)
        if code < 0:
            code = 128 - code
        return Verdict("command", passed=code == 0, exit_code=code, output_tail=said)


class _Tail:
    """The last characters of what was written."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""
        self._total = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        self._total += len(text)
        self._kept = (self._kept + text)[-2 * TAIL :]

    def text(self, hidden: Mapping[str, str]) -> str:
        """Return the end; more was kept, so that a hidden value is never cut before it is found."""
        kept = self._kept
        for value, shown in hidden.items():
            kept = kept.replace(value, shown)
        shown_part = kept[-TAIL:]
        left_out = self._total - len(self._kept) + len(kept) - len(shown_part)
        return f"[… {left_out} characters left out …]\n{shown_part}" if left_out else shown_part


async def _collect(pipe: int, tail: _Tail) -> None:
    while True:
        await anyio.wait_readable(pipe)
        with suppress(BlockingIOError):
            data = os.read(pipe, _READ_BYTES)
            if not data:
                return
            tail.feed(data)


def _collect_left_over(pipe: int, tail: _Tail) -> None:
    """Read what is still in the pipe; who escaped the group may go on writing to it."""
    collected = 0
    with suppress(BlockingIOError):
        while collected < _MAX_LEFT_OVER and (data := os.read(pipe, _READ_BYTES)):
            collected += len(data)
            tail.feed(data)
    tail.feed(b"", final=True)
