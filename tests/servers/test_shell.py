"""`run` of the server `shell`."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError

from hub_servers import shell
from hub_servers.output import Output

IGNORING = "trap '' TERM; sleep 300 & echo $! >>pids; sleep 300 & echo $! >>pids; echo $$ >>pids; "
"""Starts processes that ignore SIGTERM, and writes down their ids and that of the shell."""


async def test_run_answers_with_output_exit_code_and_duration(
    on_shell: Any, tmp_path: Path
) -> None:
    """Both outputs are merged in order; a code other than 0 is an answer, not an error."""
    data = await on_shell.data("run", command="echo out; echo err >&2; exit 3")
    assert data["output"] == "out\nerr\n"
    assert data["exit_code"] == 3
    assert not data["timed_out"]
    assert not data["truncated"]
    assert 0 <= data["seconds"] < 5
    text = await on_shell("run", command="pwd")
    assert text.startswith("[exit 0, ")
    assert text.endswith(f"]\n{tmp_path}\n")
    assert ", no output]" in await on_shell("run", command="true")


async def test_run_names_the_signal_that_ended_a_command(on_shell: Any) -> None:
    """The code is the one that a shell would show."""
    result = await on_shell.result("run", command="kill -9 $$")
    assert result.structured_content["exit_code"] == 137
    assert "exit 137 (SIGKILL)" in result.content[0].text


async def test_run_starts_in_a_folder_of_the_root(on_shell: Any, tmp_path: Path) -> None:
    """And in no other."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "out").symlink_to("/")
    assert (await on_shell.data("run", command="pwd", cwd="sub"))["output"] == f"{tmp_path}/sub\n"
    assert "outside the root" in await on_shell.refused("run", command="pwd", cwd="..")
    assert "symbolic link" in await on_shell.refused("run", command="pwd", cwd="out")
    assert "'gone' is not a folder" in await on_shell.refused("run", command="pwd", cwd="gone")


async def test_run_reads_nothing_and_has_no_terminal(on_shell: Any) -> None:
    """A command that asks gets the end of its input at once."""
    data = await on_shell.data("run", command="cat; test -t 0 || (: </dev/tty) 2>&1 || echo none")
    assert data["output"].endswith("none\n")


async def test_run_refuses_what_cannot_be_run(on_shell: Any) -> None:
    """Each with the reason."""
    assert "null byte" in await on_shell.refused("run", command="a\0b")
    assert "too long" in await on_shell.refused("run", command="x" * 200_000)
    for timeout in (0, -1, 1e9):
        assert "timeout must be" in await on_shell.refused("run", command="true", timeout=timeout)


async def test_the_environment_is_what_the_allow_list_says(
    tmp_path: Path, mode: str, caller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H49: no secret of ours reaches a command unless it is named."""
    monkeypatch.setenv("MY_SECRET_KEY", "hidden")
    monkeypatch.setenv("LC_TEST", "kept")
    monkeypatch.setenv("EXTRA_ONE", "named")
    server = shell.create_server(tmp_path, env=["EXTRA_*", "SET=to=this"])
    async with Client(server, mode=mode) as client:
        lines = (await caller(client).data("run", command="env"))["output"].split("\n")
    names = {line.split("=")[0] for line in lines}
    assert "MY_SECRET_KEY" not in names
    assert {"LC_TEST=kept", "EXTRA_ONE=named", "SET=to=this"} <= set(lines)
    allowed = {"PATH", "HOME", "LANG", "TERM", "TZ", "USER", "SHELL", "TMPDIR"}
    by_bash = {"PWD", "OLDPWD", "SHLVL", "_", ""}
    ours = {"HUB_PROCESS_GROUP", "EXTRA_ONE", "SET"}
    rest = {name for name in names - allowed - by_bash - ours if not name.startswith("LC_")}
    assert not rest


async def test_long_output_keeps_head_and_tail(on_shell: Any) -> None:
    """A12: and it is cut between characters."""
    data = await on_shell.data("run", command="echo first; yes 😀 | head -n 200000; echo last")
    assert data["truncated"]
    assert data["output"].startswith("first\n😀\n")
    assert data["output"].endswith("😀\nlast\n")
    assert "\ufffd" not in data["output"]
    assert len(data["output"]) < shell.OUTPUT_CHARS + 100


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.integers(1, 7))
def test_output_is_the_same_however_it_is_split(text: str, size: int) -> None:
    """A12: a character may come in several pieces."""
    data = text.encode()
    output = Output(30)
    for start in range(0, len(data), size):
        output.feed(data[start : start + size])
    output.feed(b"", final=True)
    if len(text) <= 30:
        assert output.text() == text
    else:
        left_out = len(text) - 30
        assert output.text() == (f"{text[:10]}\n[… {left_out} characters left out …]\n{text[-20:]}")


async def test_background_processes_end_with_the_command(
    on_shell: Any, tmp_path: Path, ended: Callable[..., Any]
) -> None:
    """A47: and nobody waits for them."""
    began = time.monotonic()
    data = await on_shell.data("run", command="sleep 300 & echo $!; (sleep 300 & echo $!) ; exit 0")
    assert time.monotonic() - began < 5
    await ended(*map(int, data["output"].split()))


async def test_a_command_that_times_out_is_ended_with_all_its_processes(
    on_shell: Any, tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any]
) -> None:
    """A47: also those that ignore SIGTERM; what was written until then is kept."""
    command = f"{IGNORING} echo partial; sleep 300"
    result = await on_shell.result("run", command=command, timeout=0.5)
    assert result.is_error
    assert result.structured_content["timed_out"]
    assert result.structured_content["output"] == "partial\n"
    assert "timed out after 0.5 s" in result.content[0].text
    await ended(*await pids_in(tmp_path / "pids", 3))


async def test_a_cancelled_command_is_ended_with_all_its_processes(
    on_shell: Any, tmp_path: Path, ended: Callable[..., Any], pids_in: Callable[..., Any]
) -> None:
    """A47: and the connection goes on working."""
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await on_shell("run", command=f"{IGNORING} wait")

        tasks.start_soon(run)
        pids = await pids_in(tmp_path / "pids", 3)
        tasks.cancel_scope.cancel()
    await ended(*pids)
    assert "again" in await on_shell("run", command="echo again")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_processes_end_when_the_server_is_killed(
    number: int,
    tmp_path: Path,
    over_stdio: Callable[..., Client],
    ended: Callable[..., Any],
    pids_in: Callable[..., Any],
    children_of: Callable[[int, str], list[int]],
) -> None:
    """A47: the supervisor does it, and ends itself."""
    with anyio.fail_after(20):
        async with over_stdio("shell") as client, anyio.create_task_group() as tasks:

            async def run() -> None:
                command = f"echo $PPID >server; {IGNORING} wait"
                with pytest.raises(MCPError):
                    await client.call_tool("run", {"command": command})

            tasks.start_soon(run)
            pids = await pids_in(tmp_path / "pids", 3)
            [server] = await pids_in(tmp_path / "server", 1)
            [supervisor] = children_of(server, "reaper")
            os.kill(server, number)
            await ended(server, *pids, supervisor)


async def test_processes_end_when_the_client_goes_away(
    tmp_path: Path,
    over_stdio: Callable[..., Client],
    ended: Callable[..., Any],
    pids_in: Callable[..., Any],
) -> None:
    """A47: the end of the input cancels what runs."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:

            async def serve() -> None:
                async with over_stdio("shell") as client:
                    await client.call_tool("run", {"command": f"{IGNORING} wait"})

            tasks.start_soon(serve)
            pids = await pids_in(tmp_path / "pids", 3)
            tasks.cancel_scope.cancel()
        await ended(*pids)


async def test_progress_tells_the_last_line_each_second(tmp_path: Path, mode: str) -> None:
    """A client that asked for it sees that the command is alive."""
    heard: list[tuple[float, str | None]] = []
    done = anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        done.set()

    with anyio.fail_after(10):
        async with Client(shell.create_server(tmp_path), mode=mode) as client:
            command = "printf 'one\\ntwo\\n\\n'; while ! test -e go; do sleep 0.05; done"
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    arguments = {"command": command}
                    await client.call_tool("run", arguments, progress_callback=hear)

                tasks.start_soon(run)
                await done.wait()
                (tmp_path / "go").touch()
    assert heard[0][1] == "two"
    assert heard[0][0] >= 1.0


async def test_a_process_that_leaves_its_group_does_not_hold_the_call(
    on_shell: Any, tmp_path: Path, pids_in: Callable[..., Any]
) -> None:
    """It is out of reach, but its grip on the output does not matter."""
    began = time.monotonic()
    escape = "setsid sh -c 'echo $$ >>pids; exec sleep 60' &"
    await on_shell("run", command=f"{escape} while ! test -s pids; do sleep 0.01; done")
    assert time.monotonic() - began < 5
    for pid in await pids_in(tmp_path / "pids", 1):
        os.kill(pid, signal.SIGKILL)


def test_a_wrong_default_timeout_is_refused(tmp_path: Path) -> None:
    """Before anything is served."""
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            shell.create_server(tmp_path, default_timeout=timeout)
