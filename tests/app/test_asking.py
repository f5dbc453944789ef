"""What servers ask in a real run: policy, ledger, log."""

import json
from pathlib import Path
from typing import Any

import pytest

from hub.app.asking import INSTRUCTIONS
from hub.core.asking import Elicited
from hub.testing.asker import ScriptedAsker
from hub.testing.elicitor import ScriptedElicitor
from hub.testing.faulty.launch import faulty_command
from hub.testing.serving import serve_model
from tests.teams import ask, of_type, team

ECHO: dict[str, Any] = {"tool": "odd__echo", "args": {"text": "x"}}
SAMPLING = {"match": {"system_contains": "MCP server 'odd'"}, "turns": [{"text": "hello there"}]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work on."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def configure(tmp_path: Path, kind: str, *may_ask: str, allow: tuple[str, ...] = ()) -> None:
    """A server of the user that asks for something in each echo."""
    command, args = faulty_command(f"ask={kind}")
    settings = {
        "servers": {"odd": {"command": command, "args": args, "may_ask": list(may_ask)}},
        "permissions": {"allow": ["odd__echo", *allow]},
    }
    path = tmp_path / "config" / "hub" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings), encoding="utf-8")


def script() -> dict[str, Any]:
    lead = {"turns": [{"calls": [ECHO]}, {"text": "done"}]}
    return {"script": 1, "agents": {"server": SAMPLING, "lead": lead}}


def only(events: Any) -> Any:
    (event,) = of_type(events, "server.asked")
    return event


async def test_a_model_answers_a_server_by_permission_and_at_the_agents_expense(
    tmp_path: Path, workspace: Path
) -> None:
    """The question says what would be sent; the log has both, and the tokens are the agent's."""
    configure(tmp_path, "sampling", "sampling")
    asker = ScriptedAsker(["once"])
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, mode="default", asker=asker) as hub:
            result, events = await ask(hub, "go", final=True)
        server.assert_finished()
    assert result.outcome == "done"
    assert "hello there" in of_type(events, "tool.result")[0].text
    (question,) = asker.questions
    assert question.tool == "sampling__odd"
    assert "Say hello." in question.arguments
    assert only(events).outcome == "answered"
    assert only(events).agent == "lead"
    assert result.usage.requests == 3
    assert [message.text for message in of_type(events, "assistant.message")][-1] == "done"
    assert "hello there" not in [m.text for m in of_type(events, "assistant.message")]


async def test_the_model_sees_only_the_servers_text_said_to_be_the_servers(
    tmp_path: Path, workspace: Path
) -> None:
    """Neither the conversation nor the tools of the agent, and a cap on the answer."""
    configure(tmp_path, "sampling", "sampling", allow=("sampling__odd",))
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, mode="default") as hub:
            await ask(hub, "a secret of the user", final=True)
        (body,) = [
            record.body
            for record in server.requests
            if "MCP server 'odd'" in json.dumps(record.body)
        ]
    assert body["messages"][0]["content"] == INSTRUCTIONS.format(server="odd")
    assert "a secret of the user" not in json.dumps(body)
    assert not body.get("tools")
    assert 16 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mode": "default"}, "nobody could be asked"),
        ({"mode": "default", "asker": ScriptedAsker(["deny"])}, "the user denied it"),
        ({"mode": "plan"}, "mode plan"),
        ({"mode": "bypass", "assignments": ["permissions.deny=[sampling__*]"]}, "deny rule"),
    ],
)
async def test_a_model_that_may_not_answer_costs_nothing_and_the_run_goes_on(
    tmp_path: Path, workspace: Path, options: dict[str, Any], reason: str
) -> None:
    """The server gets the reason at once; it is no denied call of the agent (H30)."""
    configure(tmp_path, "sampling", "sampling")
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, **options) as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "done"
    assert only(events).outcome == "refused"
    assert reason in only(events).reason
    assert result.usage.requests == 2


async def test_for_the_session_is_asked_once(tmp_path: Path, workspace: Path) -> None:
    """Also at the next prompt."""
    configure(tmp_path, "sampling", "sampling")
    asker = ScriptedAsker(["session"])
    said = script()
    said["agents"]["lead"]["turns"] *= 2
    async with serve_model(said) as server:
        async with team(server, workspace, tmp_path, mode="default", asker=asker) as hub:
            for prompt in ("one", "two"):
                _, events = await ask(hub, prompt)
                assert only(events).outcome == "answered"
    asker.assert_finished()


async def test_without_tokens_left_no_model_answers_a_server(
    tmp_path: Path, workspace: Path
) -> None:
    """A server cannot spend what the agent does not have."""
    configure(tmp_path, "sampling", "sampling", allow=("sampling__odd",))
    flags = {"limits.steps": 1}
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, mode="default", flags=flags) as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "limit"
    assert only(events).outcome == "refused"
    assert "steps limit" in only(events).reason


async def test_the_user_answers_a_question_of_a_server(tmp_path: Path, workspace: Path) -> None:
    """Through the elicitor of the options; what was typed is not in the event."""
    configure(tmp_path, "elicitation", "elicitation")
    elicitor = ScriptedElicitor([Elicited("accept", {"colour": "ultraviolet"})])
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, mode="default", elicitor=elicitor) as hub:
            result, events = await ask(hub, "go")
    elicitor.assert_finished()
    assert result.outcome == "done"
    assert elicitor.questions[0].agent == "lead"
    assert only(events).outcome == "answered"
    assert "ultraviolet" in of_type(events, "tool.result")[0].text
    assert "ultraviolet" not in only(events).model_dump_json()


async def test_headless_a_question_is_declined_at_once(tmp_path: Path, workspace: Path) -> None:
    """The run goes on (H30)."""
    configure(tmp_path, "elicitation", "elicitation")
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, mode="default") as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "done"
    assert (only(events).outcome, only(events).reason) == ("refused", "nobody can be asked")


async def test_a_rule_for_answers_of_models_is_no_mistake(tmp_path: Path, workspace: Path) -> None:
    """It matches no tool, and still does something."""
    configure(tmp_path, "sampling", "sampling", allow=("sampling__odd",))
    async with serve_model(script()) as server:
        async with team(server, workspace, tmp_path, mode="default") as hub:
            assert not [text for text in hub.init.problems if "sampling" in text]
