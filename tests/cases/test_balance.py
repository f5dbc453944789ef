"""Case A20: whatever ends a tree, each start has one end, and all who tell of an end agree."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hub.app.hub import Hub
from hub.core.events import AnyEvent
from hub.testing.serving import serve_model
from tests.teams import (
    agents,
    ask,
    cancel_when,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    report,
    team,
    team_folder,
    whole_log,
)

READ = {"tool": "files__read", "args": {"path": "a.txt"}}
SLEEP = {"tool": "shell__run", "args": {"command": "sleep 60"}}
STALLED = {"text": "x" * 90, "wire": {"stall": {"after": 2}}}
GOOD = {"calls": [report()]}
LATE = {"text": "I have no report", "optional": True}
"""What a child says that is asked for its report at its limit."""


async def to_the_end(hub: Hub) -> None:
    await ask(hub, "go")


def cancelled_at(kind: str) -> Callable[[Hub], Awaitable[Any]]:
    return lambda hub: cancel_when(hub, "go", lambda e: e.type == kind and e.agent != "lead")


def left_at(kind: str) -> Callable[[Hub], Awaitable[Any]]:
    async def read(hub: Hub) -> None:
        async with hub.ask("go") as events:
            async for event in events:
                if event.type == kind and event.agent != "lead":
                    break

    return read


@dataclass(frozen=True)
class End:
    """What two children over one edge do, and how both and their parent end."""

    child: list[dict[str, Any]]
    jobs: tuple[str, str]
    """Outcome and stop reason of each job."""
    root: str = "done"
    limits: tuple[str, ...] = ()
    fields: Any = None
    """Of the child's role."""
    live: Callable[[Hub], Awaitable[Any]] = to_the_end


ENDS = {
    "success": End([{"calls": [READ]}, GOOD], ("done", "reported")),
    "the child says that it failed": End(
        [{"calls": [report(status="failed")]}], ("failed", "reported")
    ),
    "the model refuses the child": End(
        [{"wire": {"fault": {"status": 401}}}], ("model_error", "model_error")
    ),
    "the child's connection breaks": End(
        [{"text": "half of it", "wire": {"close": {"after": 2}}}], ("model_error", "model_error")
    ),
    "the child's steps are used up": End(
        [{"calls": [READ], "repeat": 9}], ("limit", "max_turns"), fields={"limits": {"steps": 2}}
    ),
    "the child's tokens are used up": End(
        [{"calls": [READ], "repeat": 9, "usage": {"input_tokens": 900}}],
        ("budget", "max_tokens"),
        fields={"limits": {"tokens": 1000}},
    ),
    "the child's time is over": End(
        [STALLED, LATE], ("limit", "deadline"), fields={"limits": {"seconds": 0.3}}
    ),
    "the child's time is over in a call": End(
        [{"calls": [SLEEP]}, LATE], ("limit", "deadline"), fields={"limits": {"seconds": 0.5}}
    ),
    "the child never reports": End([{"text": "no", "repeat": 9}], ("invalid_report", "no_report")),
    "the child is denied": End(
        [{"calls": [{"tool": "files__write", "args": {"path": "b", "content": "b"}}]}, GOOD],
        ("denied", "approval_denied"),
        root="denied",
        fields={"permissions": {"deny": ["files__write"]}},
    ),
    "the parent's time is over": End(
        [STALLED],
        ("cancelled", "parent_cancelled"),
        root="limit",
        limits=("limits.seconds=0.5",),
    ),
    "cancelled while a child streams": End(
        [STALLED],
        ("cancelled", "parent_cancelled"),
        root="cancelled",
        live=cancelled_at("text.delta"),
    ),
    "cancelled while a child runs a command": End(
        [{"calls": [SLEEP]}],
        ("cancelled", "parent_cancelled"),
        root="cancelled",
        live=cancelled_at("tool.ruling"),
    ),
    "left while a child streams": End(
        [STALLED], ("cancelled", "parent_cancelled"), root="cancelled", live=left_at("text.delta")
    ),
    "left while a child runs a command": End(
        [{"calls": [SLEEP]}],
        ("cancelled", "parent_cancelled"),
        root="cancelled",
        live=left_at("tool.ruling"),
    ),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("at_once", [2, 1], ids=["side by side", "one queued"])
async def test_a20_starts_and_ends_balance_and_agree(
    tmp_path: Path, workspace: Path, name: str, at_once: int
) -> None:
    """Two children, both running or one in the queue; then the session goes on all the same."""
    end = ENDS[name]
    edge = {"role": "child", "max_parallel": at_once}
    roles = team_folder(tmp_path, lead=lead_to(edge), child=end.fields or {})
    script = agents(
        lead=[{"calls": [dispatch("child"), dispatch("child")]}, {"text": "ok", "repeat": 9}],
        child=end.child,
    )
    options = {"team": roles, "assignments": end.limits}
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, **options) as hub:
            await end.live(hub)
        log = whole_log(tmp_path, hub.session_id)
        assert not imbalance(log)
        check_ends(log, end)
        server.release()
        async with team(server, workspace, tmp_path, team=roles, resume=hub.session_id) as again:
            result, _ = await ask(again, "and now?")
        assert (result.outcome, result.text) == ("done", "ok")
        assert not [problem for record in server.requests for problem in record.problems]
        assert not imbalance(whole_log(tmp_path, hub.session_id))


def check_ends(log: Iterable[AnyEvent], end: End) -> None:
    """The job, the child's turn and the child's session end in the same words."""
    log = list(log)
    jobs = {done.child: done for done in of_type(log, "job.done")}
    assert jobs
    assert {(done.outcome, done.stop_reason) for done in jobs.values()} == {end.jobs}
    turns = {done.session: done for done in of_type(log, "turn.done") if done.session in jobs}
    sessions = {done.session: done for done in of_type(log, "session.done")}
    assert turns.keys() == sessions.keys()
    never_begun = jobs.keys() - sessions.keys()
    assert len(never_begun) < len(jobs)
    for session, job in jobs.items():
        if session in never_begun:
            continue
        assert (turns[session].outcome, turns[session].stop_reason) == end.jobs
        assert sessions[session].outcome == job.outcome
        assert job.result["outcome"] == job.outcome
    assert [done.outcome for done in of_type(log, "turn.done", "lead")] == [end.root]
