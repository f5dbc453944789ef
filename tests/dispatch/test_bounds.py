"""What bounds a child: its tools, its tokens, its files, and the form of its report."""

from pathlib import Path
from typing import Any

import pytest

from hub.testing.serving import serve_model
from tests.teams import agents, ask, dispatch, lead_to, of_type, report, team, team_folder

GOOD: list[dict[str, Any]] = [{"calls": [report()]}]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to work on, with one file."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def bad_files(workspace: Path) -> dict[str, str]:
    """Make files that may not be handed on; return their names with words of the refusal."""
    (workspace.parent / "secret.txt").write_text("secret", encoding="utf-8")
    (workspace / "out").symlink_to("../secret.txt")
    (workspace / "round").symlink_to("round")
    return {
        "out": "outside of the workspace",
        "round": "cannot be read",
        "a\0b": "cannot be read",
        "a" * 5000: "cannot be read",
        "a.txt/b": "does not exist",
        "none.txt": "does not exist",
    }


async def test_files_that_cannot_be_handed_on_are_refused_in_words_a_model_can_use(
    tmp_path: Path, workspace: Path
) -> None:
    """Links that lead out, links in a circle, names that no file can have."""
    files = bad_files(workspace)
    calls = [dispatch("child", files=["a.txt", name]) for name in files]
    roles = team_folder(tmp_path, lead=lead_to("child"), child={})
    script = agents(
        lead=[{"calls": calls}, {"text": "ok"}], child=[{"text": "x", "optional": True}]
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            _, events = await ask(hub, "go")
    assert of_type(events, "job.started") == []
    results = {result.call_id: result for result in of_type(events, "tool.result")}
    for number, words in enumerate(files.values()):
        result = results[f"call_0_{number}"]
        assert (result.kind, words in result.text) == ("dispatch_refused", True), result.text


async def test_a_child_is_offered_what_role_and_edge_both_leave_and_nothing_else(
    tmp_path: Path, workspace: Path
) -> None:
    """What an edge takes away stays away further down, and a call of it is denied."""
    edge = {"role": "mid", "tools": ["files__*"]}
    mid = {"tools": ["files__read", "files__list", "shell__*"], "dispatch": ["leaf"]}
    leaf = {"disallowed_tools": ["files__write", "files__edit"]}
    roles = team_folder(tmp_path, lead=lead_to(edge), mid=mid, leaf=leaf)
    run = {"tool": "shell__run", "args": {"command": "echo hi > here"}}
    script = agents(
        lead=[{"calls": [dispatch("mid")]}, {"text": "ok"}],
        mid=[{"calls": [run, dispatch("leaf")]}, *GOOD],
        leaf=[{"calls": [run]}, *GOOD],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
        offered = {
            record.agent: {tool["function"]["name"] for tool in record.body["tools"]}
            for record in server.requests
        }
    assert offered["mid"] == {"files__read", "files__list", "dispatch", "ask", "report"}
    assert offered["leaf"] == {
        "files__read",
        "files__list",
        "files__glob",
        "files__grep",
        "ask",
        "report",
    }
    assert "report" not in offered["lead"]
    assert [r.kind for r in of_type(events, "tool.result") if r.name == "shell__run"] == [
        "denied",
        "denied",
    ]
    assert {denied.agent for denied in result.denied_calls} == {
        "lead/mid#1",
        "lead/mid#1/leaf#1",
    }
    assert not (workspace / "here").exists()


async def test_the_tokens_of_an_edge_end_the_job_and_not_its_parent(
    tmp_path: Path, workspace: Path
) -> None:
    """A request that does not fit is not sent: the job ends, its parent goes on (A39)."""
    edge = {"role": "child", "tokens": 1000}
    roles = team_folder(tmp_path, lead=lead_to(edge), child={})
    look = {"tool": "files__list", "args": {"depth": "{{ turn_index + 1 }}"}}
    spend = {"text": "looking", "calls": [look], "usage": {"input_tokens": 600}, "repeat": 9}
    script = agents(lead=[{"calls": [dispatch("child")]}, {"text": "ok"}], child=[spend])
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
    [job] = of_type(events, "job.done")
    assert (job.outcome, job.stop_reason) == ("budget", "max_tokens")
    assert job.result["partial_text"] == "looking"
    assert (result.outcome, result.text) == ("done", "ok")
    assert result.usage.input_tokens >= job.result["usage"]["input_tokens"] == 600


async def test_nothing_is_dispatched_once_the_budget_is_used_up(
    tmp_path: Path, workspace: Path
) -> None:
    """The request that used it up may have asked for children; they are refused."""
    roles = team_folder(tmp_path, lead=lead_to("child"), child={})
    spend = {"calls": [dispatch("child")], "usage": {"input_tokens": 2000}}
    script = agents(lead=[spend], child=[{"text": "x", "optional": True}])
    options: dict[str, Any] = {"team": roles, "assignments": ["limits.tokens=1000"]}
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, **options) as hub:
            result, events = await ask(hub, "go")
    [refused] = of_type(events, "tool.result")
    assert (refused.kind, "budget is used up" in refused.text) == ("dispatch_refused", True)
    assert of_type(events, "job.started") == []
    assert (result.outcome, result.stop_reason) == ("budget", "max_tokens")


async def test_a_job_that_waits_for_its_turn_says_so(tmp_path: Path, workspace: Path) -> None:
    """Progress names the state and the place in the queue; ids and paths are those of the job."""
    edge = {"role": "child", "max_parallel": 1}
    roles = team_folder(tmp_path, lead=lead_to(edge), child={})
    calls = [dispatch("child") for _ in range(3)]
    script = agents(lead=[{"calls": calls}, {"text": "ok"}], child=GOOD)
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            _, events = await ask(hub, "go")
    queued = of_type(events, "job.progress")
    assert [(e.state, e.position) for e in queued] == [("queued", 1), ("queued", 2)]
    started = of_type(events, "job.started")
    assert [e.child_agent for e in started] == [f"lead/child#{n}" for n in (1, 2, 3)]
    assert [e.job for e in queued] == [e.job for e in started][1:]


async def test_a_report_schema_may_refer_to_its_own_definitions(
    tmp_path: Path, workspace: Path
) -> None:
    """``$ref`` means a place in the role's schema, wherever that stands in the report's."""
    schema = {
        "type": "object",
        "properties": {
            "found": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "default": {"$ref": "#/$defs/item"},
            "$ref": {"const": {"$ref": "#/no/such"}},
        },
        "required": ["found"],
        "$defs": {"item": {"type": "object", "required": ["line"]}},
    }
    roles = team_folder(tmp_path, lead=lead_to("child"), child={"report_schema": schema})
    child = [
        {"calls": [report(data={"found": [{}]})]},
        {"calls": [report(data={"found": [{"line": 3}]})]},
    ]
    script = agents(lead=[{"calls": [dispatch("child")]}, {"text": "ok"}], child=child)
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            _, events = await ask(hub, "go")
    submitted = of_type(events, "report.submitted")
    assert [e.valid for e in submitted] == [False, True]
    assert "line" in submitted[0].errors[0]
    [job] = of_type(events, "job.done")
    assert job.result["report"]["data"] == {"found": [{"line": 3}]}
