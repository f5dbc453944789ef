"""Cases A4, A20 and A47: the process is killed; nothing stays running, nothing stays open."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hub.testing.faulty.launch import FaultyLog, faulty_command, wait_until_gone
from hub.testing.serving import serve_model
from tests.teams import LIMIT, ask, environment, imbalance, of_type, store, team, whole_log


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    roles = folder / ".hub" / "roles"
    roles.mkdir(parents=True)
    edges = "user_facing: true\ndispatch: [{role: helper, max_parallel: 8}]"
    (roles / "boss.md").write_text(f"---\nname: boss\n{edges}\n---\nYou are boss.\n")
    (roles / "helper.md").write_text("---\nname: helper\ntools: []\n---\nYou are helper.\n")
    return folder


@contextmanager
def hub_run(
    server: Any, workspace: Path, state: Path, *more: str
) -> Iterator[subprocess.Popen[str]]:
    """Start ``hub run`` as a process of its own; it is gone when the block ends."""
    line = [sys.executable, "-m", "hub", "run", "go", "--mode", "bypass", *more]
    with subprocess.Popen(
        line,
        cwd=workspace,
        env=environment(server, state),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def stored(state: Path, kind: str) -> int:
    """Count the stored events of one type, over all sessions."""
    path = state / "state" / "hub.db"
    if not path.exists():
        return 0
    try:
        connection = sqlite3.connect(path, timeout=5)
        [(count,)] = connection.execute("SELECT count(*) FROM events WHERE type = ?", (kind,))
        connection.close()
    except sqlite3.OperationalError:
        return 0
    return int(count)


async def until_stored(state: Path, kind: str, number: int) -> None:
    """Wait until so many events of a type are in the store of another process."""
    with anyio.fail_after(LIMIT):
        while stored(state, kind) < number:  # noqa: ASYNC110 - another process changes the file
            await anyio.sleep(0.02)


def dispatch(task: str) -> dict[str, Any]:
    return {"tool": "dispatch", "args": {"role": "helper", "task": task}}


def parallel_script(last: str) -> dict[str, Any]:
    """Four children: two report at once, two never answer."""
    report = {"tool": "report", "args": {"status": "success", "summary": "{{ task }}"}}
    return {
        "script": 1,
        "agents": {
            "boss": {
                "match": {"system_contains": "You are boss"},
                "turns": [
                    {"calls": [dispatch(t) for t in ("slow 1", "quick 1", "slow 2", "quick 2")]},
                    {"text": last},
                ],
            },
            "slow": {
                "match": {"system_contains": "You are helper", "task_contains": "slow"},
                "turns": [{"text": "never", "wire": {"stall": {"after": "request"}}}],
            },
            "quick": {
                "match": {"system_contains": "You are helper"},
                "turns": [{"calls": [report]}],
            },
        },
    }


async def test_a4_a20_a_run_that_was_killed_goes_on_with_every_pair_and_every_end(
    tmp_path, workspace
):
    """Kill -9 after two of four parallel calls; then resume under the strict server."""
    async with serve_model(parallel_script("all told")) as server:
        with hub_run(server, workspace, tmp_path, "--role", "boss") as process:
            await until_stored(tmp_path, "job.done", 2)
            await until_stored(tmp_path, "report.submitted", 2)
            process.send_signal(signal.SIGKILL)
            await anyio.to_thread.run_sync(process.wait)
        [root] = store(tmp_path).list_sessions()
        before = whole_log(tmp_path, root.id)
        assert len(of_type(before, "job.started")) == 4

        async with team(server, workspace, tmp_path, resume=root.id) as hub:
            result, events = await ask(hub, "go on")
        assert (result.outcome, result.text) == ("done", "all told")
        assert all(record.status == 200 for record in server.requests if record.status)

        log = whole_log(tmp_path, root.id)
        assert not imbalance(log)
        outcomes = sorted(event.outcome for event in of_type(log, "job.done"))
        assert outcomes == ["done", "done", "lost", "lost"]
        [resumed] = of_type(events, "session.resumed")
        sent = [m for m in server.requests[-1].body["messages"] if m["role"] == "tool"]
        assert len(sent) == 4
        assert [("quick" in m["content"]) for m in sent] == [False, True, False, True]
        assert resumed.settled == 4 - len(of_type(before, "tool.result", "boss"))


async def test_a_second_resume_finds_nothing_left_to_settle(tmp_path, workspace):
    """Settling is done once."""
    async with serve_model(parallel_script("one")) as server:
        with hub_run(server, workspace, tmp_path, "--role", "boss") as process:
            await until_stored(tmp_path, "job.done", 2)
            process.send_signal(signal.SIGKILL)
            await anyio.to_thread.run_sync(process.wait)
        [root] = store(tmp_path).list_sessions()
        async with team(server, workspace, tmp_path, resume=root.id):
            pass
        settled = len(whole_log(tmp_path, root.id))
        async with team(server, workspace, tmp_path, resume=root.id):
            pass
        assert len(whole_log(tmp_path, root.id)) == settled


ENDS = ["normal", signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


@pytest.mark.parametrize("end", ENDS, ids=str)
async def test_a47_a_command_and_all_that_it_started_end_with_the_run(tmp_path, workspace, end):
    """However the run ends: no process of the command is left."""
    pids = tmp_path / "pids"
    command = f"sleep 300 & sleep 301 & echo $! $$ >> {pids}; jobs -p >> {pids}; "
    command += "true" if end == "normal" else "wait"
    turns = [{"calls": [{"tool": "shell__run", "args": {"command": command}}]}, {"text": "ok"}]
    async with serve_model({"script": 1, "turns": turns}) as server:
        with hub_run(server, workspace, tmp_path) as process:
            if end == "normal":
                assert await anyio.to_thread.run_sync(process.wait) == 0
            else:
                await until_stored(tmp_path, "tool.ruling", 1)
                await until_written(pids, lines=3)
                process.send_signal(end)
                await anyio.to_thread.run_sync(process.wait)
        with anyio.fail_after(LIMIT):
            for pid in pids.read_text().split():
                await wait_until_gone(int(pid))


async def until_written(path: Path, *, lines: int) -> None:
    """Wait until another process has written so many lines."""
    with anyio.fail_after(LIMIT):
        while not path.exists() or path.read_text().count("\n") < lines:  # noqa: ASYNC110
            await anyio.sleep(0.02)


@pytest.mark.parametrize("end", ENDS, ids=str)
@pytest.mark.parametrize(
    "knobs", [["grandchild"], ["grandchild", "mute"]], ids=["up", "connecting"]
)
async def test_a47_a_server_and_what_it_started_end_with_the_run(tmp_path, workspace, end, knobs):
    """A launcher that forks a sleeper; also while it is still connecting."""
    log = FaultyLog(tmp_path / "server.log")
    command, arguments = faulty_command(*knobs, log=tmp_path / "server.log")
    turns = [{"text": "x" * 90, "wire": {} if end == "normal" else {"stall": {"after": 2}}}]
    flags = [
        *("--set", f"servers.odd.command={command}"),
        *("--set", f"servers.odd.args={json.dumps(arguments)}"),
        *("--set", "servers.odd.start_timeout=2"),
    ]
    async with serve_model({"script": 1, "turns": turns}) as server:
        with hub_run(server, workspace, tmp_path, *flags) as process:
            with anyio.fail_after(LIMIT):
                [spawned] = await log.wait_for("spawned")
                [started] = log.events("start")
            if end == "normal" or "mute" not in knobs:
                await until_stored(tmp_path, "turn.started", 1)
            if end == "normal":
                await anyio.to_thread.run_sync(process.wait)
            else:
                process.send_signal(end)
                await anyio.to_thread.run_sync(process.wait)
        with anyio.fail_after(LIMIT):
            await wait_until_gone(started["pid"])
            await wait_until_gone(spawned["child"])


def test_the_reaper_does_not_outlive_the_run(tmp_path, workspace):
    """Nothing of ours is left after a normal end."""
    script = tmp_path / "s.yaml"
    call = "{tool: shell__run, args: {command: echo hi}}"
    script.write_text(f"script: 1\nturns:\n  - calls: [{call}]\n  - text: a\n")
    marker = f"HUB_TEST_MARK={tmp_path.name}-{os.getpid()}"
    done = subprocess.run(
        ["env", marker, sys.executable, "-m", "hub", "run", "go", "--mode", "bypass"]
        + ["--model", f"script:{script}"],
        cwd=workspace,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    left = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                left.append((entry / "cmdline").read_bytes())
        except OSError:
            continue
    assert left == []
