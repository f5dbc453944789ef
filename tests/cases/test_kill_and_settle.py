"""Case A4: a process that is killed in the middle of parallel dispatches, and the resume."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from hub.core.events import AnyEvent
from hub.testing.model_server import ModelServer, serve_model
from tests.teams import (
    LIMIT,
    agents,
    ask,
    dispatch,
    environment,
    imbalance,
    lead_to,
    of_type,
    report,
    store,
    team,
    team_folder,
    whole_log,
)

STALL = {"stall": {"after": "request"}}


@contextmanager
def hub_run(
    server: ModelServer, workspace: Path, state: Path, *arguments: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a real run in a process of its own; it is killed on the way out."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hub.cli.main", "run", "-C", str(workspace), *arguments],
        env=environment(server, state),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def root_of(state: Path) -> str:
    """Return the only root session, or nothing while there is none."""
    archive = store(state)
    try:
        return next((info.id for info in archive.list_sessions()), "")
    finally:
        archive.close()


async def until_stored(state: Path, kind: str, count: int) -> str:
    """Wait until another process has stored so many events of a kind in its root session."""
    while True:
        root = root_of(state)
        if root:
            archive = store(state)
            found = of_type(archive.events(root), kind)
            archive.close()
            if len(found) >= count:
                return root
        await anyio.sleep(0.02)


def events_of(state: Path, session: str) -> list[AnyEvent]:
    archive = store(state)
    found = list(archive.events(session))
    archive.close()
    return found


async def test_a4_after_a_kill_amid_four_dispatches_every_call_has_one_result(
    tmp_path: Path, workspace: Path
) -> None:
    """Two children are done and two stall when the process dies; the resumed history is legal."""
    lead = [
        {"calls": [dispatch("slow"), dispatch("quick"), dispatch("slow"), dispatch("quick")]},
        {"text": "we go on with {{ results | length }} results"},
    ]
    script = agents(
        lead=lead,
        slow=[{"text": "x", "wire": STALL}],
        quick=[{"calls": [report("quick work")]}],
    )
    roles = team_folder(tmp_path, lead=lead_to("quick", "slow"), quick={}, slow={})
    async with serve_model(script) as server:
        with hub_run(server, workspace, tmp_path, "--team", str(roles), "go") as process:
            with anyio.fail_after(LIMIT):
                root = await until_stored(tmp_path, "tool.result", 2)
                await server.wait_for_requests(5)
            process.kill()
            await anyio.to_thread.run_sync(process.wait)
        async with team(server, workspace, tmp_path, team=roles, resume=root) as hub:
            result, events = await ask(hub, "go on")
        assert (result.outcome, result.text) == ("done", "we go on with 4 results")
        assert {record.status for record in server.requests if record.status} == {200}

    [resumed] = of_type(events, "session.resumed")
    assert resumed.settled == 2
    log = whole_log(tmp_path, root)
    ends = {event.job: event for event in of_type(log, "job.done")}
    assert sorted(end.outcome for end in ends.values()) == ["done", "done", "lost", "lost"]
    assert {end.role for end in ends.values() if end.outcome == "lost"} == {"slow"}
    children = of_type(log, "session.done")
    assert sorted(child.outcome for child in children) == ["done", "done", "lost", "lost"]
    assert not imbalance(log)

    sent = server.requests[-1].body["messages"]
    results = [message["content"] for message in sent if message["role"] == "tool"]
    assert len(results) == 4
    assert ["quick work" in text for text in results] == [False, True, False, True]


async def test_a4_a_second_resume_finds_nothing_left_to_settle(
    tmp_path: Path, workspace: Path
) -> None:
    """What was settled once is not settled again, and the log gets no further ends."""
    lead = [{"calls": [dispatch("slow")]}, {"text": "one"}, {"text": "two"}]
    script = agents(lead=lead, slow=[{"text": "x", "wire": STALL}])
    roles = team_folder(tmp_path, lead=lead_to("slow"), slow={})
    async with serve_model(script) as server:
        with hub_run(server, workspace, tmp_path, "--team", str(roles), "go") as process:
            with anyio.fail_after(LIMIT):
                await server.wait_for_requests(2)
                root = await until_stored(tmp_path, "job.started", 1)
            process.kill()
            await anyio.to_thread.run_sync(process.wait)
        for said, settled in (("one", 1), ("two", 0)):
            async with team(server, workspace, tmp_path, team=roles, resume=root) as hub:
                result, events = await ask(hub, "and?")
            assert (result.outcome, result.text) == ("done", said)
            assert [e.settled for e in of_type(events, "session.resumed")] == [settled]
    assert not imbalance(whole_log(tmp_path, root))


async def test_a_report_that_came_before_the_crash_reaches_the_parent_on_resume(
    tmp_path: Path, workspace: Path
) -> None:
    """Cases A19 and A43: the job was done, only its result was not noted; the work is not lost."""
    lead = [{"calls": [dispatch("quick")]}, {"text": "heard {{ last[0].json.report.summary }}"}]
    script = agents(lead=[*lead, {"text": "!"}], quick=[{"calls": [report("the answer is 7")]}])
    roles = team_folder(tmp_path, lead=lead_to("quick"), quick={})
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            await ask(hub, "go")
        root = hub.session_id
        cut_after(tmp_path, root, "job.done")
        async with team(server, workspace, tmp_path, team=roles, resume=root) as again:
            result, _ = await ask(again, "go on")
    assert (result.outcome, result.text) == ("done", "heard the answer is 7")
    assert not imbalance(whole_log(tmp_path, root))


def cut_after(state: Path, session: str, kind: str) -> None:
    """Leave a store as a process would that died right after it stored an event of a kind."""
    [event] = of_type(events_of(state, session), kind)
    with closing(sqlite3.connect(state / "state" / "hub.db")) as connection, connection:
        connection.execute("DELETE FROM events WHERE session = ? AND seq > ?", (session, event.seq))
