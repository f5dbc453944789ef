"""Servers over HTTP: lost sessions, lost connections, servers that are down and come back."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from hub.core.errors import ServerError
from hub.testing.faulty.launch import FaultyLog, faulty_command, faulty_http, forget_sessions
from tests.connections.pools import called, echoes, faulty, open_pool, over_http


@pytest.mark.parametrize("answer", ["404", "400", "200"])
async def test_a_forgotten_session_is_opened_anew_and_the_call_repeated(
    tmp_path: Path, answer: str
):
    """The call surely did not run, so it is sent once more; nobody notices (H27)."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http(f"lose_session={answer}", log=tmp_path / "log") as url:
        async with open_pool(over_http("a", url), workspace=tmp_path) as pool:
            assert await echoes(pool, "a")
            await forget_sessions(url)
            assert await echoes(pool, "a")
            assert await echoes(pool, "a")
        assert len(log.events("call")) == 3
        assert len(log.events("request", method="initialize")) == 2


async def test_many_calls_over_a_forgotten_session_open_one_new_one(tmp_path: Path):
    """A call that is late to notice does not throw the new session away (H27)."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http("lose_session=404", log=tmp_path / "log") as url:
        async with open_pool(over_http("a", url), workspace=tmp_path) as pool:
            assert await echoes(pool, "a")
            await forget_sessions(url)
            results = []

            async def one() -> None:
                results.append(await echoes(pool, "a"))

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(one)
        assert results == [True] * 8
        assert len(log.events("request", method="initialize")) == 2


async def test_a_server_that_forgets_after_every_call_stays_usable(tmp_path: Path):
    """A new session a call is no crash loop (H27)."""
    async with (
        faulty_http("lose_session=404", "lose_after=1") as url,
        open_pool(over_http("a", url), workspace=tmp_path) as pool,
    ):
        for _ in range(8):
            assert await echoes(pool, "a")


@pytest.mark.parametrize("era", ["handshake", "both"])
async def test_a_connection_that_breaks_during_a_call_is_an_outcome(tmp_path: Path, era: str):
    """The call may have run and is not repeated; the break never cancels us (A48)."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http(f"era={era}", "drop_connection", log=tmp_path / "log") as url:
        spec = over_http("a", url, call=5)
        async with open_pool(spec, faulty("good"), workspace=tmp_path) as pool:
            with anyio.CancelScope() as scope:
                outcome = await called(pool, "a", "echo", text="x")
            assert not scope.cancelled_caught
            assert outcome.is_error
            assert "may have run" in outcome.text
            assert await echoes(pool, "good")
            assert (await called(pool, "a", "echo", text="x")).is_error
        assert len(log.events("call")) == 2


@asynccontextmanager
async def at_port(port: int, *knobs: str) -> AsyncIterator[str]:
    """A faulty server on a port of our choice, 0 for any; leaving kills it."""
    command, args = faulty_command(*knobs)
    argv = [command, *args, "--http", str(port)]
    async with await anyio.open_process(argv, stderr=None) as process:
        assert process.stdout is not None
        try:
            yield (await process.stdout.receive()).decode().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("era", ["handshake", "both"])
async def test_a_server_that_is_down_fails_the_call_and_comes_back(tmp_path: Path, era: str):
    """An error outcome while it is away, and a new connection when it is there again (H27)."""
    async with AsyncExitStack() as stack:
        first = AsyncExitStack()
        url = await first.enter_async_context(at_port(0, f"era={era}"))
        pool = await stack.enter_async_context(
            open_pool(over_http("a", url, call=5), workspace=tmp_path)
        )
        assert await echoes(pool, "a")
        await first.aclose()
        for _ in range(7):
            outcome = await called(pool, "a", "echo", text="x")
            assert outcome.is_error
        assert outcome.kind == "server_unavailable"
        assert "cannot be reached" in outcome.text
        assert "not run" in outcome.text
        port = int(url.rpartition(":")[2].partition("/")[0])
        await stack.enter_async_context(at_port(port, f"era={era}"))
        assert await echoes(pool, "a")


async def test_a_server_that_was_never_there_is_named(tmp_path: Path):
    """The neighbour is served (H5)."""
    nobody = over_http("a", "http://127.0.0.1:9/mcp", start=3)
    async with open_pool(nobody, faulty("good"), workspace=tmp_path) as pool:
        with pytest.raises(ServerError, match="cannot be reached"):
            await pool.listing("a")
        assert await echoes(pool, "good")


@pytest.mark.parametrize("status", [401, 403, 503])
async def test_the_http_status_is_in_the_error(tmp_path: Path, status: int):
    """A refusal without a body says at least its number."""
    async with (
        faulty_http(f"http_status={status}") as url,
        open_pool(over_http("a", url), workspace=tmp_path) as pool,
    ):
        with pytest.raises(ServerError, match=f"HTTP status {status}"):
            await pool.listing("a")


@pytest.mark.parametrize("era", ["handshake", "both"])
async def test_a_silent_call_over_http_ends_at_its_deadline(tmp_path: Path, era: str):
    """And the connection works on (A48, H22)."""
    log = FaultyLog(tmp_path / "log")
    async with (
        faulty_http(f"era={era}", log=tmp_path / "log") as url,
        open_pool(over_http("a", url, call=0.5), workspace=tmp_path) as pool,
    ):
        outcome = await called(pool, "a", "slow", seconds=30)
        assert outcome.kind == "timeout"
        await log.wait_for("cancel" if era == "handshake" else "disconnect")
        assert await echoes(pool, "a")


@pytest.mark.parametrize("knob", ["sse_replies", "endless_sse", "progress_every=50"])
async def test_event_streams_are_read(tmp_path: Path, knob: str):
    """Replies as streams, streams that stay open, progress in between (H23)."""
    async with (
        faulty_http(knob) as url,
        open_pool(over_http("a", url), workspace=tmp_path) as pool,
    ):
        assert await echoes(pool, "a")
        assert not (await called(pool, "a", "slow", seconds=0.3)).is_error


async def test_sessions_are_ended_when_we_leave(tmp_path: Path):
    """A server that keeps sessions is told that ours is over."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http(log=tmp_path / "log") as url:
        async with open_pool(over_http("a", url), workspace=tmp_path) as pool:
            assert await echoes(pool, "a")
        with anyio.fail_after(5):
            await log.wait_for("http", method="DELETE")
