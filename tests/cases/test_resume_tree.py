"""Cases A19 and A43: what was done before a crash is not lost on resume, at any depth."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hub.core.events import AnyEvent
from hub.testing.serving import serve_model
from tests.teams import (
    agents,
    ask,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    report,
    store,
    team,
    team_folder,
    whole_log,
)


def events_of(state: Path, session: str) -> list[AnyEvent]:
    archive = store(state)
    found = list(archive.events(session))
    archive.close()
    return found


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


async def test_a_tree_of_three_levels_is_settled_from_its_leaves_to_its_root(
    tmp_path: Path, workspace: Path
) -> None:
    """Every level has one end: the leaf had reported, so only those above it are lost (A43)."""
    roles = team_folder(tmp_path, lead=lead_to("mid"), mid={"dispatch": ["leaf"]}, leaf={})
    script = agents(
        lead=[{"calls": [dispatch("mid")]}, {"text": "{{ last[0].json.outcome }}"}],
        mid=[{"calls": [dispatch("leaf")]}, {"calls": [report()]}],
        leaf=[{"calls": [report()]}],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            await ask(hub, "go")
        root = hub.session_id
        with closing(sqlite3.connect(tmp_path / "state" / "hub.db")) as connection, connection:
            connection.execute(
                "DELETE FROM events WHERE rowid > "
                "(SELECT min(rowid) FROM events WHERE type = 'report.submitted')"
            )
        assert imbalance(whole_log(tmp_path, root))
        async with team(server, workspace, tmp_path, team=roles, resume=root) as again:
            result, events = await ask(again, "go on")
    assert (result.outcome, result.text) == ("done", "lost")
    [resumed] = of_type(events, "session.resumed")
    assert resumed.settled == 1
    log = whole_log(tmp_path, root)
    assert not imbalance(log)
    assert [done.outcome for done in of_type(log, "job.done")] == ["lost", "done"]
    assert [done.outcome for done in of_type(log, "session.done")] == ["lost", "done"]
    assert [done.outcome for done in of_type(log, "turn.done", "lead")] == ["lost", "done"]


COSTLY = {"input_tokens": 900, "output_tokens": 100}


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
async def test_what_a_session_has_spent_counts_when_it_goes_on(
    tmp_path: Path, workspace: Path, killed: bool
) -> None:
    """Its own requests and those below it, also of a child that was lost with the process."""
    roles = team_folder(tmp_path, lead=lead_to("mid"), mid={"dispatch": ["leaf"]}, leaf={})
    script = agents(
        lead=[
            {"calls": [dispatch("mid")], "usage": COSTLY},
            {"text": "first", "usage": COSTLY, "optional": True},
            {"text": "second", "usage": COSTLY, "optional": True},
        ],
        mid=[{"calls": [dispatch("leaf")], "usage": COSTLY}, {"calls": [report()], "usage": {}}],
        leaf=[{"calls": [report()], "usage": COSTLY}],
    )
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            before, _ = await ask(hub, "go")
        root = hub.session_id
        if killed:
            with closing(sqlite3.connect(tmp_path / "state" / "hub.db")) as connection, connection:
                connection.execute(
                    "DELETE FROM events WHERE rowid > "
                    "(SELECT min(rowid) FROM events WHERE type = 'report.submitted')"
                )
        used = 3000 if killed else before.usage.total_tokens
        async with team(server, workspace, tmp_path, team=roles, resume=root) as hub:
            result, _ = await ask(hub, "go on")
        assert (result.outcome, result.usage.total_tokens) == ("done", used + 1000)
        spent = {"limits.tokens": used + 1000}
        async with team(server, workspace, tmp_path, team=roles, resume=root, flags=spent) as hub:
            result, _ = await ask(hub, "go on")
    assert (result.outcome, result.stop_reason, result.steps) == ("budget", "max_tokens", 0)
