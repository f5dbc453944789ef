"""A run talks to servers wherever they are: in memory, over stdio, over HTTP, from .mcp.json."""

import json
from pathlib import Path
from typing import Any

import pytest

from hub.app.inspect import trust, trust_state
from hub.testing.faulty.launch import faulty_command, faulty_http
from hub.testing.serving import serve_model
from tests.teams import ask, environment, of_type, team
from tests.third_party.servers import launch, require


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def calling(tool: str, **arguments: Any) -> dict[str, Any]:
    turns = [{"calls": [{"tool": tool, "args": arguments}]}, {"text": "{{ last[0].text }}"}]
    return {"script": 1, "turns": turns}


@pytest.mark.parametrize("transport", ["memory", "stdio"])
async def test_bundled_servers_answer_alike_in_memory_and_as_processes(
    tmp_path: Path, workspace: Path, transport: str
) -> None:
    """The transport is a setting; the answer does not depend on it."""
    chosen = [f"servers.{name}.transport={transport}" for name in ("files", "shell", "notes")]
    async with serve_model(calling("files__read", path="a.txt")) as server:
        async with team(server, workspace, tmp_path, assignments=chosen) as hub:
            result, events = await ask(hub, "read")
    assert "alpha" in result.text
    assert len(of_type(events, "tool.result")) == 1


async def test_a_server_of_mcp_json_is_used_once_the_workspace_is_trusted(
    tmp_path: Path, workspace: Path
) -> None:
    """Before that it is withheld, and its tool is not there."""
    command, arguments = faulty_command()
    entry = {"mcpServers": {"own": {"command": command, "args": arguments}}}
    (workspace / ".mcp.json").write_text(json.dumps(entry), encoding="utf-8")
    async with serve_model(calling("own__echo", text="hello")) as server:
        async with team(server, workspace, tmp_path) as hub:
            assert [part for part in hub.init.withheld if "own" in part]
            assert "own__echo" not in hub.init.tools
        environ = environment(server, tmp_path)
        trust(trust_state(workspace, environ=environ), environ=environ)
        async with team(server, workspace, tmp_path) as hub:
            assert not hub.init.withheld
            result, _ = await ask(hub, "echo")
    assert (result.outcome, result.text) == ("done", "hello")


async def test_a_server_over_http_is_used_by_a_run(tmp_path: Path, workspace: Path) -> None:
    """From the settings, with a header out of the environment."""
    async with faulty_http() as url, serve_model(calling("far__add", a=2, b=3)) as server:
        chosen = [
            f"servers.far.url={url}",
            "servers.far.headers.Authorization=Bearer ${env:OPENAI_API_KEY}",
        ]
        async with team(server, workspace, tmp_path, assignments=chosen) as hub:
            result, _ = await ask(hub, "add")
    assert "5" in result.text


@pytest.mark.thirdparty
@pytest.mark.parametrize(
    ("name", "tool", "arguments", "words"),
    [
        ("time", "convert_time", {"source_timezone": "UTC", "time": "12:00"}, "Tokyo"),
        ("filesystem", "list_directory", {"path": "."}, "a.txt"),
        ("everything", "echo", {"message": "well"}, "well"),
    ],
)
async def test_servers_of_other_projects_work_in_a_run(
    tmp_path: Path, workspace: Path, name: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    """Real servers from npm and PyPI, as a user would plug them in."""
    require(name)
    found = launch(name, workspace)
    given = {**arguments, "target_timezone": "Asia/Tokyo"} if name == "time" else arguments
    if name == "filesystem":
        given = {"path": str(workspace)}
    chosen = [
        f"servers.other.command={found.command}",
        f"servers.other.args={json.dumps(list(found.args))}",
    ]
    async with serve_model(calling(f"other__{tool}", **given)) as server:
        async with team(server, workspace, tmp_path, assignments=chosen) as hub:
            result, _ = await ask(hub, "go")
    assert result.outcome == "done", result
    assert words in result.text
