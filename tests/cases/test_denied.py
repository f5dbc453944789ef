"""Case A50: work that was denied is never a success, in the result, the JSON and the exit code."""

import json
import subprocess
import sys
from typing import Any

import pytest

from hub.testing.asker import ScriptedAsker
from hub.testing.serving import serve_model
from tests.teams import ask, environment, of_type, team

SHELL = {"tool": "shell__run", "args": {"command": "echo hi"}}
WRITE = {"tool": "files__write", "args": {"path": "a.txt", "content": "x"}}
REPORT = {"tool": "report", "args": {"status": "success", "summary": "all fine"}}


def script(*turns: dict[str, Any], child: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A lead's turns, and a worker's."""
    lead = {"match": {"system_contains": "You lead"}, "turns": list(turns)}
    worker = {"turns": child or [{"text": "unused", "optional": True}]}
    return {"script": 1, "agents": {"lead": lead, "worker": worker}}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def run(workspace, tmp_path, source, **options):
    async with serve_model(source) as server:
        async with team(server, workspace, tmp_path, **{"mode": "default", **options}) as hub:
            result, events = await ask(hub, "go")
        assert all(record.status == 200 for record in server.requests)
    return result, events


async def test_a50_a_run_whose_only_useful_tool_was_denied_ends_denied(tmp_path, workspace):
    """Nobody could be asked; the model says something nice all the same."""
    result, events = await run(
        workspace, tmp_path, script({"calls": [SHELL]}, {"text": "All good!"})
    )
    assert (result.outcome, result.stop_reason) == ("denied", "approval_denied")
    [denied] = result.denied_calls
    assert (denied.agent, denied.tool) == ("lead", "shell__run")
    assert "nobody could be asked" in denied.reason
    assert [r.ruling for r in of_type(events, "tool.ruling")] == ["ask", "deny"]


async def test_a50_a_denied_child_makes_its_report_and_its_parent_denied(tmp_path, workspace):
    """Although the child reports success."""
    dispatch = {"tool": "dispatch", "args": {"role": "worker", "task": "write"}}
    source = script(
        {"calls": [dispatch]}, {"text": "done"}, child=[{"calls": [WRITE]}, {"calls": [REPORT]}]
    )
    result, events = await run(workspace, tmp_path, source)
    [job] = of_type(events, "job.done")
    assert job.outcome == "denied"
    assert job.result["report"]["status"] == "success"
    assert result.outcome == "denied"
    assert result.denied_calls[0].agent == "lead/worker#1"
    assert list(workspace.iterdir()) == []


async def test_a_denial_that_is_made_good_later_is_forgotten(tmp_path, workspace):
    """The same tool succeeds after all."""
    asker = ScriptedAsker(["deny", "once"])
    source = script({"calls": [WRITE]}, {"calls": [WRITE]}, {"text": "done"})
    result, _ = await run(workspace, tmp_path, source, asker=asker)
    assert (result.outcome, result.denied_calls) == ("done", ())


@pytest.mark.parametrize(
    ("answers", "outcome", "files"),
    [(["deny"], "denied", 0), (["once"], "done", 1), (["session"], "done", 1)],
)
async def test_a_person_decides_and_the_call_follows(tmp_path, workspace, answers, outcome, files):
    """The question says who asks, for what, with which arguments."""
    asker = ScriptedAsker(answers)
    source = script({"calls": [WRITE]}, {"text": "done"})
    result, _ = await run(workspace, tmp_path, source, asker=asker)
    assert (result.outcome, len(list(workspace.iterdir()))) == (outcome, files)
    [question] = asker.questions
    assert (question.agent, question.tool) == ("lead", "files__write")
    assert json.loads(question.arguments) == WRITE["args"]


async def test_once_is_once_and_for_the_session_is_for_the_session(tmp_path, workspace):
    """Two calls: asked twice, or asked once."""
    calls = [{"tool": "shell__run", "args": {"command": f"echo {n}"}} for n in range(2)]
    for answers in (["once", "once"], ["session"]):
        asker = ScriptedAsker(answers)
        source = script({"calls": calls}, {"text": "done"})
        result, _ = await run(workspace, tmp_path / answers[0], source, asker=asker)
        assert result.outcome == "done"
        asker.assert_finished()


@pytest.mark.parametrize(
    ("mode", "outcome"), [("plan", "denied"), ("accept_edits", "done"), ("bypass", "done")]
)
async def test_the_mode_of_the_run_is_the_ceiling_of_its_children(
    tmp_path, workspace, mode, outcome
):
    """A worker under plan writes nothing."""
    dispatch = {"tool": "dispatch", "args": {"role": "worker", "task": "write"}}
    source = script(
        {"calls": [dispatch]}, {"text": "done"}, child=[{"calls": [WRITE]}, {"calls": [REPORT]}]
    )
    result, _ = await run(workspace, tmp_path, source, mode=mode)
    assert result.outcome == outcome
    assert bool(list(workspace.iterdir())) is (outcome == "done")


async def test_a_deny_rule_holds_in_every_mode_and_names_its_place(tmp_path, workspace):
    """Also under bypass, and although a person would have said yes."""
    source = script({"calls": [WRITE]}, {"text": "done"})
    result, events = await run(
        workspace,
        tmp_path,
        source,
        mode="bypass",
        assignments=['permissions.deny=["files__write"]'],
    )
    assert result.outcome == "denied"
    [ruling] = of_type(events, "tool.ruling")
    assert "deny rule 'files__write'" in ruling.reason
    assert ruling.origin


async def test_a_tool_outside_of_the_grant_is_denied_and_not_offered(tmp_path, workspace):
    """The orchestrator has no shell, whatever it asks for."""
    agents = {"agents": {"o": {"turns": [{"calls": [SHELL]}, {"text": "done"}]}}, "script": 1}
    async with serve_model(agents) as server:
        async with team(server, workspace, tmp_path, role="orchestrator") as hub:
            result, _ = await ask(hub, "go")
        offered = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
    assert "shell__run" not in offered
    assert result.outcome == "denied"


async def test_a50_the_command_exits_with_3_and_its_json_names_the_call(tmp_path, workspace):
    """What CI sees."""
    async with serve_model(script({"calls": [SHELL]}, {"text": "All good!"})) as server:
        import anyio.to_thread

        def hub_run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [sys.executable, "-m", "hub", "run", "go", "--output", "json"],
                cwd=workspace,
                env=environment(server, tmp_path),
                capture_output=True,
                encoding="utf-8",
                timeout=30,
                check=False,
            )

        done = await anyio.to_thread.run_sync(hub_run)
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert (result["outcome"], result["exit_code"]) == ("denied", 3)
    assert result["denied_calls"][0]["tool"] == "shell__run"
