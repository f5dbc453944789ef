"""How often servers are started: crash loops, single tries, requests from outside."""

from pathlib import Path

import anyio
import pytest

from hub.connections.records import log_paths, read_record, request_restart
from hub.connections.restarts import JITTER, LONGEST, MAX_STARTS, STABLE, WINDOW, Restarts
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.servers import ServerSpec
from hub.testing.clock import FakeClock
from hub.testing.faulty.launch import FaultyLog, wait_until_gone
from tests.connections.pools import Heard, called, echoes, faulty, open_pool


def looping(clock: FakeClock, chance: float = 0.0) -> Restarts:
    """The starts of a server that has just used up its free ones."""
    restarts = Restarts(clock, lambda: chance)
    for _ in range(MAX_STARTS):
        assert restarts.wait() == 0
        restarts.started()
    return restarts


def test_the_time_between_tries_grows_to_a_limit():
    """One try after a minute, then two, four, eight, and a quarter of an hour at most (H10)."""
    clock = FakeClock()
    restarts, waits = looping(clock), []
    for _ in range(6):
        waits.append(restarts.wait())
        clock.advance(restarts.wait())
        restarts.started()
    assert waits == [WINDOW, 120.0, 240.0, 480.0, LONGEST, LONGEST]


def test_chance_shortens_the_pauses_a_little():
    """Several hubs do not try in the same moment (H10)."""
    clock = FakeClock()
    restarts = looping(clock, chance=1.0)
    clock.advance(restarts.wait())
    restarts.started()
    assert restarts.wait() == pytest.approx(2 * WINDOW * (1 - JITTER))


def test_a_stable_period_forgets_what_was():
    """A server that stayed up for a minute may crash five times again (H10, H11)."""
    clock = FakeClock()
    restarts = looping(clock)
    clock.advance(restarts.wait())
    restarts.started()
    restarts.ended(STABLE - 1)
    assert restarts.wait() > 0
    restarts.ended(STABLE)
    assert restarts.wait() == 0
    looping_again = [restarts.started() for _ in range(MAX_STARTS)]
    assert len(looping_again) == MAX_STARTS
    assert restarts.wait() == WINDOW


def test_a_slow_trickle_of_crashes_is_no_loop():
    """One every half a minute is started each time (H11)."""
    clock = FakeClock()
    restarts = Restarts(clock)
    for _ in range(50):
        assert restarts.wait() == 0
        restarts.started()
        restarts.ended(10.0)
        clock.advance(30.0)


def test_a_start_that_ended_idle_does_not_count():
    """Nor does anything before it: the server was healthy (H15)."""
    clock = FakeClock()
    restarts = looping(clock)
    clock.advance(restarts.wait())
    restarts.started()
    restarts.forgive()
    assert restarts.wait() == 0


async def test_a_crash_loop_is_visible_and_ends_when_somebody_asks(tmp_path: Path):
    """State and time of the next try in the record; a request starts it at once (H10)."""
    clock, log, state = FakeClock(), FaultyLog(tmp_path / "log"), tmp_path / "state"
    knobs = (f"starts={tmp_path / 'n'}", "era=both", "exit_on_initialize@1-5=1")
    spec = faulty("bad", *knobs, "exit_on_start@1-5=3", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, clock=clock, state=state) as pool:
        for _ in range(4):
            outcome = await called(pool, "bad", "echo", text="x")
            assert outcome.kind == "server_unavailable"
            assert "did not run" in outcome.text
        assert "hub mcp restart bad" in outcome.text
        record = read_record(state, spec)
        assert record is not None
        assert (record.state, record.starts, record.exit_code) == ("crash-loop", 5, 3)
        assert record.retry_at == pytest.approx(clock.now() + WINDOW)
        assert "no licence file" in record.stderr
        request_restart(state, spec)
        assert await echoes(pool, "bad")
        record = read_record(state, spec)
        assert record is not None
        assert (record.state, record.error) == ("connected", "")
    assert len(log.events("start")) == 6


async def test_a_request_restarts_a_server_that_is_up_while_nobody_calls(tmp_path: Path):
    """It is seen within seconds; a new process takes over (H11)."""
    clock, log, state = FakeClock(), FaultyLog(tmp_path / "log"), tmp_path / "state"
    spec = faulty("a", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, clock=clock, state=state) as pool:
        await called(pool, "a", "login", user="ada")
        (first,) = log.events("start")
        request_restart(state, spec)
        await clock.wait_for_sleepers()
        clock.advance(2.1)
        await wait_until_gone(first["pid"])
        await log.wait_for("start", count=2)
        assert "ada" not in (await called(pool, "a", "whoami")).text
        await clock.wait_for_sleepers()
        clock.advance(2.1)
        assert await echoes(pool, "a")
    assert len(log.events("start")) == 2


async def test_a_call_under_a_restart_learns_why_it_was_lost(tmp_path: Path):
    """It may have run; one that was waiting for the server to come up gets the new one (H12)."""
    log, state = FaultyLog(tmp_path / "log"), tmp_path / "state"
    spec = faulty("a", log=tmp_path / "log")
    texts: list[str] = []
    async with open_pool(spec, workspace=tmp_path, state=state) as pool:
        async with anyio.create_task_group() as group:

            async def slow() -> None:
                texts.append((await called(pool, "a", "slow", seconds=60)).text)

            group.start_soon(slow)
            await log.wait_for("call")
            request_restart(state, spec)
            assert await echoes(pool, "a")
    assert "restarted on request" in texts[0]
    assert "may have run" in texts[0]


async def test_a_request_while_a_server_starts_begins_anew(tmp_path: Path):
    """Those who wait get the second start (H11)."""
    log, state = FaultyLog(tmp_path / "log"), tmp_path / "state"
    spec = faulty("a", f"starts={tmp_path / 'n'}", "mute@1", log=tmp_path / "log")
    answers: list[bool] = []
    async with open_pool(spec, workspace=tmp_path, state=state) as pool:

        async def call() -> None:
            answers.append(await echoes(pool, "a"))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            (first,) = await log.wait_for("start")
            await log.wait_for("request")
            request_restart(state, spec)
            group.start_soon(call)
        assert answers == [True, True]
        await wait_until_gone(first["pid"])


async def test_a_request_from_before_the_hub_is_none(tmp_path: Path):
    """The file stays, and is not taken for a new one by the next hub."""
    log, state = FaultyLog(tmp_path / "log"), tmp_path / "state"
    spec = faulty("a", log=tmp_path / "log")
    request_restart(state, spec)
    async with open_pool(spec, workspace=tmp_path, state=state) as pool:
        assert await echoes(pool, "a")
        assert await echoes(pool, "a")
    assert len(log.events("start")) == 1


async def test_the_record_tells_a_servers_life_and_its_log_what_it_wrote(tmp_path: Path):
    """Secrets are masked in both, and the end of the hub is no failure."""
    state, clock = tmp_path / "state", FakeClock(5_000.0)
    spec = faulty("a", "crash_on_call=7", "server_version=2.0")
    spec = ServerSpec("a", "stdio", command=spec.command, args=spec.args, env={"T": "${env:T}"})

    def resolve(spec: ServerSpec) -> ServerSpec:
        return ServerSpec(
            "a", "stdio", command=spec.command, args=spec.args, env={"T": "its database"}
        )

    async with open_pool(
        spec, workspace=tmp_path, state=state, clock=clock, resolve=resolve
    ) as pool:
        await pool.listing("a")
        record = read_record(state, spec)
        assert record is not None
        assert (record.state, record.version, record.protocol) == ("connected", "2.0", "2025-11-25")
        assert (record.tools, record.prompts, record.resources) == (8, 1, 1)
        assert record.connected == 5_000.0
        assert (await called(pool, "a", "echo", text="x")).kind == "server_lost"
        await pool.link("a").at_rest()
    record = read_record(state, spec)
    assert record is not None
    assert (record.state, record.exit_code) == ("failed", 7)
    assert "lost ${env:T} during echo" in record.stderr
    assert "database" not in record.error
    _, log = log_paths(state, spec)
    assert log.read_text(encoding="utf-8") == "faulty server: lost ${env:T} during echo\n"


async def test_leaving_is_recorded_as_a_stop(tmp_path: Path):
    """Nothing failed."""
    spec, heard = faulty("a"), Heard()
    async with open_pool(spec, workspace=tmp_path, state=tmp_path, heard=heard) as pool:
        assert await echoes(pool, "a")
    record = read_record(tmp_path, spec)
    assert record is not None
    assert (record.state, record.error) == ("stopped", "")
    assert heard.of(ev.ServerFailed) == []


async def test_a_failed_start_says_when_the_loop_begins(tmp_path: Path):
    """Each failure is an event; the refusals in a loop are not (H10)."""
    heard = Heard()
    spec = faulty("bad", "era=both", "exit_on_start=3")
    async with open_pool(spec, workspace=tmp_path, heard=heard, clock=FakeClock()) as pool:
        for _ in range(6):
            with pytest.raises(ServerError):
                await pool.listing("bad")
        assert pool.link("bad").state == "crash-loop"
    assert len(heard.of(ev.ServerFailed)) == 3
