"""A run does not wait for servers that are late; they join while it works."""

import json
import shlex
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from hub.app.hub import Hub
from hub.core.events import AnyEvent
from hub.core.jobs import TurnResult
from hub.testing.faulty.launch import faulty_command
from hub.testing.serving import ModelServer, serve_model
from tests.teams import agents, ask, dispatch, lead_to, of_type, report, team, team_folder

SOON = "catalog.patience=0.5"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def server_of(name: str, *knobs: str) -> list[str]:
    """The settings of a faulty server on stdio."""
    command, arguments = faulty_command(*knobs)
    return [f"servers.{name}.command={command}", f"servers.{name}.args={json.dumps(arguments)}"]


def sent(server: ModelServer, number: int) -> list[str]:
    """The tools of one request, as they were encoded."""
    return [json.dumps(tool) for tool in server.requests[number].body["tools"]]


def names(server: ModelServer, number: int) -> list[str]:
    return [tool["function"]["name"] for tool in server.requests[number].body["tools"]]


def gated(name: str, gate: Path, *knobs: str) -> list[str]:
    """The same, for a server that starts only when a file is there."""
    command, arguments = faulty_command(*knobs)
    program = shlex.join([command, *arguments])
    script = f"while [ ! -e {shlex.quote(str(gate))} ]; do sleep 0.05; done; exec {program}"
    return [f"servers.{name}.command=sh", f"servers.{name}.args={json.dumps(['-c', script])}"]


async def ask_opening(hub: Hub, gate: Path) -> tuple[TurnResult, list[AnyEvent]]:
    """Run one turn; the gate opens with its first call."""
    events = []
    async with hub.ask("go") as stream:
        async for event in stream:
            events.append(event)
            if event.type == "tool.call":
                gate.touch()
    return stream.result, events


WAIT = {"tool": "good__slow", "args": {"seconds": 6}}
"""Time for a server to come up meanwhile."""
FAR = {"tool": "late__echo", "args": {"text": "from late"}}


async def test_a_late_server_joins_behind_all_others_at_the_next_step(
    tmp_path: Path, workspace: Path
) -> None:
    """The first request came early and begins the second one, byte for byte (H1, H2, H4, H5)."""
    gate = tmp_path / "gate"
    settings = [
        *server_of("mute", "mute"),
        *gated("late", gate),
        *server_of("crash", "exit_on_start"),
        *server_of("good"),
        SOON,
    ]
    said = {"text": "{{ last[0].text }}"}
    turns: list[dict[str, Any]] = [{"calls": [WAIT]}, {"calls": [FAR]}, said, said]
    async with serve_model({"script": 1, "turns": turns}) as server:
        async with team(server, workspace, tmp_path, assignments=settings) as hub:
            states = {state.name: state.state for state in hub.init.servers}
            result, events = await ask_opening(hub, gate)
            await ask(hub, "again")
        assert states["good"] == "connected"
        assert states["crash"] == "failed"
        assert states["mute"] == states["late"] == "starting"
        first, second = sent(server, 0), sent(server, 1)
        assert not [name for name in names(server, 0) if name.startswith("late__")]
        assert second[: len(first)] == first
        assert "late__echo" in names(server, 1)[len(first) :]
        assert names(server, 3) == names(server, 1), "the next turn keeps the order"
        assert result.text == "from late"
        (change,) = [one for one in of_type(events, "catalog.changed") if one.server == "late"]
        assert "echo" in change.added
        loaded = of_type(events, "tools.loaded")
        assert "late__echo" in [name for one in loaded for name in one.names]
        async with team(server, workspace, tmp_path, assignments=settings) as hub:
            states = {state.name: state.state for state in hub.init.servers}
        assert states["late"] == states["good"] == "cached"
        assert states["crash"] == "starting", "nobody waits for it again"


async def test_the_grant_of_a_role_holds_for_a_late_server_too(
    tmp_path: Path, workspace: Path
) -> None:
    """The lead may not use it and is told so; a child that may is offered it from its start."""
    gate = tmp_path / "gate"
    settings = [*gated("late", gate), *server_of("good"), SOON]
    folder = team_folder(
        tmp_path,
        lead=lead_to("worker", tools=["good__*"]),
        worker={"tools": ["late__*", "good__add"]},
    )
    script = agents(
        lead=[
            {"calls": [WAIT]},
            {"calls": [FAR]},
            {"calls": [dispatch("worker")]},
            {"text": "end"},
        ],
        worker=[{"calls": [FAR]}, {"calls": [report("{{ last[0].text }}")]}],
    )
    async with serve_model(script) as server:
        async with team(
            server, workspace, tmp_path, assignments=settings, team=folder, role="lead"
        ) as hub:
            result, events = await ask_opening(hub, gate)
    assert result.outcome == "done", result
    mine = [call for call in of_type(events, "tool.result", "lead") if call.name == "late__echo"]
    assert [(one.kind, "do not include" in one.text) for one in mine] == [("denied", True)]
    lead = [names(server, number) for number in (0, 1, 2)]
    assert not [name for offered in lead for name in offered if name.startswith("late__")]
    assert "late__echo" in names(server, 3)
    (theirs,) = [one for one in of_type(events, "job.done") if one.agent == "lead"]
    assert theirs.outcome == "done"


async def test_a_role_that_cannot_work_without_a_late_server_waits_for_it(
    tmp_path: Path, workspace: Path
) -> None:
    """It would have no tool at all otherwise (H4)."""
    settings = [*server_of("late", "slow_start=2"), *server_of("good"), "catalog.patience=0.1"]
    folder = team_folder(tmp_path, lead={"user_facing": True, "tools": ["late__*"]})
    async with serve_model(agents(lead=[{"text": "end"}])) as server:
        async with team(
            server, workspace, tmp_path, assignments=settings, team=folder, role="lead"
        ) as hub:
            assert "late__echo" in hub.init.tools
            await ask(hub, "go")
    assert "late__echo" in names(server, 0)


async def test_what_was_changed_since_its_approval_does_not_join(
    tmp_path: Path, workspace: Path
) -> None:
    """Pins hold for a late server as for all others (H50)."""
    gate = tmp_path / "gate"
    gate.touch()
    starts = tmp_path / "starts"
    knobs = (f"starts={starts}", "change@2-=description", "extra_tools=1")
    settings = [*gated("late", gate, *knobs), *server_of("good"), SOON]
    turns: list[dict[str, Any]] = [
        {"calls": [WAIT]},
        {"text": "end"},
        {"calls": [WAIT]},
        {"text": "end"},
    ]
    async with serve_model({"script": 1, "turns": turns}) as server:
        chosen = [*settings[:-1], "catalog.patience=20"]
        async with team(server, workspace, tmp_path, assignments=chosen) as hub:
            assert {"late__echo", "late__t0"} <= set(hub.init.tools)
        gate.unlink()
        rmtree(tmp_path / "cache")
        async with team(server, workspace, tmp_path, assignments=settings) as hub:
            _, events = await ask_opening(hub, gate)
    assert "late__t0" in names(server, 1)
    assert "late__echo" not in names(server, 1)
    (held,) = [one for one in of_type(events, "server.quarantined") if one.server == "late"]
    assert "echo" in str(held)


async def test_a_late_server_is_found_by_the_search_where_the_catalog_is_large(
    tmp_path: Path, workspace: Path
) -> None:
    """Its tools are not sent; the search, on offer or new, knows them (H4)."""
    gate = tmp_path / "gate"
    settings = [*gated("late", gate, "extra_tools=400"), *server_of("good"), SOON]
    find = {"tool": "tool_search", "args": {"query": "echo", "server": "late"}}
    turns: list[dict[str, Any]] = [
        {"calls": [WAIT]},
        {"calls": [find]},
        {"calls": [FAR]},
        {"text": "end"},
    ]
    for budget in (500, 3500):
        gate.unlink(missing_ok=True)
        folder = tmp_path / str(budget)
        chosen = [*settings, f"catalog.budget={budget}"]
        async with serve_model({"script": 1, "turns": turns}) as server:
            async with team(server, workspace, folder, assignments=chosen) as hub:
                _, events = await ask_opening(hub, gate)
        assert ("tool_search" in names(server, 0)) == (budget == 500)
        assert "tool_search" in names(server, 1)
        assert not [name for name in names(server, 1) if name.startswith("late__")]
        assert "late__echo" in names(server, 2)
        (call,) = [one for one in of_type(events, "tool.result") if one.name == "late__echo"]
        assert call.text == "from late"
