"""Process groups end to the last grandchild, whatever happens to us."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hub_servers import processes
from hub_servers.environment import allowed_environment
from hub_servers.reaper import TOKEN_VARIABLE
from hub_servers.supervision import SUPERVISOR, Supervisor

ENVIRONMENT = allowed_environment()


async def test_a_group_ends_with_its_context(
    tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any]
) -> None:
    """A47: the launcher, its child and a grandchild that ignores SIGTERM."""
    script = "(trap '' TERM; sleep 300 & echo $! >>pids; wait) & echo $! >>pids; wait"
    async with await processes.start(["sh", "-c", script], env=ENVIRONMENT, cwd=tmp_path) as group:
        pids = await pids_in(tmp_path / "pids", 2)
    await ended(group.pgid, *pids)
    assert group.returncode == -signal.SIGTERM


async def test_a_group_whose_leader_is_gone_is_ended(
    tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any]
) -> None:
    """A47: `wait` returns although a grandchild holds the pipes."""
    script = "sleep 300 & echo $! >>pids; exit 7"
    with anyio.fail_after(10):
        group = await processes.start(["sh", "-c", script], env=ENVIRONMENT, cwd=tmp_path)
        assert await group.wait() == 7
        pids = await pids_in(tmp_path / "pids", 1)
        await group.end()
        await group.end()
        await group.aclose()
    await ended(*pids)


async def test_a_stopped_group_is_ended(ended: Callable[..., Any]) -> None:
    """SIGTERM would wait until somebody continues it."""
    async with await processes.start(["sleep", "300"], env=ENVIRONMENT) as group:
        os.kill(group.pgid, signal.SIGSTOP)
        with anyio.fail_after(2):
            await group.end(grace=5)
    assert group.returncode == -signal.SIGTERM


async def test_ending_is_not_interrupted_by_a_cancellation(
    tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any]
) -> None:
    """A47: even when SIGKILL is needed."""
    script = "trap '' TERM; echo $$ >pids; sleep 300"
    with anyio.CancelScope() as scope:
        async with await processes.start(["sh", "-c", script], env=ENVIRONMENT, cwd=tmp_path):
            pids = await pids_in(tmp_path / "pids", 1)
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    await ended(*pids)


async def test_pipes_carry_both_ways() -> None:
    """They are those of `anyio.abc.Process`."""
    async with await processes.start(["cat"], env=ENVIRONMENT) as group:
        assert group.process.stdin is not None
        assert group.process.stdout is not None
        await group.process.stdin.send(b"hello")
        with anyio.fail_after(5):
            assert await group.process.stdout.receive() == b"hello"


@pytest.mark.parametrize(
    ("argv", "cwd", "reason"),
    [
        (["no-such-program"], None, "not installed, or not on PATH"),
        (["./no/such/program"], None, "there is no such file"),
        (["true"], "/no/such/folder", "the folder '/no/such/folder' does not exist"),
        (["/"], None, "may not be executed"),
        (["true", "a\0b"], None, "null byte"),
    ],
)
async def test_what_cannot_be_started_is_said(
    argv: list[str], cwd: str | None, reason: str
) -> None:
    """The message names the program and the reason."""
    with pytest.raises(processes.LaunchError) as caught:
        await processes.start(argv, env=ENVIRONMENT, cwd=cwd)
    assert reason in str(caught.value)
    assert caught.value.program == argv[0]


@pytest.mark.parametrize("strays", [True, False])
async def test_what_has_left_the_group_ends_with_it_where_that_is_asked_for(
    tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any], strays: bool
) -> None:
    """A47: a daemon in a session of its own that ignores SIGTERM."""
    script = "setsid sh -c 'trap \"\" TERM; echo $$ >>pids; sleep 300' & echo $! >/dev/null; wait"
    group = await processes.start(
        ["sh", "-c", script], env=ENVIRONMENT, cwd=tmp_path, strays=strays
    )
    [daemon] = await pids_in(tmp_path / "pids", 1)
    with anyio.fail_after(10):
        await group.end(grace=0.2)
        await group.aclose()
    if not strays:
        os.kill(daemon, 0)
        os.killpg(daemon, signal.SIGKILL)
    await ended(daemon, group.pgid)


def test_what_has_left_a_group_ends_when_we_are_killed() -> None:
    """A47: the supervisor looks for the token that it was told."""
    supervisor = Supervisor()
    token = supervisor.announce()
    environment = {**ENVIRONMENT, TOKEN_VARIABLE: token}
    with (
        subprocess.Popen(["sleep", "300"], env=environment, start_new_session=True) as group,
        subprocess.Popen(["sleep", "300"], env=environment, start_new_session=True) as stray,
    ):
        supervisor.started(token, group.pid, strays=True)
        supervisor.close()
        assert group.wait(5) == -signal.SIGTERM
        assert stray.wait(5) == -signal.SIGTERM


async def test_killing_us_ends_every_group(
    tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any]
) -> None:
    """A47: also with a fork of us alive, which has our descriptors."""
    program = f"""
import anyio, os, sys, time
from hub_servers import processes
async def main():
    for number in range(3):
        script = "sleep 300 & echo $! >>pids; echo $$ >>pids; wait"
        await processes.start(["sh", "-c", script], env=dict(os.environ), cwd={str(tmp_path)!r})
    if os.fork() == 0:
        with open({str(tmp_path / "fork")!r}, "w") as file:
            print(os.getpid(), file=file, flush=True)
            time.sleep(20)
    await anyio.sleep_forever()
anyio.run(main)
"""
    command = [sys.executable, "-c", program]
    process = await anyio.open_process(command, stdout=None, stderr=None, start_new_session=True)
    async with process:
        [fork] = await pids_in(tmp_path / "fork", 1)
        pids = await pids_in(tmp_path / "pids", 6)
        os.kill(process.pid, signal.SIGKILL)
        await ended(process.pid, *pids)
        os.kill(fork, signal.SIGKILL)


def test_a_start_that_was_announced_only_is_found() -> None:
    """A47: we may be killed between the start of a program and its registration."""
    supervisor = Supervisor()
    token = supervisor.announce()
    environment = {**ENVIRONMENT, TOKEN_VARIABLE: token}
    with subprocess.Popen(["sleep", "300"], env=environment, start_new_session=True) as process:
        supervisor.close()
        assert process.wait(5) == -signal.SIGTERM


def test_groups_that_have_ended_are_left_alone() -> None:
    """A supervisor forgets what it was told to forget."""
    supervisor = Supervisor()
    token = supervisor.announce()
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as process:
        supervisor.started(token, process.pid)
        supervisor.ended(process.pid)
        assert supervisor.reaper is not None
        reaper = supervisor.reaper
        supervisor.close()
        os.waitpid(reaper, 0)
        assert process.poll() is None
        process.kill()


def test_a_supervisor_that_was_killed_is_replaced() -> None:
    """The next one knows the groups that are still there."""
    supervisor = Supervisor()
    with (
        subprocess.Popen(["sleep", "300"], start_new_session=True) as first,
        subprocess.Popen(["sleep", "300"], start_new_session=True) as second,
    ):
        supervisor.started(supervisor.announce(), first.pid)
        assert supervisor.reaper is not None
        os.kill(supervisor.reaper, signal.SIGKILL)
        os.waitid(os.P_PID, supervisor.reaper, os.WEXITED | os.WNOWAIT)
        supervisor.started(supervisor.announce(), second.pid)
        supervisor.close()
        assert first.wait(5) == -signal.SIGTERM
        assert second.wait(5) == -signal.SIGTERM


async def test_the_supervisor_holds_nothing_of_ours(eventually: Callable[..., Any]) -> None:
    """No terminal, no pipe but its own, another session."""
    async with await processes.start(["true"], env=ENVIRONMENT) as group:
        await group.wait()
    assert SUPERVISOR.reaper is not None
    folder = Path(f"/proc/{SUPERVISOR.reaper}")
    await eventually(lambda: set(os.listdir(folder / "fd")) == {"0", "1", "2"})  # noqa: PTH208
    held = {number.name: os.readlink(number) for number in (folder / "fd").iterdir()}  # noqa: PTH115
    assert held.pop("0").startswith("pipe:")
    assert set(held.values()) == {"/dev/null"}
    assert os.getsid(SUPERVISOR.reaper) == SUPERVISOR.reaper
    assert os.readlink(folder / "cwd") == "/"  # noqa: PTH115


def test_process_groups_come_without_the_protocol() -> None:
    """Importing them is cheap: `mcp` is not imported, and neither is `hub`."""
    program = (
        "import sys, hub_servers.processes, hub_servers.environment; "
        "sys.exit(bool({'mcp', 'hub', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
