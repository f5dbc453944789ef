"""How servers start: together, when first needed, and each at its own risk."""

from pathlib import Path

import anyio
import pytest

from hub.config.schema import ServerEntry
from hub.core import events as ev
from hub.core.errors import ServerError, UsageError
from hub.core.servers import ServerSpec
from hub.testing.clock import FakeClock
from hub.testing.faulty.launch import FaultyLog
from tests.connections.pools import Heard, bundled, called, echoes, faulty, open_pool


async def test_nothing_starts_before_it_is_needed(tmp_path: Path):
    """A pool is open at once and has started nobody (H13)."""
    log = FaultyLog(tmp_path / "log")
    async with open_pool(faulty("a", log=tmp_path / "log"), workspace=tmp_path) as pool:
        assert log.events("start") == []
        assert await echoes(pool, "a")
        assert len(log.events("start")) == 1


async def test_many_callers_share_one_start_and_one_process(tmp_path: Path):
    """Ten calls at once to a server that is not up yet start it once (H13, H14)."""
    log = FaultyLog(tmp_path / "log")
    async with open_pool(faulty("a", log=tmp_path / "log"), workspace=tmp_path) as pool:
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(echoes, pool, "a")
        await called(pool, "a", "login", user="ada")
        assert "ada" in (await called(pool, "a", "whoami")).text
        assert len(log.events("start")) == 1


@pytest.mark.parametrize("knob", ["mute", "initialize_never", "list_never", "flood=0"])
async def test_a_silent_server_costs_only_itself(tmp_path: Path, knob: str):
    """The good one answers at once; the bad one fails at its own limit, and says so (H1, H17)."""
    specs = [faulty("bad", knob, start=1.0), faulty("good")]
    heard = Heard()
    async with open_pool(*specs, workspace=tmp_path, heard=heard) as pool:
        pool.warm()
        with anyio.fail_after(1.0):
            await pool.listing("good")
        assert pool.link("bad").state == "starting"
        assert await echoes(pool, "good")
        began = anyio.current_time()
        with pytest.raises(ServerError, match=r"did not answer within 1 s.*start_timeout"):
            await pool.listing("bad")
        assert anyio.current_time() - began < 1.5
        failed = await heard.wait_for(ev.ServerFailed)
        assert [event.server for event in failed] == ["bad"]
        assert "did not answer within 1 s" in pool.link("bad").error
        assert await echoes(pool, "good")


async def test_a_program_that_does_not_exist_is_named(tmp_path: Path):
    """The neighbour is served, the error names the program and the setting's place (H5)."""
    missing = ServerSpec("bad", "stdio", command="no-such-program-at-all")
    async with open_pool(missing, faulty("good"), workspace=tmp_path) as pool:
        outcome = await called(pool, "bad", "echo", text="x")
        assert outcome.kind == "server_unavailable"
        assert "no-such-program-at-all" in outcome.text
        assert "not run" in outcome.text
        assert await echoes(pool, "good")


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("exit_on_start=3", "exit code 3"),
        ("list_error=-32603", "it answered"),
        ("initialize_error=-32603", "it answered"),
        ("version=1999-01-01", "1999-01-01"),
    ],
)
async def test_a_server_that_fails_to_start_says_why(tmp_path: Path, knob: str, words: str):
    """Exit code, the last words on stderr, or the server's own error (H5)."""
    async with open_pool(faulty("bad", knob), faulty("good"), workspace=tmp_path) as pool:
        with pytest.raises(ServerError) as caught:
            await pool.listing("bad")
        assert words in str(caught.value)
        assert caught.value.server == "bad"
        assert await echoes(pool, "good")


async def test_the_last_words_of_a_server_are_shown(tmp_path: Path):
    """What it printed on stderr before it died is in the error and in the event (H5)."""
    heard = Heard()
    async with open_pool(faulty("bad", "exit_on_start=3"), workspace=tmp_path, heard=heard) as pool:
        with pytest.raises(ServerError, match=r"its last words on stderr: .+"):
            await pool.listing("bad")
    assert heard.of(ev.ServerFailed)[0].stderr.strip()


async def test_a_slow_start_is_no_failure(tmp_path: Path):
    """The limit for starts is not that for calls: 1.5 s for the first answer is fine (H2, H3)."""
    assert ServerSpec("any", "stdio").start_timeout == ServerEntry().start_timeout >= 30
    spec = faulty("slow", "initialize_delay=1.5", call=1.0)
    async with open_pool(spec, workspace=tmp_path) as pool:
        assert await echoes(pool, "slow")


async def test_a_server_that_knows_no_ping_stays_connected(tmp_path: Path):
    """Nobody is pinged, so nobody is dropped for not knowing it (H8)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "ping_unsupported", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        assert await echoes(pool, "a")
        assert await echoes(pool, "a")
        assert len(log.events("start")) == 1


async def test_a_server_that_keeps_dying_is_started_five_times_a_minute(tmp_path: Path):
    """A handshake that succeeds does not reset the count; then one try a time (H10, H11)."""
    log, clock = FaultyLog(tmp_path / "log"), FakeClock()
    spec = faulty("bad", "exit_after_list=0", log=tmp_path / "log")
    heard = Heard()
    async with open_pool(spec, workspace=tmp_path, clock=clock, heard=heard) as pool:
        for start in range(1, 6):
            await pool.listing("bad")
            await heard.wait_for(ev.ServerFailed, start)
            await pool.link("bad").at_rest()
        for _ in range(3):
            with pytest.raises(ServerError, match="5 times within a minute"):
                await pool.listing("bad")
        assert pool.link("bad").state == "crash-loop"
        assert len(log.events("start")) == 5
        clock.advance(60.1)
        await pool.listing("bad")
        assert len(log.events("start")) == 6


async def test_the_first_call_after_a_bad_spell_tries_again(tmp_path: Path):
    """Six failures, a pause after the fifth: one call, which greets in both ways, works (H11)."""
    log, clock = FaultyLog(tmp_path / "log"), FakeClock()
    knobs = (f"starts={tmp_path / 'starts'}", "exit_on_initialize@1-6=1")
    spec = faulty("bad", *knobs, log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:

        async def fails() -> str:
            outcome = await called(pool, "bad", "echo", text="x")
            assert outcome.kind == "server_unavailable"
            return outcome.text

        while "5 times" not in await fails():
            pass
        assert len(log.events("start")) == 5
        clock.advance(60.1)
        assert await echoes(pool, "bad")
        assert len(log.events("start")) == 7


async def test_five_servers_that_list_slowly_take_as_long_as_one(tmp_path: Path):
    """Discovery is not serial (H29)."""
    specs = [faulty(f"s{n}", "list_delay=1") for n in range(4)]
    async with open_pool(*specs, workspace=tmp_path) as pool:
        pool.warm()
        await pool.listing("s0")
        began = anyio.current_time()
        for spec in specs:
            await pool.listing(spec.name)
        assert anyio.current_time() - began < 1.0


async def test_a_missing_variable_fails_its_server_with_its_own_words(tmp_path: Path):
    """What the resolver says reaches the user, not a traceback."""

    def resolve(spec: ServerSpec) -> ServerSpec:
        if spec.name == "bad":
            raise UsageError("the variable TOKEN is not set", where="hub.yaml:3")
        return spec

    specs = [bundled("notes"), faulty("bad")]
    async with open_pool(*specs, workspace=tmp_path, resolve=resolve) as pool:
        with pytest.raises(ServerError, match="the variable TOKEN is not set"):
            await pool.listing("bad")
        assert (await pool.listing("notes")).tools


async def test_an_unknown_bundled_server_is_named_with_those_there_are(tmp_path: Path):
    """A typo in the settings is told with the right names."""
    async with open_pool(bundled("filez"), workspace=tmp_path) as pool:
        with pytest.raises(ServerError, match="files, shell, notes"):
            await pool.listing("filez")


async def test_servers_see_an_allow_list_of_our_environment(tmp_path: Path):
    """A secret of ours is not handed on; what the settings name is (H49)."""
    env = {"PATH": "/usr/bin:/bin", "MY_SECRET_KEY": "x", "LC_ALL": "C", "HTTPS_PROXY": "y"}
    spec = faulty("a")
    spec = ServerSpec("a", "stdio", command=spec.command, args=spec.args, env={"GIVEN": "1"})
    async with open_pool(spec, workspace=tmp_path, env=env) as pool:
        text = (await called(pool, "a", "env")).text
    assert "GIVEN" in text
    assert "LC_ALL" in text
    assert "MY_SECRET_KEY" not in text
    assert "HTTPS_PROXY" not in text
