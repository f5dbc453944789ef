"""The scripts that the model server plays, one for each figure."""

from pathlib import Path
from typing import Any

FILES = 12
"""Small files to read in turn; the hub would stop an agent that reads a single one for ever."""


def write_files(folder: Path) -> None:
    """Make the workspace: a few small text files."""
    for number in range(FILES):
        lines = [f"{number}: line {line} of a small file" for line in range(8)]
        (folder / f"small{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def answer() -> dict[str, Any]:
    """One short answer."""
    return {"script": 1, "turns": [{"text": "Hello."}]}


def waiting() -> dict[str, Any]:
    """An answer that does not come, so that the process can be looked at as it waits."""
    return {"script": 1, "turns": [{"text": "Hello.", "wire": {"stall": {"after": "request"}}}]}


def steps(count: int) -> dict[str, Any]:
    """So many requests: each but the last asks to read a file."""
    turns: list[dict[str, Any]] = [{"calls": [read_call(number)]} for number in range(count - 1)]
    return {"script": 1, "turns": [*turns, {"text": "All steps are done."}]}


def fan_out(children: int, *, second_prompt: bool) -> dict[str, Any]:
    """A lead that dispatches all children in one message; each reads twice, then reports.

    With ``second_prompt`` the lead reads a file on the first prompt, so that its server is up.
    """
    before = [{"calls": [read_call(0)]}, {"text": "Ready."}] if second_prompt else []
    jobs = [
        {"tool": "dispatch", "args": {"role": "child", "task": f"Do part {number}."}}
        for number in range(children)
    ]
    report = {"tool": "report", "args": {"status": "success", "summary": "This part is done."}}
    return {
        "script": 1,
        "agents": {
            "lead": {
                "match": {"system_contains": "You lead the benchmark."},
                "turns": [*before, {"calls": jobs}, {"text": "All parts are done."}],
            },
            "child": {
                "match": {"system_contains": "You are a child of the benchmark."},
                "turns": [
                    {"calls": [read_call(0)]},
                    {"calls": [read_call(1)]},
                    {"calls": [report]},
                ],
            },
        },
    }


def deltas(count: int) -> dict[str, Any]:
    """One answer in so many pieces of one token."""
    return {"script": 1, "turns": [{"wire": {"deltas": count, "batch": 1}}]}


def read_call(number: int) -> dict[str, Any]:
    """The call that reads one of the small files."""
    return {"tool": "files__read", "args": {"path": f"small{number % FILES}.txt"}}
