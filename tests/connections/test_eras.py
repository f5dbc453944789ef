"""Servers of both protocol eras are understood, whatever they do with the newer one's question."""

from pathlib import Path

import anyio
import pytest

from hub.core import events as ev
from hub.testing.faulty.launch import FaultyLog, faulty_http
from tests.connections.pools import Heard, bundled, context, echoes, faulty, open_pool, over_http

NEW, OLD = "2026-07-28", "2025-11-25"


@pytest.mark.parametrize(
    ("knobs", "protocol", "starts"),
    [
        (("era=both",), NEW, 1),
        (("era=modern",), NEW, 1),
        (("discover=error",), OLD, 1),
        (("discover=invalid_params",), OLD, 1),
        (("discover=silent",), OLD, 1),
        (("discover=exit",), OLD, 2),
    ],
)
async def test_each_answer_to_the_probe_leads_to_a_connection(
    tmp_path: Path, knobs: tuple[str, ...], protocol: str, starts: int
):
    """One that exits is started again, one that is silent is waited for within the limit (H31)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", *knobs, log=tmp_path / "log", start=4)
    async with open_pool(spec, workspace=tmp_path) as pool:
        assert (await pool.listing("a")).protocol == protocol
        assert await echoes(pool, "a")
    assert len(log.events("start")) == starts


async def test_what_a_server_speaks_is_remembered(tmp_path: Path):
    """The second start of one that exits on the probe does not probe it again (H31)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty(
        "a", "discover=exit", "crash_on_call@2=7", f"starts={tmp_path / 'n'}", log=tmp_path / "log"
    )
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        assert not await echoes(pool, "a")
        await heard.wait_for(ev.ServerFailed)
        assert await echoes(pool, "a")
    assert len(log.events("start")) == 3


async def test_what_the_cache_remembers_saves_the_probe(tmp_path: Path):
    """A protocol that is known from an earlier run needs no second start (H31)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "discover=exit", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, protocols={"a": OLD}) as pool:
        assert await echoes(pool, "a")
    assert len(log.events("start")) == 1


async def test_a_server_that_has_moved_on_is_understood(tmp_path: Path):
    """Remembered as one of the older era, it now speaks only the newer one (H31)."""
    async with open_pool(
        faulty("a", "era=modern"), workspace=tmp_path, protocols={"a": OLD}
    ) as pool:
        assert (await pool.listing("a")).protocol == NEW


async def test_a_crash_at_the_start_is_not_taken_for_an_older_server(tmp_path: Path):
    """After two deaths, the next start asks for the newer protocol again (H31)."""
    knobs = ("era=both", "exit_on_start@1-2=3", f"starts={tmp_path / 'n'}")
    async with open_pool(faulty("a", *knobs), workspace=tmp_path) as pool:
        assert not await echoes(pool, "a")
        assert (await pool.listing("a")).protocol == NEW


@pytest.mark.parametrize(("knob", "protocol"), [("era=handshake", OLD), ("era=both", NEW)])
async def test_both_eras_work_over_http(tmp_path: Path, knob: str, protocol: str):
    """Listing and call over streamable HTTP."""
    async with (
        faulty_http(knob) as url,
        open_pool(over_http("a", url), workspace=tmp_path) as pool,
    ):
        assert (await pool.listing("a")).protocol == protocol
        assert await echoes(pool, "a")


async def test_a_server_that_hides_its_name_is_served(tmp_path: Path):
    """Without serverInfo in its answer to initialize."""
    async with open_pool(faulty("a", "no_server_info"), workspace=tmp_path) as pool:
        assert await echoes(pool, "a")


async def test_a_bundled_server_needs_no_process(tmp_path: Path):
    """It runs in this process and is up at once."""
    heard = Heard()
    async with open_pool(bundled("files"), workspace=tmp_path, heard=heard) as pool:
        listing = await pool.listing("files")
        assert "read" in {tool.name for tool in listing.tools}
        outcome = await pool.call("files", "list", {"path": "."}, context())
        assert not outcome.is_error
    (connected,) = heard.of(ev.ServerConnected)
    assert (connected.server, connected.tools) == ("files", len(listing.tools))


@pytest.mark.parametrize(
    ("knob", "protocol"),
    [
        ("era=both", NEW),
        ("era=modern", NEW),
        ("discover=error", OLD),
        ("discover=invalid_params", OLD),
        ("discover=silent", OLD),
    ],
)
async def test_each_answer_to_the_probe_over_http_leads_to_a_connection(
    tmp_path: Path, knob: str, protocol: str
):
    """One that is silent is greeted the older way within the limit (H31)."""
    async with faulty_http(knob) as url:
        spec = over_http("a", url, start=4)
        async with open_pool(spec, workspace=tmp_path, state=tmp_path) as pool:
            began = anyio.current_time()
            assert (await pool.listing("a")).protocol == protocol
            assert anyio.current_time() - began < 3.5
            assert await echoes(pool, "a")
        async with open_pool(spec, workspace=tmp_path, state=tmp_path) as pool:
            began = anyio.current_time()
            assert await echoes(pool, "a")
            assert anyio.current_time() - began < 1.5
