"""Edges hold in one place, whatever the way to a dispatch (A30)."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import hub
from hub.testing.serving import serve_model
from tests.teams import agents, ask, dispatch, lead_to, of_type, report, team, team_folder

PRODUCT = Path(hub.__file__).parent


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def say(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a turn with these calls."""
    return {"calls": list(calls), **more}


def callers(name: str) -> set[str]:
    """Return the modules that call something of this name."""
    found = set()
    for path in PRODUCT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
                found.add(path.relative_to(PRODUCT).as_posix())
    return found


def test_a_job_can_be_made_in_one_place_only() -> None:
    """There the edge is looked at; everything that dispatches comes through it."""
    assert callers("Job") == {"dispatch/build.py"}
    assert callers("build_job") == {"dispatch/dispatcher.py"}
    assert callers("Dispatcher") == {"app/run.py"}
    assert callers("edge_to") >= {"dispatch/build.py"}


async def test_a30_a_role_that_lost_its_edge_cannot_be_resumed_into_using_it(
    tmp_path: Path, workspace: Path
) -> None:
    """The role files as they are now decide, not those of the stored session."""
    folder = team_folder(
        tmp_path,
        lead=lead_to("worker", "reader", tools=[]),
        worker={"tools": []},
        reader={"tools": []},
    )
    lead = [say(dispatch("worker")), {"text": "one"}, say(dispatch("worker")), {"text": "two"}]
    async with serve_model(agents(lead=lead, worker=[say(report())])) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            _, first = await ask(hub, "go")
            session = hub.session_id
        team_folder(tmp_path, lead=lead_to("reader", tools=[]))
        async with team(
            server, workspace, tmp_path, team=folder, role="lead", resume=session
        ) as hub:
            result, second = await ask(hub, "again")
    assert len(of_type(first, "job.started")) == 1
    assert not of_type(second, "job.started")
    [refused] = of_type(second, "tool.result")
    assert refused.kind == "dispatch_refused"
    assert "may not dispatch to 'worker'; it may dispatch to: reader" in refused.text
    assert result.text == "two"


async def test_a30_a_role_that_lost_all_its_edges_has_no_way_to_dispatch_after_a_resume(
    tmp_path: Path, workspace: Path
) -> None:
    """The tool itself is gone."""
    folder = team_folder(tmp_path, lead=lead_to("worker", tools=[]), worker={"tools": []})
    lead = [say(dispatch("worker")), {"text": "one"}, say(dispatch("worker")), {"text": "two"}]
    async with serve_model(agents(lead=lead, worker=[say(report())])) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            await ask(hub, "go")
            session = hub.session_id
        team_folder(tmp_path, lead={"user_facing": True, "tools": []})
        async with team(
            server, workspace, tmp_path, team=folder, role="lead", resume=session
        ) as hub:
            _, events = await ask(hub, "again")
        offered = server.requests[-1].body.get("tools", [])
    assert not of_type(events, "job.started")
    [refused] = of_type(events, "tool.result")
    assert (refused.is_error, refused.kind) == (True, "unknown_tool")
    assert not [tool for tool in offered if tool["function"]["name"] == "dispatch"]


@pytest.mark.parametrize(
    "words",
    ["/dispatch worker do it", "@worker do it", "dispatch(role='worker')", "/worker: do it"],
)
async def test_a30_no_words_of_a_prompt_are_a_dispatch(
    tmp_path: Path, workspace: Path, words: str
) -> None:
    """A slash or a mention names prompts and resources of servers; it starts no role."""
    folder = team_folder(tmp_path, lead=lead_to(tools=[]), worker={"tools": []})
    async with serve_model(agents(lead=[{"text": "ok"}])) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            result, events = await ask(hub, words)
        assert [r.agent for r in server.requests] == ["lead"]
    assert result.outcome == "done"
    assert not of_type(events, "job.started")


NAMES = ("Worker", "WORKER", " worker", "worker.md", "hidden", "agent_worker", "lead/worker#1", "*")


@pytest.mark.parametrize("name", NAMES)
async def test_a30_a_role_goes_by_its_own_name_and_by_no_other(
    tmp_path: Path, workspace: Path, name: str
) -> None:
    """Neither by the name of its file, nor in other letters, nor by the path of an agent."""
    folder = team_folder(tmp_path, lead=lead_to("worker", tools=[]), secret={"tools": []})
    fields = {"name": "worker", "tools": [], "instructions": "I am worker."}
    (folder / "roles" / "hidden.yaml").write_text(json.dumps(fields), encoding="utf-8")
    lead = [say(dispatch(name)), say(dispatch("secret")), {"text": "ok"}]
    async with serve_model(agents(lead=lead)) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            _, events = await ask(hub, "go")
    assert not of_type(events, "job.started")
    refused = of_type(events, "tool.result")
    assert [result.kind for result in refused] == ["dispatch_refused"] * 2


@pytest.mark.parametrize("background", [False, True])
async def test_a30_a_child_has_its_own_edges_and_none_of_its_parents(
    tmp_path: Path, workspace: Path, background: bool
) -> None:
    """In the foreground and in the background."""
    folder = team_folder(
        tmp_path,
        lead=lead_to("middle", "worker", tools=[]),
        middle={"tools": [], "dispatch": ["reader"]},
        worker={"tools": []},
        reader={"tools": []},
    )
    again = {"text": "ok", "repeat": 3, "optional": True}
    script = agents(
        lead=[say(dispatch("middle", background=background)), again],
        middle=[say(dispatch("worker", background=background)), say(report())],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            _, events = await ask(hub, "go")
    assert [job.role for job in of_type(events, "job.started")] == ["middle"]
    [refused, _] = of_type(events, "tool.result", "lead/middle#1")
    assert refused.kind == "dispatch_refused"
