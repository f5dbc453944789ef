"""Case A17: a stop reaches every descendant, their streams and their processes, at once."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.testing.faulty.launch import wait_until_gone
from hub.testing.serving import serve_model
from tests.teams import (
    LIMIT,
    agents,
    ask,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    team,
    team_folder,
    whole_log,
)

STREAMING, COMMANDS = 15, 5
STALLED = {"text": "x" * 90, "wire": {"stall": {"after": 2}}}


def deaf(pids: Path) -> dict[str, Any]:
    """A command that ignores polite signals, as does what it starts in the background."""
    command = f"trap '' TERM INT; sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; wait; sleep 300"
    return {"tool": "shell__run", "args": {"command": command}}


@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_a17_twenty_children_three_levels_down_are_stopped_with_all_they_run(
    tmp_path: Path, workspace: Path, how: str
) -> None:
    """Streams and commands that ignore TERM: connections close, processes end, nothing is asked."""
    pids = tmp_path / "pids"
    pids.touch()
    edges = [{"role": "streamer", "max_parallel": 20}, {"role": "runner", "max_parallel": 20}]
    roles = team_folder(
        tmp_path, lead=lead_to("mid"), mid={"dispatch": edges}, streamer={}, runner={}
    )
    below = [dispatch("streamer") for _ in range(STREAMING)]
    below += [dispatch("runner") for _ in range(COMMANDS)]
    script = agents(
        lead=[{"calls": [dispatch("mid")]}, {"text": "fine"}],
        mid=[{"calls": below}],
        streamer=[STALLED],
        runner=[{"calls": [deaf(pids)]}],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            async with hub.ask("go") as stream:
                busy = {"text.delta": set[str](), "tool.ruling": set[str]()}
                async for event in stream:
                    if event.type in busy and event.agent.count("/") == 2:
                        busy[event.type].add(event.agent)
                    if [len(paths) for paths in busy.values()] == [STREAMING, COMMANDS]:
                        break
                await until_written(pids, lines=2 * COMMANDS)
                if how == "cancel":
                    hub.cancel("user")
                    rest = [event async for event in stream]
                    assert len(of_type(rest, "job.done")) == STREAMING + COMMANDS + 1
            asked = len(server.requests)
            assert asked == STREAMING + COMMANDS + 2
            with anyio.fail_after(LIMIT):
                for pid in pids.read_text().split():
                    await wait_until_gone(int(pid))
                await server.wait_for(lambda s: all(r.ended is not None for r in s.requests))
            log = whole_log(tmp_path, hub.session_id)
            assert not imbalance(log)
            assert {e.outcome for e in of_type(log, "turn.done")} == {"cancelled"}
            assert len(server.requests) == asked

            result, _ = await ask(hub, "and now?")
        assert (result.outcome, result.text) == ("done", "fine")
        assert not [problem for record in server.requests for problem in record.problems]


async def until_written(path: Path, *, lines: int) -> None:
    """Wait until the commands have written so many lines."""
    with anyio.fail_after(LIMIT):
        while path.read_text().count("\n") < lines:  # noqa: ASYNC110 - other processes write
            await anyio.sleep(0.01)
