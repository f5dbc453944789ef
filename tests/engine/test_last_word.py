"""A child at its limit gets one request to report; its outcome stays that of the limit."""

from pathlib import Path
from typing import Any

import pytest

from hub.core import events as ev
from hub.core.jobs import TurnResult
from hub.testing.serving import serve_model
from tests.teams import agents, ask, dispatch, lead_to, of_type, report, team, team_folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to work on, with one file."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


LOOK = {
    "text": "looking",
    "calls": [{"tool": "files__list", "args": {"depth": "{{ turn_index + 1 }}"}}],
    "repeat": 9,
}


def reports(summary: str) -> dict[str, Any]:
    """The turn of a child that reports."""
    return {"calls": [report(summary)]}


async def limited(
    tmp_path: Path, workspace: Path, child: list[dict[str, Any]], **role: Any
) -> tuple[ev.JobDone, TurnResult, list[dict[str, Any]]]:
    """What becomes of a child with bounds, of its parent, and what the child's model was sent."""
    roles = team_folder(tmp_path, lead=lead_to({"role": "child"}), child=role)
    script = agents(lead=[{"calls": [dispatch("child")]}, {"text": "ok"}], child=child)
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
        sent = [request.body for request in server.requests]
    [job] = of_type(events, "job.done")
    return job, result, sent


async def test_a_child_at_its_step_limit_reports_what_it_has(
    tmp_path: Path, workspace: Path
) -> None:
    """``limit`` with a report in it, never ``done``; the parent sees used and limit (A38)."""
    child = [LOOK | {"repeat": 2}, reports("half of it")]
    job, result, sent = await limited(tmp_path, workspace, child, limits={"steps": 2})
    assert (job.outcome, job.stop_reason) == ("limit", "max_turns")
    assert job.result["report"]["summary"] == "half of it"
    assert "2 of 2 used" in job.result["error"]["message"]
    assert result.outcome == "done"
    last = sent[3]
    assert last["tool_choice"]["function"]["name"] == "report"
    assert "Call report now" in last["messages"][-1]["content"]


async def test_other_calls_of_a_last_word_are_not_run(tmp_path: Path, workspace: Path) -> None:
    """Only the report is."""
    both = {"calls": [{"tool": "files__list", "args": {"depth": 9}}, report("half of it")]}
    child = [LOOK | {"repeat": 2}, both]
    job, _, _ = await limited(tmp_path, workspace, child, limits={"steps": 2})
    assert job.result["report"]["summary"] == "half of it"


@pytest.mark.parametrize(
    "answer", [{"text": "I would rather go on"}, {"text": "x", "calls": [{"tool": "files__list"}]}]
)
async def test_a_last_word_without_a_report_leaves_what_was_said(
    tmp_path: Path, workspace: Path, answer: dict[str, Any]
) -> None:
    """There is no second one."""
    child = [LOOK | {"repeat": 2}, answer]
    job, _, sent = await limited(tmp_path, workspace, child, limits={"steps": 2})
    assert (job.outcome, job.result["partial_text"]) == ("limit", "looking")
    assert job.result.get("report") is None
    assert len(sent) == 5


async def test_a_budget_of_tokens_keeps_room_for_the_report(
    tmp_path: Path, workspace: Path
) -> None:
    """Work stops at nineteen parts of twenty; the report fits into the last one (A38, A41)."""
    spend = LOOK | {"usage": {"input_tokens": 47_400, "output_tokens": 10}, "repeat": 2}
    last = reports("half of it") | {"usage": {"input_tokens": 4_000, "output_tokens": 50}}
    job, _, _ = await limited(
        tmp_path, workspace, [spend, last], limits={"tokens": 100_000, "steps": None}
    )
    assert (job.outcome, job.stop_reason) == ("budget", "max_tokens")
    assert job.result["report"]["summary"] == "half of it"
    assert job.result["usage"]["input_tokens"] <= 100_000


async def test_a_child_whose_time_is_over_reports_what_it_has(
    tmp_path: Path, workspace: Path
) -> None:
    """The answer that was under way is cut, and the report follows."""
    slow = {"text": "a b c d e f", "wire": {"stall": {"after": 2, "name": "slow"}}}
    job, _, _ = await limited(
        tmp_path, workspace, [slow, reports("half of it")], limits={"seconds": 1.0}
    )
    assert (job.outcome, job.stop_reason) == ("limit", "deadline")
    assert job.result["report"]["summary"] == "half of it"
