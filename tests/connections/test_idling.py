"""Servers that nobody needs are stopped, and are back with the next call."""

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from hub.connections.records import read_record
from hub.core import events as ev
from hub.core.servers import ServerSpec
from hub.testing.clock import FakeClock
from hub.testing.faulty.launch import FaultyLog, faulty_http, wait_until_gone
from tests.connections.pools import Heard, called, context, echoes, faulty, open_pool, over_http

IDLE = 60.0


def idle(spec: ServerSpec, **changes: object) -> ServerSpec:
    """The same server, stopped after a minute without a call."""
    return replace(spec, idle_timeout=IDLE, **changes)


async def test_an_idle_server_is_stopped_and_its_catalog_is_still_served(tmp_path: Path):
    """The process goes, the list stays, nothing is reported as failed (H15)."""
    log, clock, heard = FaultyLog(tmp_path / "log"), FakeClock(), Heard()
    spec = idle(faulty("a", log=tmp_path / "log"))
    async with open_pool(spec, workspace=tmp_path, clock=clock, heard=heard) as pool:
        before = await pool.listing("a")
        assert await echoes(pool, "a")
        (start,) = log.events("start")
        await clock.wait_for_sleepers()
        clock.advance(IDLE + 1)
        await wait_until_gone(start["pid"])
        await pool.link("a").at_rest()
        assert pool.link("a").state == "idle"
        assert await pool.listing("a") == before
        assert len(log.events("start")) == 1
        assert await echoes(pool, "a")
        assert len(log.events("start")) == 2
    assert [type(event) for event in heard.events] == [ev.ServerConnected, ev.ServerConnected]


async def test_each_call_puts_the_stop_off(tmp_path: Path):
    """The time counts from the end of the last call (H15)."""
    log, clock = FaultyLog(tmp_path / "log"), FakeClock()
    spec = idle(faulty("a", log=tmp_path / "log"))
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
        for _ in range(4):
            assert await echoes(pool, "a")
            await clock.wait_for_sleepers()
            clock.advance(IDLE - 1)
        assert len(log.events("start")) == 1


async def test_a_call_in_flight_keeps_its_server_up(tmp_path: Path):
    """However long it takes; what counts is when it ends (H15, H23)."""
    log, clock = FaultyLog(tmp_path / "log"), FakeClock()
    spec = idle(faulty("a", "call_delay=0.5", log=tmp_path / "log"))
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
        await pool.listing("a")
        async with anyio.create_task_group() as group:
            group.start_soon(echoes, pool, "a")
            await log.wait_for("call")
            for _ in range(5):
                await clock.wait_for_sleepers()
                clock.advance(IDLE + 1)
        await clock.wait_for_sleepers()
        clock.advance(IDLE - 1)
        assert pool.link("a").state == "connected"
        assert len(log.events("start")) == 1


async def test_stops_while_idle_are_no_crash_loop(tmp_path: Path):
    """Ten rounds in no time at all, and every call is answered (H10, H15)."""
    log, clock = FaultyLog(tmp_path / "log"), FakeClock()
    spec = replace(faulty("a", log=tmp_path / "log"), idle_timeout=1.0)
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
        for _ in range(7):
            assert await echoes(pool, "a")
            await clock.wait_for_sleepers()
            clock.advance(1.1)
            await pool.link("a").at_rest()
        assert pool.link("a").state == "idle"
    assert len(log.events("start")) == 7


@pytest.mark.parametrize("changes", [{"stateful": "shared"}, {"stateful": "per-agent"}])
async def test_a_server_that_remembers_things_is_not_stopped(
    tmp_path: Path, changes: dict[str, str]
):
    """What it was told would be lost (H14, H15)."""
    clock = FakeClock()
    async with open_pool(idle(faulty("a"), **changes), workspace=tmp_path, clock=clock) as pool:
        await called(pool, "a", "login", user="ada")
        clock.advance(100 * IDLE)
        await anyio.wait_all_tasks_blocked()
        assert "ada" in (await called(pool, "a", "whoami")).text


async def test_an_idle_session_over_http_is_ended(tmp_path: Path):
    """The server is told, and the next call opens a new one (H15)."""
    log, clock = FaultyLog(tmp_path / "log"), FakeClock()
    async with faulty_http(log=tmp_path / "log") as url:
        spec = idle(over_http("a", url))
        async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
            assert await echoes(pool, "a")
            await clock.wait_for_sleepers()
            clock.advance(IDLE + 1)
            await log.wait_for("http", method="DELETE")
            assert await echoes(pool, "a")
    assert len(log.events("request", method="initialize")) == 2


async def test_calls_that_meet_a_server_going_idle_wait_for_the_next_start(tmp_path: Path):
    """None of them is lost in between (H15)."""
    clock = FakeClock()
    spec = idle(faulty("a", "ignore_eof", "ignore_term"))
    outcomes: list[bool] = []
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
        assert await echoes(pool, "a")
        await clock.wait_for_sleepers()
        clock.advance(IDLE + 1)

        async def one() -> None:
            outcomes.append(not (await pool.call("a", "whoami", {}, context())).is_error)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)
    assert outcomes == [True] * 5


async def test_the_record_says_that_it_is_idle_and_when_it_was_used(tmp_path: Path):
    """For whoever looks at it from outside (H15)."""
    clock = FakeClock(1_000.0)
    spec = idle(faulty("a"))
    async with open_pool(spec, workspace=tmp_path, clock=clock, state=tmp_path / "state") as pool:
        assert await echoes(pool, "a")
        await clock.wait_for_sleepers(2)
        clock.advance(IDLE)
        await pool.link("a").at_rest()
        record = read_record(tmp_path / "state", spec)
    assert record is not None
    assert (record.state, record.tools, record.starts) == ("idle", 8, 0)
    assert (record.used, record.ended) == (1_000.0, 1_000.0 + IDLE)
