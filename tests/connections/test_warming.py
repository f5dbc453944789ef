"""Servers that start slowly: reported in time, not killed, and used as soon as they answer."""

from pathlib import Path

import anyio
import anyio.abc
import pytest

from hub.connections.records import read_record
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.testing.faulty.launch import FaultyLog, faulty_http, wait_until_gone
from tests.connections.pools import Heard, called, echoes, faulty, open_pool, over_http


async def test_a_slow_start_goes_on_behind_the_backs_of_those_who_wait(tmp_path: Path):
    """One process: failed at its limit, connected when it answers, the catalog told (H2, H4)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty("slow", "era=both", "initialize_delay=1.5", log=tmp_path / "log", start=0.5)
    async with open_pool(spec, workspace=tmp_path, heard=heard, state=tmp_path) as pool:
        with pytest.raises(ServerError, match=r"within 0.5 s.*in the background"):
            await pool.listing("slow")
        assert pool.link("slow").state == "warming"
        record = read_record(tmp_path, spec)
        assert record is not None
        assert record.state == "warming"
        (change,) = await heard.wait_for(ev.CatalogChanged)
        assert len(change.added) == len((await pool.listing("slow")).tools) == 8
        assert await echoes(pool, "slow")
    kinds = [type(event) for event in heard.events]
    assert kinds == [ev.ServerFailed, ev.ServerConnected, ev.CatalogChanged]
    assert len(log.events("start")) == 1


async def test_nobody_waits_for_the_limit_a_second_time(tmp_path: Path):
    """While it is warming, calls are refused at once; the good one is served (H1, H2)."""
    spec = faulty("mute", "mute", start=1.0)
    async with open_pool(spec, faulty("good"), workspace=tmp_path) as pool:
        assert (await called(pool, "mute", "echo", text="x")).kind == "server_unavailable"
        began = anyio.current_time()
        for _ in range(5):
            outcome = await called(pool, "mute", "echo", text="x")
            assert outcome.kind == "server_unavailable"
            assert "did not run" in outcome.text
        assert anyio.current_time() - began < 0.5
        assert await echoes(pool, "good")


async def test_a_server_that_never_answers_is_given_up_and_then_tried_behind_the_scenes(
    tmp_path: Path,
):
    """Ten times its limit, then it is ended; the next try is not waited for as long (H1, H2)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty("mute", "mute", log=tmp_path / "log", start=0.4)
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        assert (await called(pool, "mute", "echo", text="x")).is_error
        late, given_up = await heard.wait_for(ev.ServerFailed, 2)
        assert "within 0.4 s" in late.error
        assert "in the background" in late.error
        assert "within 4 s" in given_up.error
        assert "start_timeout" in given_up.error
        (start,) = log.events("start")
        await wait_until_gone(start["pid"])
        again = await called(pool, "mute", "echo", text="x")
        assert "within 0.4 s" in again.text
        assert pool.link("mute").state == "warming"
        await log.wait_for("start", count=2)


async def test_a_slow_server_over_http_joins_too(tmp_path: Path):
    """The same over streamable HTTP (H2)."""
    heard = Heard()
    async with faulty_http("initialize_delay=1.5") as url:
        spec = over_http("slow", url, start=0.5)
        async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
            assert not await echoes(pool, "slow")
            await heard.wait_for(ev.ServerConnected)
            assert await echoes(pool, "slow")


async def test_a_second_start_is_fast_when_the_first_was_let_finish(tmp_path: Path):
    """A server that fills its cache the first time is not kept from it (H2)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    knobs = (f"starts={tmp_path / 'n'}", "era=both", "initialize_delay@1=1.5")
    spec = faulty("slow", *knobs, log=tmp_path / "log", start=0.5)
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        assert not await echoes(pool, "slow")
        await heard.wait_for(ev.ServerConnected)
        assert (await called(pool, "slow", "crash", code=1)).kind == "server_lost"
        await pool.link("slow").at_rest()
        assert await echoes(pool, "slow")
    assert len(log.events("start")) == 2


async def test_leaving_ends_a_server_that_is_still_warming(tmp_path: Path):
    """With all that it has started (H9, A47)."""
    log = FaultyLog(tmp_path / "log")
    knobs = ("mute", "grandchild=group", "ignore_eof", "ignore_term")
    spec = faulty("slow", *knobs, log=tmp_path / "log", start=0.5)
    async with open_pool(spec, workspace=tmp_path) as pool:
        assert not await echoes(pool, "slow")
        (spawned,) = await log.wait_for("spawned")
        began = anyio.current_time()
    assert anyio.current_time() - began < 3.0
    with anyio.fail_after(5):
        await wait_until_gone(spawned["child"])
        await wait_until_gone(spawned["pid"])


async def test_servers_that_list_slowly_start_together(tmp_path: Path):
    """Five servers of a second each take about a second, and nothing once they are up (H29)."""
    specs = [faulty(f"s{number}", "list_delay=1") for number in range(5)]
    async with open_pool(*specs, workspace=tmp_path) as pool:

        async def list_all() -> float:
            began = anyio.current_time()
            async with anyio.create_task_group() as group:
                for spec in specs:
                    group.start_soon(pool.listing, spec.name)
            return anyio.current_time() - began

        assert 1.0 <= await list_all() < 3.0
        assert await list_all() < 0.05


async def test_an_address_that_swallows_everything_is_waited_for_once(tmp_path: Path):
    """Connecting takes all of the limit; the next call does not wait that long again (H1)."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        spec = over_http("mute", f"http://127.0.0.1:{port}/mcp", start=3.0)
        async with open_pool(spec, faulty("good"), workspace=tmp_path) as pool:
            assert (await called(pool, "mute", "echo", text="x")).kind == "server_unavailable"
            began = anyio.current_time()
            for _ in range(3):
                outcome = await called(pool, "mute", "echo", text="x")
                assert outcome.kind == "server_unavailable"
            assert anyio.current_time() - began < 2.0
            assert await echoes(pool, "good")
