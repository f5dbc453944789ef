"""What went wrong, in words."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hub.cli.agents import RunAgents
from hub.cli.failures import MOST_CHILDREN, FailedChildren, ending
from hub.cli.lines import RunLines
from hub.core import events as ev
from hub.dispatch.frame import result_outcome
from tests.teams import environment, lead_to, report, team_folder

RESULT = {
    "job_id": "j-1",
    "role": "worker",
    "outcome": "failed",
    "stop_reason": "reported",
    "report": {"status": "failed", "summary": "the <disk> is full"},
    "session_id": "s-child",
}


def dispatched(**changes: Any) -> ev.ToolResultEvent:
    """Return the result of a dispatch whose child failed, as it is stored."""
    outcome = result_outcome({**RESULT, **changes})
    return ev.ToolResultEvent(
        call_id="d1",
        name="dispatch",
        text=outcome.text,
        is_error=outcome.is_error,
        kind=outcome.kind,
        agent="lead",
        session="s",
    )


@pytest.mark.parametrize(
    ("outcome", "reason", "words"),
    [
        ("model_error", "model_error", "model_error"),
        ("failed", "model_error", "failed (model_error)"),
        ("limit", "max_turns", "limit (max_turns)"),
    ],
)
def test_an_ending_says_nothing_twice(outcome: str, reason: str, words: str) -> None:
    """The detail stands where it says more than the outcome."""
    assert ending(outcome, reason) == words


def test_a_failed_dispatch_is_told_once_in_a_log_and_in_words(story: Any) -> None:
    """The end of the job says who failed, how and why; the frame of the result is not shown."""
    story.begin()
    story.dispatch(1, 1, "worker", "do it")
    story.add(
        ev.JobDone,
        2,
        job="j-1",
        role="worker",
        outcome="failed",
        stop_reason="reported",
        child="s",
        result=RESULT,
    )
    worded = RunLines()
    lines = [worded.line(event) for event in [*story.events, dispatched()]]
    assert lines[-2:] == [
        "[  2.0s] lead: lead/worker#1 ended, failed (reported): the <disk> is full",
        None,
    ]


def test_a_failed_dispatch_is_words_in_the_tree() -> None:
    """Role, outcome and cause, and no JSON."""
    agents = RunAgents()
    agents.apply(dispatched())
    assert agents.rows["lead"].note == (
        "dispatch failed: worker ended, failed (reported): the <disk> is full"
    )


def test_a_dispatch_that_was_refused_says_why() -> None:
    """There was no job that could have said it."""
    event = ev.ToolResultEvent(
        call_id="d",
        name="dispatch",
        text="There is no role 'x'.",
        is_error=True,
        kind="r",
        agent="l",
    )
    line = RunLines().line(event)
    assert line is not None
    assert line.endswith("l: dispatch failed: There is no role 'x'.")


def test_a_remedy_at_the_end_of_a_line_is_not_cut(story: Any) -> None:
    """Whoever reads a log has no other place to look."""
    remedy = "Set OPENAI_BASE_URL to where the server listens, or start it."
    story.add(ev.ServerFailed, 0, server="git", error="x" * 200, remedy=remedy)
    story.finish(1, outcome="model_error", error={"message": f"{'y' * 300}\n  {remedy}"})
    worded = RunLines()
    lines = [worded.line(event) or "" for event in story.events]
    assert [line.endswith(remedy) for line in lines] == [True, True]


def test_many_failed_children_are_counted(story: Any) -> None:
    """A wall of text helps nobody."""
    children = FailedChildren()
    for number in range(MOST_CHILDREN + 2):
        story.dispatch(1, number, "worker", "x")
        story.add(
            ev.JobDone,
            2,
            job=f"j-{number}",
            role="worker",
            outcome="limit",
            stop_reason="max_turns",
            child="s",
        )
    for event in story.events:
        children.note(event)
    lines = children.lines()
    assert lines[0] == "lead/worker#0 ended, limit (max_turns)"
    assert (len(lines), lines[-1]) == (MOST_CHILDREN + 1, "2 more children failed")


def test_a_run_that_failed_lists_the_children_that_did(tmp_path: Path) -> None:
    """The fault of the parent's script does not hide what it stumbled over."""
    scripts = {
        "lead": [
            {"calls": [{"tool": "dispatch", "args": {"role": "child", "task": "x"}}]},
            {"text": "{{ last[0].json.report.data.files }}"},
        ],
        "child": [{"calls": [report("there is\nno disk", status="failed")]}],
    }
    for name, turns in scripts.items():
        text = json.dumps({"script": 1, "turns": turns})
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    team = team_folder(
        tmp_path,
        lead=lead_to("child", model=f"script:{tmp_path}/lead.yaml"),
        child={"model": f"script:{tmp_path}/child.yaml"},
    )
    line = [sys.executable, "-m", "hub", "run", "go", "--team", str(team), "-C", str(tmp_path)]
    done = subprocess.run(
        line,
        env=environment("http://127.0.0.1:9/v1", tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    error, child, session = done.stderr.partition("\nerror: ")[2].splitlines()
    assert done.returncode == 5
    assert error.startswith("model_error: ")
    assert child.startswith("  lead/child#1 ended, failed (reported): there is no disk (hub sess")
    assert session.startswith("  what happened: hub sessions show s-")
