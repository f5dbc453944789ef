"""Servers that keep the state of who calls, in a run of several agents; records of a run."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.connections.records import read_record
from hub.core.servers import ServerSpec
from hub.testing.faulty.launch import FaultyLog, faulty_command, is_running, wait_until_gone
from hub.testing.serving import serve_model
from tests.teams import agents, ask, dispatch, lead_to, of_type, report, team, team_folder


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": f"own__{tool}", "args": arguments}]}


@pytest.mark.parametrize(("stateful", "processes"), [("shared", 1), ("per-agent", 2)])
async def test_a_child_has_its_own_server_until_its_work_is_over(
    tmp_path: Path, stateful: str, processes: int
) -> None:
    """Only where that is asked for; the parent's goes on with what it was told (H13, H14, H9)."""
    (workspace := tmp_path / "work").mkdir()
    log = FaultyLog(tmp_path / "log")
    command, arguments = faulty_command(log=tmp_path / "log")
    script = agents(
        lead=[
            call("login", user="the lead"),
            {"calls": [dispatch("worker")]},
            call("whoami"),
            {"text": "{{ last[0].text }}"},
        ],
        worker=[call("login", user="the worker"), {"calls": [report()]}],
    )
    folder = team_folder(tmp_path, lead=lead_to("worker", tools=["*"]), worker={"tools": ["*"]})
    chosen = [
        f"servers.own.command={command}",
        f"servers.own.args={json.dumps(arguments)}",
        f"servers.own.stateful={stateful}",
    ]
    async with serve_model(script) as server:
        async with team(
            server, workspace, tmp_path, team=folder, role="lead", assignments=chosen
        ) as hub:
            result, events = await ask(hub, "go")
            starts = log.events("start")
            assert len(starts) == processes
            assert of_type(events, "tool.result")
            if processes == 2:
                with anyio.fail_after(10):
                    await wait_until_gone(log.events("call")[1]["pid"])
            assert is_running(log.events("call")[0]["pid"])
    assert ("the lead" in result.text) == (processes == 2)
    for start in starts:
        assert not is_running(start["pid"])
    spec = ServerSpec("own", "stdio", command=command, args=tuple(arguments))
    record = read_record(tmp_path / "state", spec)
    assert record is not None
    assert (record.name, record.state, record.tools) == ("own", "stopped", 8)
