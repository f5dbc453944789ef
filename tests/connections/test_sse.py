"""Servers over the older HTTP transport, with the same care as over the newer one."""

from pathlib import Path

import anyio
import pytest

from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.servers import ServerSpec
from hub.testing.faulty.launch import FaultyLog, faulty_http, forget_sessions
from tests.connections.pools import Heard, called, context, echoes, faulty, open_pool, over_sse


async def test_a_server_over_event_streams_is_listed_and_called(tmp_path: Path):
    """The handshake, the list and calls, several of them at once (H25)."""
    log = FaultyLog(tmp_path / "log")
    async with (
        faulty_http("pages=2", log=tmp_path / "log") as url,
        open_pool(over_sse("a", url), workspace=tmp_path) as pool,
    ):
        listing = await pool.listing("a")
        assert listing.protocol == "2025-11-25"
        assert len(listing.tools) == 8
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: called(pool, "a", "slow", seconds=30))
            await log.wait_for("call")
            assert await echoes(pool, "a")
            group.cancel_scope.cancel()
        await log.wait_for("cancel")
        assert await echoes(pool, "a")
    assert len(log.events("request", method="initialize")) == 1
    assert log.events("request", method="server/discover") == []


@pytest.mark.parametrize("answer", ["404", "400"])
async def test_a_forgotten_session_is_opened_anew_and_the_call_repeated(
    tmp_path: Path, answer: str
):
    """The post is refused, so the call did not run; nobody notices (H27)."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http(f"lose_session={answer}", log=tmp_path / "log") as url:
        async with open_pool(over_sse("a", url), workspace=tmp_path) as pool:
            assert await echoes(pool, "a")
            await forget_sessions(url)
            assert await echoes(pool, "a")
        assert len(log.events("call")) == 2
        assert len(log.events("request", method="initialize")) == 2


async def test_a_stream_that_breaks_during_a_call_is_an_outcome(tmp_path: Path):
    """The call may have run and is not repeated; the next one connects anew (A48, H12)."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http("drop_connection", log=tmp_path / "log") as url:
        spec = over_sse("a", url, call=5)
        async with open_pool(spec, faulty("good"), workspace=tmp_path) as pool:
            outcome = await called(pool, "a", "echo", text="x")
            assert outcome.kind == "server_lost"
            assert "may have run" in outcome.text
            assert await echoes(pool, "good")
        assert len(log.events("call")) == 1


async def test_a_refused_post_says_its_status_and_opens_a_new_stream(tmp_path: Path):
    """The SDK would post nothing more over the old one (H27)."""
    async with (
        faulty_http("http_status=503") as url,
        open_pool(over_sse("a", url, start=4), workspace=tmp_path) as pool,
    ):
        began = anyio.current_time()
        with pytest.raises(ServerError, match="HTTP status 503"):
            await pool.listing("a")
        assert anyio.current_time() - began < 3


async def test_a_silent_call_ends_at_its_deadline(tmp_path: Path):
    """And the connection works on (A48, H22)."""
    log = FaultyLog(tmp_path / "log")
    async with (
        faulty_http(log=tmp_path / "log") as url,
        open_pool(over_sse("a", url, call=0.5), workspace=tmp_path) as pool,
    ):
        assert (await called(pool, "a", "slow", seconds=30)).kind == "timeout"
        await log.wait_for("cancel")
        assert await echoes(pool, "a")
    assert len(log.events("request", method="initialize")) == 1


@pytest.mark.parametrize("knob", ["no_schema", "unknown_block", "structured_only"])
async def test_one_bad_part_costs_only_itself(tmp_path: Path, knob: str):
    """What the SDK would refuse as a whole is mended as over the other transports (H39, H43)."""
    async with (
        faulty_http(knob) as url,
        open_pool(over_sse("a", url), workspace=tmp_path) as pool,
    ):
        assert len((await pool.listing("a")).tools) >= 8
        assert (await called(pool, "a", "echo", text="x")).kind != "invalid_result"


async def test_progress_and_changes_come_over_the_stream(tmp_path: Path):
    """Notifications between the answers (H20, H23)."""
    heard, told = Heard(), list[tuple[str, float | None, float | None]]()
    knobs = ("progress_every=50", "change_on_call", "change=description")
    async with (
        faulty_http(*knobs) as url,
        open_pool(over_sse("a", url), workspace=tmp_path, heard=heard) as pool,
    ):
        await pool.call("a", "slow", {"seconds": 0.5}, context(told))
        (change,) = await heard.wait_for(ev.CatalogChanged)
    assert len(told) > 3
    assert change.changed == ["echo"]


async def test_a_secret_in_a_header_is_not_told(tmp_path: Path):
    """Addresses and headers stay references in errors."""

    def resolve(spec: ServerSpec) -> ServerSpec:
        return ServerSpec(
            "a", "sse", url="http://127.0.0.1:9/sse?key=s3cret-value", start_timeout=3
        )

    spec = ServerSpec("a", "sse", url="http://127.0.0.1:9/sse?key=${env:KEY}", start_timeout=3)
    async with open_pool(spec, workspace=tmp_path, resolve=resolve) as pool:
        with pytest.raises(ServerError, match="cannot be reached") as caught:
            await pool.listing("a")
    assert "s3cret" not in str(caught.value)
