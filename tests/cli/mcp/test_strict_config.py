"""``--strict-mcp-config FILE``: the servers of one file and no others, in every command."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app

Hub = Callable[..., Result]
SCRIPT = "script: 1\nturns:\n  - text: hello\n"
ROLE = "---\nname: lead\ndescription: Answers.\nuser_facing: true\ntools: ['*']\n---\nAnswer.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with servers of its own, and a file beside it with another one."""
    folder = tmp_path / "project"
    (folder / ".hub" / "roles").mkdir(parents=True)
    (folder / ".hub" / "roles" / "lead.md").write_text(ROLE)
    (folder / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "x"}}}')
    (tmp_path / "only.json").write_text(
        '{"servers": {"only": {"command": "no-such-program"}}} // as an editor has it'
    )
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return folder


@pytest.fixture
def hub(home: Path, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The command line with the one file, which starts from the current folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(
            app, [*arguments, "-C", str(project), "--strict-mcp-config", "only.json"]
        )

    return run


def test_only_the_servers_of_the_file_are_listed(hub: Hub, project: Path) -> None:
    """They are approved, since the user named the file."""
    done = hub("mcp", "list", "--json")
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()] == ["only"]
    assert json.loads(done.stdout)["approved"] is True
    plain = CliRunner().invoke(app, ["mcp", "list", "-C", str(project)])
    assert "theirs" in plain.stdout
    assert "only" not in plain.stdout


def test_every_command_that_looks_at_servers_takes_the_file(hub: Hub) -> None:
    """A server of the settings is unknown to all of them."""
    for command in ("status", "logs", "show", "restart", "approve", "diff", "test", "login"):
        done = hub("mcp", command, "theirs")
        assert done.exit_code == 2, command
        assert "there is no MCP server 'theirs'" in done.stderr, command


def test_the_doctor_and_the_roles_see_the_same_servers(hub: Hub) -> None:
    """So what they say fits the run."""
    found = json.loads(hub("doctor", "--json").stdout)["findings"]
    assert [one["check"] for one in found if one["check"].startswith("server ")] == ["server only"]
    assert any("only.json" in one["message"] for one in found if one["check"] == "settings")
    assert "server only: " in hub("roles", "check").stdout
    assert hub("roles", "list").exit_code == 0


def test_a_run_has_no_other_server(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Not even one of the hub itself, unless the file names it."""
    (tmp_path / "memo.yaml").write_text("servers:\n  memo: {bundled: notes}\n")
    words = ["run", "Hi", "-C", str(project), "--strict-mcp-config", "memo.yaml"]
    words += ["--model", "script:script.yaml", "--output", "stream-json"]
    done = subprocess.run(
        [sys.executable, "-m", "hub", *words],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    opening, *_, result = map(json.loads, done.stdout.splitlines())
    assert [server["name"] for server in opening["servers"]] == ["memo"]
    assert all(name.startswith("memo__") for name in opening["tools"] if "__" in name)
    assert result["text"] == "hello"


def test_a_file_that_is_not_there_stops_everything(project: Path, home: Path) -> None:
    """Nothing is started without the one list that was asked for."""
    arguments = ["mcp", "list", "-C", str(project), "--strict-mcp-config", "none.json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert "none.json: cannot read the file" in done.stderr
