"""One process for all agents, or one for each where a server keeps the state of who calls."""

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from hub.connections.records import read_record
from hub.core.servers import ServerSpec
from hub.testing.clock import FakeClock
from hub.testing.faulty.launch import FaultyLog, faulty_http, is_running, wait_until_gone
from tests.connections.pools import called_by, context, faulty, open_pool, over_http

AGENTS = ("lead", "lead/worker#1", "lead/worker#2", "lead/worker#2/explorer#1", "lead/reviewer#1")


def per_agent(spec: ServerSpec) -> ServerSpec:
    """The same server, with a process for each agent."""
    return replace(spec, stateful="per-agent")


async def test_five_agents_and_three_servers_are_three_processes(tmp_path: Path):
    """A server that says nothing else is shared by all (H13)."""
    log = FaultyLog(tmp_path / "log")
    specs = [faulty(f"s{number}", log=tmp_path / "log") for number in range(3)]
    async with open_pool(*specs, workspace=tmp_path) as pool:
        async with anyio.create_task_group() as group:
            for agent in AGENTS:
                for spec in specs:
                    group.start_soon(called_by, pool, agent, spec.name, "whoami")
        for agent in AGENTS:
            pool.release(agent)
        assert "ada" in (await called_by(pool, "lead", "s0", "login", user="ada")).text
    assert len(log.events("start")) == 3


async def test_what_one_agent_tells_a_shared_server_the_next_one_finds(tmp_path: Path):
    """Login and whoami reach the same process (H14)."""
    spec = replace(faulty("a"), stateful="shared")
    async with open_pool(spec, workspace=tmp_path) as pool:
        await called_by(pool, "lead", "a", "login", user="ada")
        assert "ada" in (await called_by(pool, "lead/worker#1", "a", "whoami")).text


async def test_each_agent_has_a_process_of_its_own_where_that_is_asked_for(tmp_path: Path):
    """Nobody sees what another has said; the first agent gets the one that listed (H13, H14)."""
    log = FaultyLog(tmp_path / "log")
    spec = per_agent(faulty("a", log=tmp_path / "log"))
    async with open_pool(spec, workspace=tmp_path) as pool:
        assert (await pool.listing("a")).tools
        for agent in AGENTS:
            await called_by(pool, agent, "a", "login", user=f"<{agent}>")
        for agent in AGENTS:
            assert f"<{agent}>" in (await called_by(pool, agent, "a", "whoami")).text
        assert (await pool.listing("a")).tools
        assert len(log.events("start")) == len(AGENTS)


async def test_an_agents_process_ends_with_its_work(tmp_path: Path):
    """To its last grandchild; the others and the catalog stay (H9, H13)."""
    log = FaultyLog(tmp_path / "log")
    knobs = ("grandchild=group", "ignore_term")
    spec = per_agent(faulty("a", *knobs, log=tmp_path / "log"))
    async with open_pool(spec, workspace=tmp_path) as pool:
        listing = await pool.listing("a")
        for agent in AGENTS[:3]:
            assert not (await called_by(pool, agent, "a", "login", user=agent)).is_error
        spawned = log.events("spawned")
        for index, agent in ((1, AGENTS[1]), (0, AGENTS[0])):
            pool.release(agent)
            await wait_until_gone(spawned[index]["pid"])
            await wait_until_gone(spawned[index]["child"])
        assert is_running(spawned[2]["pid"])
        assert AGENTS[2] in (await called_by(pool, AGENTS[2], "a", "whoami")).text
        assert await pool.listing("a") == listing
        pool.release(AGENTS[2])
        pool.release("nobody")
        again = await called_by(pool, AGENTS[1], "a", "whoami")
        assert AGENTS[1] not in again.text
    for event in log.events("spawned"):
        with anyio.fail_after(5):
            await wait_until_gone(event["child"])


async def test_releasing_while_a_process_starts_ends_it(tmp_path: Path):
    """A child whose work was cancelled early leaves nothing behind (A47, H9)."""
    log = FaultyLog(tmp_path / "log")
    spec = per_agent(faulty("a", "mute", "ignore_eof", log=tmp_path / "log"))
    outcomes = []
    async with open_pool(spec, workspace=tmp_path) as pool, anyio.create_task_group() as group:

        async def call() -> None:
            outcomes.append(await called_by(pool, "lead", "a", "whoami"))

        group.start_soon(call)
        (start,) = await log.wait_for("start")
        pool.release("lead")
        await wait_until_gone(start["pid"])
    assert [outcome.kind for outcome in outcomes] == ["server_unavailable"]
    assert "did not run" in outcomes[0].text


async def test_each_agent_has_a_session_of_its_own_over_http(tmp_path: Path):
    """One server, several sessions; each is ended with its agent (H13)."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http(log=tmp_path / "log") as url:
        spec = per_agent(over_http("a", url))
        async with open_pool(spec, workspace=tmp_path) as pool:
            for agent in AGENTS[:2]:
                await called_by(pool, agent, "a", "login", user=f"<{agent}>")
            for agent in AGENTS[:2]:
                assert f"<{agent}>" in (await called_by(pool, agent, "a", "whoami")).text
            pool.release(AGENTS[1])
            await log.wait_for("http", method="DELETE")
            assert f"<{AGENTS[0]}>" in (await called_by(pool, AGENTS[0], "a", "whoami")).text
    assert len(log.events("request", method="initialize")) == 2


async def test_a_crash_of_one_agents_process_is_no_others(tmp_path: Path):
    """And ten agents within a minute are no crash loop (H10, H12)."""
    spec = per_agent(faulty("a"))
    async with open_pool(spec, workspace=tmp_path, clock=FakeClock(), state=tmp_path) as pool:
        for number in range(7):
            agent = f"lead/worker#{number}"
            assert not (await called_by(pool, agent, "a", "login", user=agent)).is_error
        lost = await called_by(pool, "lead/worker#0", "a", "crash", code=3)
        assert lost.kind == "server_lost"
        assert "worker#1" in (await called_by(pool, "lead/worker#1", "a", "whoami")).text
        for number in range(1, 6):
            pool.release(f"lead/worker#{number}")
        assert "worker#6" in (await called_by(pool, "lead/worker#6", "a", "whoami")).text
        record = read_record(tmp_path, spec)
        assert record is not None


async def test_a_closed_pool_starts_nothing_for_a_late_agent(tmp_path: Path):
    """An outcome, not an error."""
    async with open_pool(per_agent(faulty("a")), workspace=tmp_path) as pool:
        assert not (await called_by(pool, "lead", "a", "whoami")).is_error
    with anyio.fail_after(5):
        outcome = await pool.call("a", "whoami", {}, context(agent="late"))
    assert outcome.kind == "server_unavailable"
    pool.release("lead")


@pytest.mark.parametrize("serial", [True, False])
async def test_a_serial_server_takes_one_call_at_a_time(tmp_path: Path, *, serial: bool):
    """The others wait their turn; a server that is not serial is asked at once (H25)."""
    log = FaultyLog(tmp_path / "log")
    spec = replace(faulty("a", "call_delay=0.1", log=tmp_path / "log"), serial=serial)
    async with open_pool(spec, workspace=tmp_path) as pool:
        await pool.listing("a")
        async with anyio.create_task_group() as group:
            for agent in AGENTS:
                group.start_soon(called_by, pool, agent, "a", "whoami")
    order = [event["event"] for event in log.events() if event["event"] in ("call", "called")]
    assert (order == ["call", "called"] * len(AGENTS)) == serial


async def test_a_cancel_while_waiting_never_reaches_a_serial_server(tmp_path: Path):
    """The call in flight goes on, and the next one gets its turn (H22, H25)."""
    log = FaultyLog(tmp_path / "log")
    spec = replace(faulty("a", log=tmp_path / "log"), serial=True)
    async with open_pool(spec, workspace=tmp_path) as pool:
        await pool.listing("a")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: called_by(pool, "lead", "a", "slow", seconds=0.5))
            await log.wait_for("call")
            async with anyio.create_task_group() as waiting:
                for agent in AGENTS[1:]:
                    waiting.start_soon(called_by, pool, agent, "a", "whoami")
                await anyio.wait_all_tasks_blocked()
                waiting.cancel_scope.cancel()
        assert not (await called_by(pool, "lead", "a", "login", user="ada")).is_error
    assert [event["name"] for event in log.events("call")] == ["slow", "login"]
    assert log.events("cancel") == []


async def test_what_was_started_only_for_its_list_may_rest(tmp_path: Path):
    """No agent has told it anything, so nothing is lost (H15)."""
    clock = FakeClock()
    spec = replace(per_agent(faulty("a")), idle_timeout=60.0)
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
        listing = await pool.listing("a")
        await clock.wait_for_sleepers()
        clock.advance(61)
        await pool.link("a").at_rest()
        assert pool.link("a").state == "idle"
        assert await pool.listing("a") == listing
        await called_by(pool, "lead", "a", "login", user="ada")
        clock.advance(600)
        await anyio.wait_all_tasks_blocked()
        assert "ada" in (await called_by(pool, "lead", "a", "whoami")).text


async def test_a_process_that_listed_and_then_got_an_agent_does_not_rest(tmp_path: Path):
    """It was started for its list, and now it keeps what the agent told it (H14, H15)."""
    clock = FakeClock()
    spec = replace(per_agent(faulty("a")), idle_timeout=60.0)
    async with open_pool(spec, workspace=tmp_path, clock=clock) as pool:
        await pool.listing("a")
        await called_by(pool, "lead", "a", "login", user="ada")
        for _ in range(3):
            clock.advance(61)
            await anyio.wait_all_tasks_blocked()
        assert pool.link("a").state == "connected"
        assert "ada" in (await called_by(pool, "lead", "a", "whoami")).text
