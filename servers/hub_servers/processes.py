"""Starts programs as process groups and ends them to the last grandchild.

Each program leads a session and process group of its own, so a Ctrl-C on our terminal does not
reach it and one signal reaches all that it has started. `GroupProcess.end` sends SIGTERM to the
group, waits, and sends SIGKILL. If this process is killed instead, even by SIGKILL, a reaper
process does the same (`hub_servers.supervision`).

The race between starting a program and registering its group is closed in two steps. A start is
announced before it happens, with a random token that the program finds in its environment
(`HUB_PROCESS_GROUP`) and hands on; its group is registered right after. If this process dies in
between, the reaper looks for processes with the token for half a second, longer than `exec` takes.
This needs ``/proc``, so elsewhere than on Linux a gap of about a millisecond is left.

A program that leaves the group on purpose (``setsid``, a daemon) goes on, unless the start said
``strays``: then whatever carries the token ends with the group, on Linux. On Python 3.11
`Process.wait` does not return while a grandchild holds the program's pipes: use
`GroupProcess.wait`.
"""

import itertools
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import anyio
from anyio.abc import Process

from hub_servers.reaper import TOKEN_VARIABLE, carriers, has_members, send
from hub_servers.supervision import SUPERVISOR

GRACE_SECONDS = 2.0
"""How long a group has between SIGTERM and SIGKILL, unless told otherwise."""
_KILL_SECONDS = 2.0
_POLL_SECONDS = 0.01
_STRAY_ROUNDS = 3
"""How often what has left a group is looked for: it may fork while it is being ended."""

Stream = int | IO[Any] | None
"""What `subprocess` takes for a standard stream: PIPE, DEVNULL, STDOUT, a descriptor or a file."""


class LaunchError(Exception):
    """A program could not be started; the message says which one and why."""

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(f"cannot start '{program}': {reason}")
        self.program = program
        """The program, as it was given."""
        self.reason = reason
        """What is wrong."""


@dataclass(slots=True, eq=False)
class GroupProcess:
    """A running program and the group that it leads; leaving its context ends it.

    Use `end`, not `process.kill` or `process.terminate`: those may take the exit status away from
    asyncio, which then reports 255.
    """

    process: Process
    """The program itself, with its pipes."""
    pgid: int
    """The process group, which is the pid of the program."""
    token: str = ""
    """What marks processes that left the group and end with it; empty for those that may stay."""
    _over: bool = field(default=False, init=False)
    _ending: anyio.Lock = field(default_factory=anyio.Lock, init=False)

    @property
    def returncode(self) -> int | None:
        """The exit code of the program, negative for a signal; None while it runs."""
        return self.process.returncode

    async def wait(self) -> int:
        """Return the exit code once the program ends, whoever else holds its pipes."""
        if not (self.process.stdin or self.process.stdout or self.process.stderr):
            return await self.process.wait()
        await _until_exit(self.pgid)
        while self.process.returncode is None:  # noqa: ASYNC110 - asyncio tells nobody else
            await anyio.sleep(_POLL_SECONDS / 10)
        return self.process.returncode

    async def end(self, grace: float = GRACE_SECONDS) -> None:
        """End the group: SIGTERM, after ``grace`` seconds SIGKILL; safe to repeat.

        It is not interrupted by a cancellation. The pipes stay open for what they still hold.
        """
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if not self._over:
                    self._over = await self._end_all(grace)
                if self._over:
                    SUPERVISOR.ended(self.pgid)
            with anyio.move_on_after(_KILL_SECONDS):
                await self.wait()

    async def _end_all(self, grace: float) -> bool:
        """End the group and what has left it; return whether nothing is left."""
        if not self.token:
            return await end_group(self.pgid, grace)
        groups = {self.pgid}
        if send(self.pgid, 0):
            groups |= carriers({self.token})
        for _ in range(_STRAY_ROUNDS):
            async with anyio.create_task_group() as ending:
                for group in groups:
                    ending.start_soon(end_group, group, grace)
            groups = carriers({self.token})
            if not groups:
                break
        return not groups and not has_members(self.pgid)

    async def aclose(self) -> None:
        """End the group and close the pipes."""
        await self.end()
        with anyio.CancelScope(shield=True), anyio.move_on_after(_KILL_SECONDS):
            await self.process.aclose()

    async def __aenter__(self) -> "GroupProcess":
        """Return the process itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the group and close the pipes."""
        await self.aclose()


async def start(
    argv: Sequence[str] | str,
    *,
    env: Mapping[str, str],
    cwd: str | Path | None = None,
    stdin: Stream = subprocess.PIPE,
    stdout: Stream = subprocess.PIPE,
    stderr: Stream = subprocess.PIPE,
    strays: bool = False,
) -> GroupProcess:
    """Start a program as the leader of its own group and session.

    With ``strays``, what it starts ends with it also where that has left the group.

    ``argv`` is a line only where Windows needs one for a batch file quoted as ``cmd.exe`` reads it.
    ``env`` is the whole environment (see `hub_servers.environment`); a cancellation during the
    start takes effect after it, so a group that exists is always handed to the caller.

    Raises:
        LaunchError: the program, or the folder to start it in, cannot be used.
    """
    program = argv if isinstance(argv, str) else argv[0]
    try:
        token = SUPERVISOR.announce()
    except OSError as error:
        raise LaunchError(program, f"its supervisor does not start ({error})") from error
    try:
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                argv if isinstance(argv, str) else list(argv),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env={**env, TOKEN_VARIABLE: token},
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        SUPERVISOR.failed(token)
        raise LaunchError(program, _reason(error, program, cwd)) from error
    group = GroupProcess(process, process.pid, token if strays else "")
    try:
        SUPERVISOR.started(token, group.pgid, strays=strays)
    except OSError as error:
        await group.aclose()
        raise LaunchError(program, f"its supervisor is gone ({error})") from error
    return group


async def end_group(pgid: int, grace: float = GRACE_SECONDS) -> bool:
    """Send SIGTERM to a group, SIGKILL after ``grace`` seconds; return whether it is gone."""
    if not send(pgid, signal.SIGTERM):
        return True
    send(pgid, signal.SIGCONT)
    if await _gone_within(pgid, grace):
        return True
    send(pgid, signal.SIGKILL)
    return await _gone_within(pgid, _KILL_SECONDS)


async def _gone_within(pgid: int, seconds: float) -> bool:
    with anyio.move_on_after(seconds):
        pause = _POLL_SECONDS / 10
        for turn in itertools.count():
            # Only the dear look through all processes tells zombies from what is alive.
            if not send(pgid, 0) or (turn % 4 == 3 and not has_members(pgid)):
                return True
            await anyio.sleep(pause)
            pause = min(pause * 2, 5 * _POLL_SECONDS)
    return not has_members(pgid)


async def _until_exit(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception, program: str, cwd: str | Path | None) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if cwd is not None and not Path(cwd).is_dir():
            return f"the folder '{cwd}' does not exist"
        if os.sep in program:
            return "there is no such file"
        return "it is not installed, or not on PATH"
    if isinstance(error, PermissionError):
        return "it may not be executed"
    return getattr(error, "strerror", None) or str(error)
