"""What is said at the end of a run of changes that wait in patches."""

from typing import Any

from hub.cli.changes import MOST, KeptChanges
from hub.core import events as ev


def told(*results: dict[str, Any]) -> str:
    """Return what is said after jobs with these results."""
    changes = KeptChanges()
    for number, result in enumerate(results):
        job, agent = f"j-{number}", f"lead/worker#{number}"
        changes.note(
            ev.JobStarted(
                job=job, role="worker", task="t", call_id="c", child="s", child_agent=agent, depth=1
            )
        )
        changes.note(
            ev.JobDone(
                job=job, role="worker", outcome="done", stop_reason="reported", child="s",
                result=result,
            )
        )  # fmt: skip
    return changes.text()


def kept(number: int, **more: Any) -> dict[str, Any]:
    """Return a result with changes."""
    changes = {"files": 2, "insertions": 3, "deletions": 1, "hint": f"hub jobs diff j-{number}"}
    return {"changes": {**changes, **more}}


def test_nothing_is_said_where_nothing_waits() -> None:
    """No changes, and a work tree in which nothing was changed."""
    assert told({}, {"changes": {"files": 0, "insertions": 0, "deletions": 0}}) == ""


def test_each_child_is_named_with_what_it_changed_and_what_to_do() -> None:
    """Untrusted parts are printable; more than a few are counted (item 9)."""
    text = told(kept(0), kept(1, incomplete="no\x1b[2J"))
    assert text.splitlines() == [
        "changes of lead/worker#0: 2 files, +3 -1; see: hub jobs diff j-0",
        "changes of lead/worker#1: 2 files, +3 -1, not complete (no\\x1b[2J); "
        "see: hub jobs diff j-1",
        "  the workspace has none of it until: hub jobs apply JOB",
    ]
    lines = told(*(kept(number) for number in range(MOST + 2))).splitlines()
    assert lines[MOST] == "changes of 2 more: hub jobs list --changes"
