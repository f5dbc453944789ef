"""The same fault over stdio and over HTTP: what is right does not depend on the transport."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import pytest

from hub.connections.changes import FIRST_PAUSE
from hub.connections.pool import ServerPool
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.testing.faulty.launch import FaultyLog, faulty_http
from tests.connections.pools import (
    Heard,
    called,
    context,
    echoes,
    faulty,
    open_pool,
    over_http,
)

Transport = Literal["stdio", "http"]
ALL = {"echo", "add", "slow", "crash", "env", "spawn", "login", "whoami"}

pytestmark = pytest.mark.parametrize("transport", ["stdio", "http"])


@asynccontextmanager
async def both(
    tmp_path: Path,
    transport: Transport,
    *knobs: str,
    heard: Heard | None = None,
    start: float = 15,
    call: float = 15,
) -> AsyncIterator[tuple[ServerPool, FaultyLog]]:
    """A pool with a good server, ``good``, and one with these knobs, ``bad``, and its log."""
    log = tmp_path / "log"
    good = faulty("good")
    if transport == "stdio":
        bad = faulty("bad", *knobs, log=log, start=start, call=call)
        async with open_pool(bad, good, workspace=tmp_path, heard=heard) as pool:
            yield pool, FaultyLog(log)
    else:
        async with faulty_http(*knobs, log=log) as url:
            bad = over_http("bad", url, start=start, call=call)
            async with open_pool(bad, good, workspace=tmp_path, heard=heard) as pool:
                yield pool, FaultyLog(log)


@pytest.mark.parametrize("knob", ["mute", "initialize_never", "list_never"])
async def test_a_silent_server_costs_only_itself(tmp_path: Path, transport: Transport, knob: str):
    """The good one answers while the silent one is waited for; its limit is its own (H1)."""
    async with both(tmp_path, transport, knob, start=1.0) as (pool, _):
        pool.warm()
        with anyio.fail_after(5):
            assert await echoes(pool, "good")
        with pytest.raises(ServerError, match="start_timeout"):
            await pool.listing("bad")


async def test_a_greeting_may_take_its_time(tmp_path: Path, transport: Transport):
    """A second and a half is nothing odd (H3)."""
    async with both(tmp_path, transport, "initialize_delay=1.5") as (pool, _):
        assert await echoes(pool, "bad")


async def test_tools_that_come_late_are_told(tmp_path: Path, transport: Transport):
    """A list that was early is followed by a complete one (H4)."""
    heard = Heard()
    async with both(tmp_path, transport, "late_tools=0.5", heard=heard) as (pool, _):
        early = {tool.name for tool in (await pool.listing("bad")).tools}
        (change,) = await heard.wait_for(ev.CatalogChanged)
        assert change.added
        late = {tool.name for tool in (await pool.listing("bad")).tools}
        assert late == early | set(change.added)


@pytest.mark.parametrize("knob", ["list_error=-32603", "initialize_error=-32603"])
async def test_a_refusing_server_costs_only_itself(tmp_path: Path, transport: Transport, knob: str):
    """Its error is named, the neighbour's tools are all there (H5)."""
    async with both(tmp_path, transport, knob) as (pool, _):
        with pytest.raises(ServerError, match="bad"):
            await pool.listing("bad")
        assert {tool.name for tool in (await pool.listing("good")).tools} == ALL


@pytest.mark.parametrize("knob", ["ping_unsupported", "ping_never"])
async def test_a_server_without_ping_stays_connected(
    tmp_path: Path, transport: Transport, knob: str
):
    """One start, whatever it thinks of pings (H8)."""
    async with both(tmp_path, transport, knob) as (pool, log):
        for _ in range(3):
            assert await echoes(pool, "bad")
        assert len(log.events("start")) == 1


async def test_calls_of_all_agents_reach_one_session(tmp_path: Path, transport: Transport):
    """Who has logged in stays logged in (H13, H14)."""
    async with both(tmp_path, transport) as (pool, log):
        await called(pool, "bad", "login", user="ada")
        assert "ada" in (await called(pool, "bad", "whoami")).text
        assert len(log.events("start")) == 1


@pytest.mark.parametrize(
    "knob", ["pages=2", "empty_page", "empty_cursor=middle", "empty_cursor=last"]
)
async def test_all_pages_are_read(tmp_path: Path, transport: Transport, knob: str):
    """Small pages, empty pages, empty cursors (H19)."""
    async with both(tmp_path, transport, knob) as (pool, _):
        assert {tool.name for tool in (await pool.listing("bad")).tools} == ALL


async def test_a_cursor_that_repeats_ends_the_list(tmp_path: Path, transport: Transport):
    """With a warning (H19)."""
    async with both(tmp_path, transport, "repeat_cursor") as (pool, _):
        warnings = (await pool.listing("bad")).warnings
        assert any("repeats its cursor" in text for text in warnings)


async def test_a_storm_of_announcements_is_one_listing(tmp_path: Path, transport: Transport):
    """Two hundred in one call, and nothing new: two more lists at most (H20)."""
    heard = Heard()
    async with both(tmp_path, transport, "list_changed_storm=200", heard=heard) as (pool, log):
        await called(pool, "bad", "echo", text="x")
        await log.wait_for("request", count=2, method="tools/list")
        assert len(log.events("request", method="tools/list")) <= 3
        assert heard.of(ev.CatalogChanged) == []


async def test_an_announcement_inside_of_each_listing_does_not_go_on_for_ever(
    tmp_path: Path, transport: Transport
):
    """The list causes the announcement: two more lists, then quiet (H20)."""
    heard = Heard()
    async with both(tmp_path, transport, "list_changed_on_list", heard=heard) as (pool, log):
        await pool.listing("bad")
        await log.wait_for("request", count=2, method="tools/list")
        assert await echoes(pool, "bad")
        await anyio.sleep(4 * FIRST_PAUSE)
        assert len(log.events("request", method="tools/list")) <= 3
        assert heard.of(ev.CatalogChanged) == []


@pytest.mark.parametrize("knob", ["call_delay=0", "ignore_cancel"])
async def test_a_cancelled_call_is_cancelled_at_the_server(
    tmp_path: Path, transport: Transport, knob: str
):
    """It hears of it, the next call works, a late answer does no harm (H22)."""
    async with both(tmp_path, transport, knob) as (pool, log):
        await pool.listing("bad")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: called(pool, "bad", "slow", seconds=1))
            await log.wait_for("call")
            group.cancel_scope.cancel()
        await log.wait_for("cancel")
        assert await echoes(pool, "bad")
        assert len(log.events("start")) == 1


async def test_progress_is_passed_on_and_extends_the_deadline(tmp_path: Path, transport: Transport):
    """Two seconds with a limit of one, in order (H23)."""
    told: list[tuple[str, float | None, float | None]] = []
    async with both(tmp_path, transport, "progress_every=100", call=1.0) as (pool, _):
        outcome = await pool.call("bad", "slow", {"seconds": 2}, context(told))
    assert not outcome.is_error
    done = [progress for _, progress, _ in told]
    assert len(done) > 5
    assert done == sorted(done)


async def test_progress_for_ever_ends_at_the_hard_maximum(tmp_path: Path, transport: Transport):
    """Ten times the limit (H23)."""
    async with both(tmp_path, transport, "progress_every=50", call=0.2) as (pool, _):
        assert (await called(pool, "bad", "slow", seconds=60)).kind == "timeout"


async def test_fast_calls_do_not_wait_for_a_slow_one(tmp_path: Path, transport: Transport):
    """Twenty pass it (H25)."""
    answers: list[str] = []
    async with both(tmp_path, transport) as (pool, log), anyio.create_task_group() as group:
        group.start_soon(lambda: called(pool, "bad", "slow", seconds=60))
        await log.wait_for("call")

        async def one(number: int) -> None:
            answers.append((await called(pool, "bad", "echo", text=f"<{number}>")).text)

        async with anyio.create_task_group() as fast:
            for number in range(20):
                fast.start_soon(one, number)
        assert log.events("called", name="slow") == []
        group.cancel_scope.cancel()
    assert len(set(answers)) == 20


async def test_servers_that_list_slowly_are_listed_together(tmp_path: Path, transport: Transport):
    """Five lists of a second each take about one, and nothing the second time (H29)."""
    async with AsyncExitStack() as stack:
        specs = []
        for name in ("a", "b", "c", "d", "e"):
            if transport == "stdio":
                specs.append(faulty(name, "list_delay=1"))
            else:
                url = await stack.enter_async_context(faulty_http("list_delay=1"))
                specs.append(over_http(name, url))
        pool = await stack.enter_async_context(open_pool(*specs, workspace=tmp_path))
        for least, most in ((1.0, 3.0), (0.0, 0.05)):
            began = anyio.current_time()
            async with anyio.create_task_group() as group:
                for spec in specs:
                    group.start_soon(pool.listing, spec.name)
            assert least <= anyio.current_time() - began < most


@pytest.mark.parametrize("ask", ["elicitation", "url", "roots", "sampling"])
async def test_a_question_of_the_server_is_never_left_unanswered(
    tmp_path: Path, transport: Transport, ask: str
):
    """With nobody to ask it is refused at once, and the call ends (H30)."""
    async with both(tmp_path, transport, f"ask={ask}", call=5) as (pool, _):
        assert (await called(pool, "bad", "echo", text="x")).kind != "timeout"


@pytest.mark.parametrize("era", ["handshake", "both", "modern"])
async def test_servers_of_every_era_are_understood(tmp_path: Path, transport: Transport, era: str):
    """Handshake, new requests, or either (H31)."""
    async with both(tmp_path, transport, f"era={era}") as (pool, log):
        assert await echoes(pool, "bad")
        assert len(log.events("start")) <= 2


async def test_a_name_that_comes_twice_is_flagged(tmp_path: Path, transport: Transport):
    """One is kept, and it is said (H38)."""
    async with both(tmp_path, transport, "duplicate_names") as (pool, _):
        assert any("twice" in text for text in (await pool.listing("bad")).warnings)


@pytest.mark.parametrize("knob", ["no_properties", "any_of", "invalid_members", "no_schema"])
async def test_an_odd_schema_costs_no_other_tool(tmp_path: Path, transport: Transport, knob: str):
    """The list is whole (H39, H40, H42)."""
    async with both(tmp_path, transport, knob) as (pool, _):
        assert {tool.name for tool in (await pool.listing("bad")).tools} > ALL
