"""How a result reaches the parent: framed, escaped, and JSON however long it is."""

import json
from typing import Any

import pytest

from hub.core.jobs import JobResult, Report
from hub.dispatch.frame import MAX_MESSAGE, result_message


def read(message: str) -> dict[str, Any]:
    """Return the object in a frame."""
    body = message.removeprefix("<dispatch_result>\n").removesuffix("\n</dispatch_result>")
    assert body != message
    found: dict[str, Any] = json.loads(body)
    return found


def result(**report: Any) -> dict[str, Any]:
    """Return a result with a report."""
    given = {"status": "success", "summary": "all of it", **report}
    return JobResult(
        "j-1", "worker", "done", "reported", report=Report(**given), session_id="s-1"
    ).as_dict()


def nested(depth: int) -> Any:
    """Return data that is wide at every level."""
    return {f"key {n}": nested(depth - 1) for n in range(7)} if depth else "x" * 60


def test_a_result_of_a_moderate_size_is_told_whole() -> None:
    """Nothing is left out before it has to be."""
    whole = result(details="y" * 40_000, data={"rows": list(range(500))})
    assert read(result_message(whole))["report"] == whole["report"]


@pytest.mark.parametrize(
    "report",
    [
        {"details": "y" * 100_000},
        {"details": "<&>" * 40_000, "summary": "é" * 60_000},
        {"data": {"rows": [{"path": f"src/{n}.py", "lines": n} for n in range(9_000)]}},
        {"data": {f"key {n}": "x" * 100 for n in range(4_000)}},
        {"data": nested(6)},
        {"data": [[[[["z" * 30] * 9] * 9] * 9] * 9] * 9},
        {"data": 10**4_000, "details": "y" * 100_000},
        {"files": tuple(f"src/{n}.py" for n in range(9_000)), "questions": ("?" * 500,) * 400},
    ],
    ids=["text", "escapes", "rows", "keys", "deep", "lists", "number", "files"],
)
def test_a_result_that_is_too_long_stays_json_and_says_what_is_missing(
    report: dict[str, Any],
) -> None:
    """Who did it, how it ended and where to see it are always there."""
    message = result_message(result(**report))
    assert len(message) <= MAX_MESSAGE
    told = read(message)
    assert (told["role"], told["outcome"], told["session_id"]) == ("worker", "done", "s-1")
    assert told["report"]["status"] == "success"
    assert "left out" in message


def test_long_texts_are_shortened_before_lists_are() -> None:
    """Rows are what a parent counts on."""
    rows = list(range(2_000))
    told = read(result_message(result(details="y" * 100_000, data=rows)))
    assert told["report"]["data"] == rows
    assert "characters left out" in told["report"]["details"]
