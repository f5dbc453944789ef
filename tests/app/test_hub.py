"""One hub over several prompts: what it remembers, what it forgets, what comes out of it."""

from pathlib import Path
from typing import Any

import pytest

from hub.testing.asker import ScriptedAsker
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
    whole_log,
)

RUN: dict[str, Any] = {"tool": "shell__run", "args": {"command": "echo hi"}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work on."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def script(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"script": 1, "turns": list(turns)}


async def test_what_is_allowed_for_the_session_is_not_asked_again_at_the_next_prompt(
    tmp_path: Path, workspace: Path
) -> None:
    """The session lasts longer than one prompt."""
    asker = ScriptedAsker(["session"])
    said = script({"calls": [RUN]}, {"text": "one"}, {"calls": [RUN]}, {"text": "two"})
    async with serve_model(said) as server:
        async with team(server, workspace, tmp_path, mode="default", asker=asker) as hub:
            outcomes = [(await ask(hub, prompt))[0].outcome for prompt in ("a", "b")]
    assert outcomes == ["done", "done"]
    assert len(asker.questions) == 1


async def test_what_was_denied_at_one_prompt_does_not_spoil_the_next(
    tmp_path: Path, workspace: Path
) -> None:
    """Case A50 counts by turn: the second prompt needed nothing that was denied."""
    said = script({"calls": [RUN]}, {"text": "I could not"}, {"text": "easy"})
    async with serve_model(said) as server:
        async with team(server, workspace, tmp_path, mode="default") as hub:
            first, _ = await ask(hub, "run it")
            second, _ = await ask(hub, "never mind; what is 1 + 1?")
    assert first.outcome == "denied"
    assert (second.outcome, second.denied_calls) == ("done", ())


async def test_a_fault_of_the_reader_keeps_its_cause(tmp_path: Path, workspace: Path) -> None:
    """It comes out as it was raised, with what led to it."""
    cause = KeyError("the reason")

    async def read(hub: Any) -> None:
        async with hub.ask("go") as events:
            async for _ in events:
                raise ValueError("the fault") from cause

    async with serve_model(script({"text": "hi"})) as server:
        async with team(server, workspace, tmp_path) as hub:
            with pytest.raises(ValueError, match="the fault") as caught:
                await read(hub)
    assert caught.value.__cause__ is cause


async def test_a_child_whose_model_cannot_be_opened_is_a_failed_job_that_says_why(
    tmp_path: Path, workspace: Path
) -> None:
    """The parent is told which variable is missing, and the log balances."""
    roles = team_folder(tmp_path, lead=lead_to("child"), child={"model": "far"})
    (roles / "config.yaml").write_text("models: {far: {api_key: '${env:NO_SUCH_KEY}'}}\n")
    said = agents(lead=[{"calls": [dispatch("child")]}, {"text": "{{ last[0].text }}"}])
    async with serve_model(said) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            result, events = await ask(hub, "go")
    [done] = of_type(events, "job.done")
    assert done.outcome == "model_error"
    assert "NO_SUCH_KEY" in done.result["error"]["message"]
    assert "NO_SUCH_KEY" in result.text
    assert not imbalance(whole_log(tmp_path, hub.session_id))


async def test_the_children_of_a_resumed_session_get_numbers_of_their_own(
    tmp_path: Path, workspace: Path
) -> None:
    """``lead/child#1`` is one agent for the whole life of a session."""
    lead = [{"calls": [dispatch("child")]}, {"text": "one"}] * 2
    roles = team_folder(tmp_path, lead=lead_to("child"), child={})
    async with serve_model(agents(lead=lead, child=[{"calls": [report()]}])) as server:
        async with team(server, workspace, tmp_path, team=roles) as hub:
            await ask(hub, "go")
        async with team(server, workspace, tmp_path, team=roles, resume=hub.session_id) as again:
            _, events = await ask(again, "once more")
    assert [e.child_agent for e in of_type(events, "job.started")] == ["lead/child#2"]
