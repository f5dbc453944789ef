"""One call: crashes, deadlines, cancellation, progress, and many at once."""

from pathlib import Path

import anyio
import pytest

from hub.core import events as ev
from hub.testing.faulty.launch import FaultyLog
from tests.connections.pools import Heard, called, context, echoes, faulty, open_pool


async def test_a_crash_during_a_call_is_told_at_once_with_its_cause(tmp_path: Path):
    """Exit code, stderr and 'may have run' within 100 ms, and no second try (H12).

    Of three times the best counts, since the machine may be busy.
    """
    log, took = FaultyLog(tmp_path / "log"), []
    spec = faulty("a", "crash_on_call=7", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        for start in range(1, 4):
            await pool.listing("a")
            began = anyio.current_time()
            outcome = await called(pool, "a", "echo", text="x")
            took.append(anyio.current_time() - began)
            assert (outcome.kind, outcome.is_error) == ("server_lost", True)
            assert "exit code 7" in outcome.text
            assert "lost its database during echo" in outcome.text
            assert "may have run" in outcome.text
            assert len(log.events("request", method="tools/call")) == start
            assert len(log.events("start")) == start
            await pool.link("a").at_rest()
    assert min(took) < 0.1


async def test_half_a_reply_is_a_lost_call(tmp_path: Path):
    """The server dies in the middle of its answer (H12)."""
    async with open_pool(faulty("a", "torn_reply"), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="x")
        assert outcome.kind == "server_lost"
        assert "exit code 9" in outcome.text


async def test_the_call_after_a_crash_starts_the_server_again(tmp_path: Path):
    """A dead server is not dead for ever (H11)."""
    heard = Heard()
    knobs = (f"starts={tmp_path / 'n'}", "crash_on_call@1=7")
    async with open_pool(faulty("a", *knobs), workspace=tmp_path, heard=heard) as pool:
        assert (await called(pool, "a", "echo", text="x")).kind == "server_lost"
        assert await echoes(pool, "a")
    assert [type(event) for event in heard.events] == [
        ev.ServerConnected,
        ev.ServerFailed,
        ev.ServerConnected,
    ]


async def test_all_calls_under_way_learn_of_a_crash(tmp_path: Path):
    """Five slow calls and one that crashes the server: six outcomes, no waiting (H12, H25)."""
    outcomes = []
    async with open_pool(faulty("a"), workspace=tmp_path) as pool:

        async def one(tool: str, **arguments: object) -> None:
            outcomes.append(await called(pool, "a", tool, **arguments))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(lambda: one("slow", seconds=60))
            await pool.listing("a")
            group.start_soon(lambda: one("crash", code=3))
    assert {outcome.kind for outcome in outcomes} == {"server_lost"}
    assert all("exit code 3" in outcome.text for outcome in outcomes)


async def test_a_call_without_an_answer_ends_at_its_deadline(tmp_path: Path):
    """The deadline is ours; the server is told, and the next call works (A48, H22)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "call_never", log=tmp_path / "log", call=0.5)
    async with open_pool(spec, workspace=tmp_path) as pool:
        await pool.listing("a")
        began = anyio.current_time()
        outcome = await called(pool, "a", "echo", text="x")
        assert outcome.kind == "timeout"
        assert "may have run" in outcome.text
        assert anyio.current_time() - began < 1.5
        (cancel,) = await log.wait_for("cancel")
        (request,) = log.events("request", method="tools/call")
        assert cancel["id"] == request["id"]


async def test_a_server_that_reads_nothing_holds_up_nobody(tmp_path: Path):
    """More than the pipe takes is waiting for it; the deadline still holds (A48)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "serial", log=tmp_path / "log", call=0.5)
    async with open_pool(spec, faulty("good"), workspace=tmp_path) as pool:
        await pool.listing("a")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: called(pool, "a", "slow", seconds=60))
            await log.wait_for("call")
            began = anyio.current_time()
            outcome = await called(pool, "a", "echo", text="x" * 3_000_000)
            assert outcome.kind == "timeout"
            assert anyio.current_time() - began < 1.5
        assert await echoes(pool, "good")


@pytest.mark.parametrize("era", ["handshake", "both"])
@pytest.mark.parametrize("knob", ["call_delay=0", "ignore_cancel"])
async def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path, era: str, knob: str):
    """The server gets the id of its own request, the next call works, late answers are nothing.

    (H22)
    """
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", f"era={era}", knob, log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        await pool.listing("a")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: called(pool, "a", "slow", seconds=1))
            await log.wait_for("call")
            group.cancel_scope.cancel()
        (cancel,) = await log.wait_for("cancel")
        (request,) = log.events("request", method="tools/call")
        assert cancel["id"] == request["id"]
        assert await echoes(pool, "a")
        assert len(log.events("start")) == 1


async def test_the_greeting_is_never_cancelled(tmp_path: Path):
    """Who gives up waiting for a start ends his own wait, not the server's start (H22)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty("a", "initialize_delay=0.7", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: called(pool, "a", "echo", text="x"))
            await log.wait_for("request")
            group.cancel_scope.cancel()
        await heard.wait_for(ev.ServerConnected)
        assert await echoes(pool, "a")
    assert log.events("cancel") == []
    assert len(log.events("start")) == 1
    assert len(log.events("request", method="tools/call")) == 1


async def test_progress_is_passed_on_and_extends_the_deadline(tmp_path: Path):
    """A call of 2 s with a limit of 1 s ends well because it keeps telling (H23)."""
    told: list[tuple[str, float | None, float | None]] = []
    spec = faulty("a", "progress_every=100", call=1.0)
    async with open_pool(spec, workspace=tmp_path) as pool:
        outcome = await pool.call("a", "slow", {"seconds": 2}, context(told))
    assert not outcome.is_error
    done = [progress for _, progress, _ in told]
    assert len(done) > 5
    assert done == sorted(done)


async def test_progress_for_ever_ends_at_the_hard_maximum(tmp_path: Path):
    """Ten times the limit and no more (H23)."""
    spec = faulty("a", "progress_every=50", call=0.2)
    async with open_pool(spec, workspace=tmp_path) as pool:
        await pool.listing("a")
        began = anyio.current_time()
        outcome = await called(pool, "a", "slow", seconds=60)
        assert outcome.kind == "timeout"
        assert 1.8 < anyio.current_time() - began < 4


async def test_fast_calls_do_not_wait_for_a_slow_one(tmp_path: Path):
    """Twenty of them come back while it runs (H25)."""
    log = FaultyLog(tmp_path / "log")
    answers: list[str] = []
    async with (
        open_pool(faulty("a", log=tmp_path / "log"), workspace=tmp_path) as pool,
        anyio.create_task_group() as group,
    ):
        group.start_soon(lambda: called(pool, "a", "slow", seconds=60))
        await log.wait_for("call")

        async def one(number: int) -> None:
            answers.append((await called(pool, "a", "echo", text=f"<{number}>")).text)

        async with anyio.create_task_group() as fast:
            for number in range(20):
                fast.start_soon(one, number)
        assert log.events("called", name="slow") == []
        group.cancel_scope.cancel()
    assert len(set(answers)) == 20


async def test_an_error_of_the_protocol_is_an_outcome(tmp_path: Path):
    """The message and the code of the server reach the model."""
    async with open_pool(faulty("a", "call_error=-32603"), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="x")
    assert outcome.kind == "server_error"
    assert "-32603" in outcome.text


async def test_an_error_of_the_tool_is_told_apart(tmp_path: Path):
    """It is a result, and it says so."""
    async with open_pool(faulty("a", "tool_error"), workspace=tmp_path) as pool:
        outcome = await called(pool, "a", "echo", text="x")
    assert (outcome.kind, outcome.is_error) == ("tool_error", True)


async def test_a_tool_that_does_not_exist_is_an_outcome(tmp_path: Path):
    """Neither an unknown tool nor an unknown server is an exception."""
    async with open_pool(faulty("a"), workspace=tmp_path) as pool:
        assert (await called(pool, "a", "no-such-tool")).is_error
        assert (await called(pool, "b", "echo")).kind == "server_unavailable"


async def test_log_messages_of_a_server_are_events(tmp_path: Path):
    """Transient ones, with their level."""
    heard = Heard()
    async with open_pool(faulty("a", "log_messages=3"), workspace=tmp_path, heard=heard) as pool:
        assert await echoes(pool, "a")
        logs = await heard.wait_for(ev.ServerLog, 3)
    assert [event.text for event in logs] == ["line 0", "line 1", "line 2"]
