"""A copy of a session goes on by itself; the session is only read."""

from contextlib import closing
from pathlib import Path

import pytest

from hub.core.errors import SessionBusyError, UsageError
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


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder to work on."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def test_a_second_process_can_go_on_with_a_copy(tmp_path: Path, workspace: Path) -> None:
    """While the first is at work, the second may not resume; its copy knows what was said (A45)."""
    script = agents(lead=[{"text": "first"}, {"text": "again", "repeat": 9}])
    roles = team_folder(tmp_path, lead=lead_to())
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            await ask(hub, "remember 7")
            with pytest.raises(SessionBusyError, match="hub run --fork"):
                async with team(server, workspace, tmp_path, team=roles, resume=hub.session_id):
                    pass
            async with team(server, workspace, tmp_path, team=roles, fork=hub.session_id) as copy:
                assert copy.session_id != hub.session_id
                result, _ = await ask(copy, "which number?")
            await ask(hub, "and you?")
        sent = [record.body["messages"] for record in server.requests]
    assert result.text == "again"
    assert [m["content"] for m in sent[1] if m["role"] == "user"] == ["remember 7", "which number?"]
    assert [m["content"] for m in sent[2] if m["role"] == "user"] == ["remember 7", "and you?"]
    [forked] = of_type(whole_log(tmp_path, copy.session_id), "session.forked")
    assert forked.source == hub.session_id
    assert not of_type(whole_log(tmp_path, hub.session_id), "session.forked")


async def test_what_is_under_way_in_a_session_is_lost_in_its_copy_alone(
    tmp_path: Path, workspace: Path
) -> None:
    """The copy is legal; the children of the session go on and end as they do."""
    script = agents(
        lead=[{"calls": [dispatch("child")]}, {"text": "ok", "repeat": 9}],
        child=[{"calls": [report("came home")], "wire": {"stall": {"name": "held"}}}],
    )
    roles = team_folder(tmp_path, lead=lead_to("child"), child={})
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub, hub.ask("go") as stream:
            async for event in stream:
                if event.type == "turn.started" and event.agent != "lead":
                    break
            async with team(server, workspace, tmp_path, team=roles, fork=hub.session_id) as copy:
                result, _ = await ask(copy, "go on")
            server.release("held")
            rest = [event async for event in stream]
        problems = [problem for record in server.requests for problem in record.problems]
    assert not problems
    assert result.outcome == "done"
    with closing(store(tmp_path)) as sessions:
        mine = list(sessions.events(copy.session_id))
    assert [done.outcome for done in of_type(mine, "job.done")] == ["lost"]
    [done] = of_type(rest, "job.done")
    assert (done.outcome, done.result["report"]["summary"]) == ("done", "came home")
    assert not imbalance(whole_log(tmp_path, hub.session_id))


async def test_a_child_cannot_be_copied(tmp_path: Path, workspace: Path) -> None:
    """It has a duty to a parent; the parent can."""
    script = agents(
        lead=[{"calls": [dispatch("child")]}, {"text": "ok"}], child=[{"calls": [report()]}]
    )
    roles = team_folder(tmp_path, lead=lead_to("child"), child={})
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            _, events = await ask(hub, "go")
        [started] = of_type(events, "job.started")
        with pytest.raises(UsageError, match="belongs to a child"):
            async with team(server, workspace, tmp_path, team=roles, fork=started.child):
                pass
