"""How servers end: together, in bounded time, and with all that they started."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from hub.connections.pool import ServerPool
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.testing.faulty.launch import FaultyLog, is_running, wait_until_gone
from tests.connections.pools import bundled, called, context, echoes, faulty, open_pool


async def test_obedient_servers_end_quickly(tmp_path: Path):
    """Closing their input is enough; nobody is waited for longer than it takes (H9)."""
    specs = [faulty(f"s{n}") for n in range(3)] + [bundled("notes")]
    async with open_pool(*specs, workspace=tmp_path) as pool:
        for spec in specs:
            await pool.listing(spec.name)
        began = anyio.current_time()
    assert anyio.current_time() - began < 1.0


async def test_stubborn_servers_end_together_and_in_bounded_time(tmp_path: Path):
    """Three that ignore end of input and SIGTERM take no longer than one, at most 3 s (H9)."""
    log = FaultyLog(tmp_path / "log")
    specs = [faulty(f"s{n}", "ignore_eof", "ignore_term", log=tmp_path / "log") for n in range(3)]
    async with open_pool(*specs, workspace=tmp_path) as pool:
        pool.warm()
        for spec in specs:
            await pool.listing(spec.name)
        began = anyio.current_time()
    assert anyio.current_time() - began < 3.0
    for event in log.events("start"):
        assert not is_running(event["pid"])


async def test_leaving_while_servers_are_still_connecting(tmp_path: Path):
    """One mute, one slow to read, one up: all are gone afterwards (A47)."""
    log = FaultyLog(tmp_path / "log")
    specs = [
        faulty("mute", "mute", "ignore_eof", "ignore_term", log=tmp_path / "log"),
        faulty("slow", "slow_start=30", log=tmp_path / "log"),
        faulty("good", log=tmp_path / "log"),
    ]
    async with open_pool(*specs, workspace=tmp_path) as pool:
        pool.warm()
        assert await echoes(pool, "good")
        await log.wait_for("start", count=3)
        began = anyio.current_time()
    assert anyio.current_time() - began < 3.0
    for event in log.events("start"):
        assert not is_running(event["pid"])


async def test_whoever_waits_when_the_pool_closes_is_told(tmp_path: Path):
    """A caller of a server that never came up gets an outcome, not silence (H1)."""
    outcomes, errors = [], []
    async with (
        anyio.create_task_group() as group,
        open_pool(faulty("mute", "mute"), workspace=tmp_path) as pool,
    ):

        async def call() -> None:
            outcomes.append(await called(pool, "mute", "echo", text="x"))

        async def ask() -> None:
            with pytest.raises(ServerError) as caught:
                await pool.listing("mute")
            errors.append(caught.value)

        group.start_soon(call)
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
    assert [outcome.kind for outcome in outcomes] == ["server_unavailable"]
    assert "is being stopped" in str(errors[0])


async def test_a_closed_pool_starts_nothing(tmp_path: Path):
    """A call that comes too late is refused at once."""
    log = FaultyLog(tmp_path / "log")
    async with open_pool(faulty("a", log=tmp_path / "log"), workspace=tmp_path) as pool:
        pass
    with anyio.fail_after(5):
        outcome = await pool.call("a", "echo", {"text": "x"}, context())
    assert outcome.kind == "server_unavailable"
    assert log.events("start") == []


@pytest.mark.parametrize("moment", ["connected", "connecting"])
async def test_grandchildren_end_with_their_server(tmp_path: Path, moment: str):
    """A launcher that forks something which ignores SIGTERM and keeps its pipes (A47, H9)."""
    log = FaultyLog(tmp_path / "log")
    knobs = ["grandchild=group", "ignore_eof", "ignore_term"]
    knobs += ["mute"] if moment == "connecting" else []
    async with open_pool(faulty("a", *knobs, log=tmp_path / "log"), workspace=tmp_path) as pool:
        pool.warm()
        if moment == "connected":
            assert await echoes(pool, "a")
        (spawned,) = await log.wait_for("spawned")
    with anyio.fail_after(5):
        await wait_until_gone(spawned["child"])


async def test_grandchildren_of_a_server_that_died_are_ended_too(tmp_path: Path):
    """The server exits by itself in the middle of a run (A47)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "grandchild=group", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        began = anyio.current_time()
        outcome = await called(pool, "a", "crash", code=3)
        assert "exit code 3" in outcome.text
        assert anyio.current_time() - began < 5
        (spawned,) = log.events("spawned")
        await wait_until_gone(spawned["child"])


async def test_a_reload_leaves_neither_descendants_nor_zombies(tmp_path: Path):
    """A server that ignores everything is restarted three times; each life ends whole (H9)."""
    log = FaultyLog(tmp_path / "log")
    knobs = ("grandchild=session", "ignore_eof", "ignore_term")
    async with open_pool(faulty("a", *knobs, log=tmp_path / "log"), workspace=tmp_path) as pool:
        for turn in range(1, 4):
            await pool.listing("a")
            spawned = await log.wait_for("spawned", count=turn)
            pool.link("a").restart()
            with anyio.fail_after(10):
                await wait_until_gone(spawned[-1]["pid"])
                await wait_until_gone(spawned[-1]["child"])
            await log.wait_for("start", count=turn + 1)
        ours = {event["pid"] for event in log.events("start")}
        assert not ours & zombies()
    with anyio.fail_after(10):
        for event in log.events("spawned"):
            await wait_until_gone(event["pid"])
            await wait_until_gone(event["child"])


def zombies() -> set[int]:
    """The children of this process that have ended and were not waited for."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == os.getpid():
            found.add(int(entry.parent.name))
    return found


DRIVER = """
import os, sys
from pathlib import Path
import anyio
from tests.connections.pools import faulty, open_pool
async def main():
    spec = faulty("a", *sys.argv[2:], log=Path(sys.argv[1]))
    async with open_pool(spec, workspace=Path(sys.argv[1]).parent) as pool:
        pool.warm()
        await anyio.sleep(60)
anyio.run(main)
"""


@pytest.mark.parametrize("moment", ["connected", "connecting"])
async def test_a_kill_of_the_hub_itself_leaves_nobody_behind(tmp_path: Path, moment: str):
    """SIGKILL, with servers that ignore the end of their input and SIGTERM (A47, H9)."""
    log = FaultyLog(tmp_path / "log")
    knobs = ["grandchild=group", "ignore_eof", "ignore_term"]
    knobs += ["mute"] if moment == "connecting" else []
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "log"), *knobs]
    hub = await anyio.open_process(command, cwd=root, stdin=None, stdout=None, stderr=None)
    try:
        with anyio.fail_after(20):
            (spawned,) = await log.wait_for("spawned")
            if moment == "connected":
                await log.wait_for("request", method="tools/list")
            hub.kill()
            await hub.wait()
            await wait_until_gone(spawned["child"])
            await wait_until_gone(spawned["pid"])
    finally:
        if hub.returncode is None:
            hub.kill()
        log.end_spawned()


async def test_a_cancelled_pool_ends_its_servers(tmp_path: Path):
    """A cancellation from outside, as of Ctrl-C, shields the end of processes (A47)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", log=tmp_path / "log")
    with anyio.CancelScope() as scope:
        async with ServerPool(
            [spec],
            workspace=tmp_path,
            env=os.environ,
            resolve=lambda spec: spec,
            emit=lambda event: None,
            clock=SystemClock(),
        ) as pool:
            with anyio.fail_after(10):
                await pool.listing("a")
            scope.cancel()
            await anyio.sleep(60)
    (start,) = log.events("start")
    assert not is_running(start["pid"])


KILL_DRIVER = """
import sys
from pathlib import Path
import anyio
from msgspec.structs import replace
from hub.testing.clock import FakeClock
from tests.connections.pools import called_by, faulty, open_pool
async def main():
    log, mode, *knobs = sys.argv[1:]
    spec = faulty("a", *knobs, log=Path(log), start=0.2 if mode == "warming" else 15)
    clock = None
    if mode == "agents":
        spec = replace(spec, stateful="per-agent")
    if mode == "idle":
        spec, clock = replace(spec, idle_timeout=60.0), FakeClock()
    async with open_pool(spec, workspace=Path(log).parent, clock=clock) as pool:
        if mode == "starting":
            pool.warm()
        else:
            for agent in ("lead", "lead/worker#1"):
                await called_by(pool, agent, "a", "whoami")
        if clock is not None:
            await clock.wait_for_sleepers()
            clock.advance(61)
        print("ready", flush=True)
        await anyio.sleep(60)
anyio.run(main)
"""


@pytest.mark.parametrize("mode", ["starting", "warming", "agents", "idle"])
async def test_a_kill_of_the_hub_leaves_nobody_behind_in_any_state(tmp_path: Path, mode: str):
    """Between fork and handshake, late, one process an agent, on the way to idle (H9, A47)."""
    log = FaultyLog(tmp_path / "log")
    knobs = ["grandchild=group", "ignore_eof", "ignore_term"]
    knobs += ["mute"] if mode == "warming" else ["slow_start=30"] if mode == "starting" else []
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILL_DRIVER, str(tmp_path / "log"), mode, *knobs]
    hub = await anyio.open_process(command, cwd=root, stdin=None, stderr=None)
    try:
        with anyio.fail_after(25):
            assert hub.stdout is not None
            assert (await hub.stdout.receive()).startswith(b"ready")
            spawned = await log.wait_for("spawned", count=2 if mode == "agents" else 1)
            hub.kill()
            await hub.wait()
            for event in spawned:
                await wait_until_gone(event["child"])
                await wait_until_gone(event["pid"])
    finally:
        if hub.returncode is None:
            hub.kill()
        await hub.aclose()
        log.end_spawned()


async def test_the_hub_killed_in_the_moment_of_a_start_leaves_nobody_behind(tmp_path: Path):
    """SIGKILL as soon as the first byte of the server's life is seen (H9)."""
    root = Path(__file__).parents[2]
    for turn in range(2):
        log = FaultyLog(tmp_path / f"log{turn}")
        knobs = ["ignore_eof", "ignore_term", "slow_start=30"]
        command = [sys.executable, "-c", KILL_DRIVER, str(tmp_path / f"log{turn}"), "starting"]
        hub = await anyio.open_process([*command, *knobs], cwd=root, stdin=None, stderr=None)
        with anyio.fail_after(20):
            (start,) = await log.wait_for("start")
            hub.kill()
            await hub.aclose()
            await wait_until_gone(start["pid"])
