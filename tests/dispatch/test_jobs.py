"""Jobs in the background: they go on, are waited for, stopped, asked, and told of once."""

import json
from pathlib import Path
from typing import Any

import pytest

from hub.core.asking import Elicited
from hub.testing import ScriptedElicitor
from hub.testing.serving import serve_model
from tests.teams import (
    agents,
    ask,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    report,
    team,
    team_folder,
)

BACKGROUND = {"background": True}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to work on."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def reports(summary: str = "did it") -> dict[str, Any]:
    """The turn of a child that reports."""
    return {"calls": [report(summary)]}


def delivered(events: list[Any], agent: str = "lead") -> list[str]:
    """The jobs whose results some event has told an agent, in order."""
    told = [e for e in events if e.agent == agent and getattr(e, "delivers", None)]
    return [job for event in told for job in event.delivers]


async def lead(
    tmp_path: Path, workspace: Path, turns: list[dict[str, Any]], **children: Any
) -> tuple[Any, list[Any], list[Any]]:
    """The result of a lead over children, the events, and the requests that were sent."""
    edges = [{"role": name, "max_parallel": 8} for name in children]
    roles = team_folder(tmp_path, lead=lead_to(*edges), **{name: {} for name in children})
    async with serve_model(agents(lead=turns, **children)) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
        assert not imbalance(events)
        return result, events, server.requests


async def test_a_parent_goes_on_and_hears_the_result_at_the_next_boundary(
    tmp_path: Path, workspace: Path
) -> None:
    """It is told once, as context, before the turn is idle (A19, A21)."""
    result, events, requests = await lead(
        tmp_path,
        workspace,
        [
            {"calls": [dispatch("child", **BACKGROUND)]},
            {"text": "meanwhile"},
            {"text": "all done"},
        ],
        child=[reports("found 7")],
    )
    assert (result.outcome, result.text) == ("done", "all done")
    [started] = of_type(events, "job.started")
    assert started.background
    assert delivered(events) == [started.job]
    [first] = [e for e in of_type(events, "tool.result", "lead") if e.name == "dispatch"]
    assert started.job in first.text
    assert "found 7" in requests[-1].body["messages"][-1]["content"]


async def test_results_that_come_while_the_parent_speaks_are_all_told_once(
    tmp_path: Path, workspace: Path
) -> None:
    """Eight children end within one answer of their parent (A21)."""
    stalled = {"text": "thinking", "wire": {"stall": {"after": 1, "seconds": 1.0}}}
    result, events, _ = await lead(
        tmp_path,
        workspace,
        [
            {"calls": [dispatch("child", f"t{number}", **BACKGROUND) for number in range(8)]},
            stalled,
            {"text": "ok", "repeat": 8},
        ],
        child=[reports()],
    )
    assert result.outcome == "done"
    jobs = [event.job for event in of_type(events, "job.started")]
    assert sorted(delivered(events)) == sorted(jobs)
    assert len(jobs) == 8


async def test_a_wait_ends_at_its_own_time_whatever_the_child_does(
    tmp_path: Path, workspace: Path
) -> None:
    """A child that says nothing is told of as still running; cancelling it brings its end (A15)."""
    result, events, _ = await lead(
        tmp_path,
        workspace,
        [
            {"calls": [dispatch("child", **BACKGROUND)]},
            {"calls": [{"tool": "wait_jobs", "args": {"timeout": 0.5}}]},
            {
                "calls": [
                    {"tool": "cancel_job", "args": {"job_id": "{{ last[0].json.jobs[0].job_id }}"}}
                ]
            },
            {"text": "ok"},
        ],
        child=[{"text": "x", "wire": {"stall": {"name": "for ever"}}}],
    )
    waited, cancelled = [
        e for e in of_type(events, "tool.result", "lead") if e.name in ("wait_jobs", "cancel_job")
    ]
    assert waited.duration_ms < 1500
    assert "Not ended yet" in waited.text
    assert '"running"' in waited.text
    [done] = of_type(events, "job.done")
    assert done.outcome == "cancelled"
    assert cancelled.delivers == [done.job]
    assert result.outcome == "done"


async def test_jobs_are_listed_with_what_they_do(tmp_path: Path, workspace: Path) -> None:
    """The tools for them are on offer once there is a job, behind all others."""
    _, events, requests = await lead(
        tmp_path,
        workspace,
        [
            {"calls": [dispatch("child", "count", **BACKGROUND)]},
            {"calls": [{"tool": "wait_jobs"}]},
            {"calls": [{"tool": "jobs"}]},
            {"text": "ok"},
        ],
        child=[reports()],
    )
    names = [[tool["function"]["name"] for tool in r.body["tools"]] for r in requests]
    mine = [offered for offered in names if "report" not in offered]
    assert "jobs" not in mine[0]
    assert mine[1][: len(mine[0])] == mine[0]
    assert mine[1][len(mine[0]) :] == ["jobs", "wait_jobs", "cancel_job", "answer_job"]
    [listed] = [e for e in of_type(events, "tool.result", "lead") if e.name == "jobs"]
    [row] = json.loads(listed.text)["jobs"]
    assert (row["role"], row["state"], row["task"]) == ("child", "done", "count")
    assert row["delivered"]


async def test_a_question_of_a_child_is_answered_by_its_parent(
    tmp_path: Path, workspace: Path
) -> None:
    """It comes as the dispatch's result; the child waits and goes on with the answer (A26)."""
    asks = {"calls": [{"tool": "ask", "args": {"question": "which?", "options": ["a", "b"]}}]}
    result, events, _ = await lead(
        tmp_path,
        workspace,
        [
            {"calls": [dispatch("child")]},
            {
                "calls": [
                    {
                        "tool": "answer_job",
                        "args": {"job_id": "{{ last[0].json.job_id }}", "answer": "b"},
                    }
                ]
            },
            {"calls": [{"tool": "wait_jobs"}]},
            {"text": "ok"},
        ],
        child=[asks, {"calls": [report("took {{ last[0].json.answer }}")]}],
    )
    assert result.outcome == "done"
    [question] = of_type(events, "job.question")
    assert (question.question, question.options) == ("which?", ["a", "b"])
    [answered] = of_type(events, "job.answered")
    assert (answered.answer, answered.by) == ("b", "parent")
    [done] = of_type(events, "job.done")
    assert done.result["report"]["summary"] == "took b"
    assert delivered(events) == [done.job]


async def test_a_question_that_is_left_is_answered_by_nobody(
    tmp_path: Path, workspace: Path
) -> None:
    """The parent ends without an answer: the child hears so and reports what it has (A24, A26)."""
    asks = {"calls": [{"tool": "ask", "args": {"question": "which?"}}]}
    result, events, _ = await lead(
        tmp_path,
        workspace,
        [{"calls": [dispatch("child")]}, {"text": "never mind"}, {"text": "ok"}],
        child=[asks, reports("guessed")],
    )
    [answered] = of_type(events, "job.answered")
    assert answered.by == "nobody"
    [told] = [e for e in of_type(events, "tool.result") if e.name == "ask"]
    assert told.kind == "approval_timeout"
    [done] = of_type(events, "job.done")
    assert delivered(events) == [done.job]
    assert result.text == "ok"


async def test_a_question_that_the_parent_leaves_goes_to_the_user(
    tmp_path: Path, workspace: Path
) -> None:
    """The user is next in line, with who asks and what it proposes (A26)."""
    asks = {"calls": [{"tool": "ask", "args": {"question": "which?", "options": ["a", "b"]}}]}
    script = agents(
        lead=[{"calls": [dispatch("child")]}, {"text": "I do not know"}, {"text": "ok"}],
        child=[asks, {"calls": [report("took {{ last[0].json.answer }}")]}],
    )
    roles = team_folder(tmp_path, lead=lead_to("child"), child={})
    elicitor = ScriptedElicitor([Elicited("accept", {"answer": "b"})])
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles, elicitor=elicitor) as hub:
            _, events = await ask(hub, "go")
    [asked] = elicitor.questions
    assert (asked.server, asked.agent, asked.message) == ("", "lead/child#1", "which?")
    [answered] = of_type(events, "job.answered")
    assert (answered.answer, answered.by) == ("b", "user")
    [done] = of_type(events, "job.done")
    assert done.result["report"]["summary"] == "took b"


async def test_a_question_climbs_over_a_parent_that_is_a_child_itself(
    tmp_path: Path, workspace: Path
) -> None:
    """What the middle leaves its own parent is asked (A26)."""
    roles = team_folder(
        tmp_path,
        lead=lead_to("middle"),
        middle={"dispatch": [{"role": "leaf"}]},
        leaf={},
    )
    job = "{{ last[0].json.job_id }}"
    script = agents(
        lead=[
            {"calls": [dispatch("middle")]},
            {"calls": [{"tool": "answer_job", "args": {"job_id": job, "answer": "blue"}}]},
            {"text": "waiting"},
            {"text": "ok"},
        ],
        middle=[
            {"calls": [dispatch("leaf")]},
            {"text": "I leave that"},
            reports("middle"),
        ],
        leaf=[
            {"calls": [{"tool": "ask", "args": {"question": "which colour?"}}]},
            {"calls": [report("took {{ last[0].json.answer }}")]},
        ],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "done"
    leaf = next(e for e in of_type(events, "job.done") if e.role == "leaf")
    assert leaf.result["report"]["summary"] == "took blue"
    questions = [e.question for e in of_type(events, "job.question")]
    assert questions == ["which colour?", "lead/middle#1/leaf#1 asks: which colour?"]


async def test_a_child_cannot_report_over_jobs_of_its_own(tmp_path: Path, workspace: Path) -> None:
    """It waits for them or stops them; a decision is explicit."""
    roles = team_folder(
        tmp_path,
        lead=lead_to({"role": "middle"}),
        middle={"dispatch": [{"role": "leaf"}]},
        leaf={},
    )
    script = agents(
        lead=[{"calls": [dispatch("middle")]}, {"text": "ok"}],
        middle=[
            {"calls": [dispatch("leaf", **BACKGROUND)]},
            reports("too early"),
            {"calls": [{"tool": "wait_jobs"}]},
            reports("in time"),
        ],
        leaf=[{"text": "", "calls": [report("leaf")], "wire": {"stall": {"seconds": 0.5}}}],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
    [refused] = [e for e in of_type(events, "tool.result") if e.kind == "open_jobs"]
    assert "wait_jobs" in refused.text
    middle = next(e for e in of_type(events, "job.done") if e.role == "middle")
    assert middle.result["report"]["summary"] == "in time"
    assert result.outcome == "done"


@pytest.mark.parametrize("cap", [1, 2])
async def test_a_tree_with_few_places_does_not_wait_for_itself(
    tmp_path: Path, workspace: Path, cap: int
) -> None:
    """Whoever waits for its children lends them its place, at every level (A16)."""
    roles = team_folder(
        tmp_path,
        lead=lead_to({"role": "middle"}),
        middle={"dispatch": [{"role": "leaf"}]},
        leaf={},
    )
    script = agents(
        lead=[{"calls": [dispatch("middle", f"t{n}") for n in range(3)]}, {"text": "ok"}],
        middle=[{"calls": [dispatch("leaf"), dispatch("leaf")]}, reports()],
        leaf=[reports()],
    )
    options = {"team": roles, "assignments": [f"jobs.in_tree={cap}"]}
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, **options) as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "done"
    assert len(of_type(events, "job.done")) == 9
    assert {e.outcome for e in of_type(events, "job.done")} == {"done"}
    assert of_type(events, "job.progress")


async def test_places_are_free_again_once_a_job_has_ended(tmp_path: Path, workspace: Path) -> None:
    """Ten short children over an edge of one, one after another (A16)."""
    roles = team_folder(tmp_path, lead=lead_to({"role": "child", "max_parallel": 1}), child={})
    turns = [{"calls": [dispatch("child", f"t{n}")]} for n in range(10)]
    async with serve_model(agents(lead=[*turns, {"text": "ok"}], child=[reports()])) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "done"
    assert len(of_type(events, "job.done")) == 10
