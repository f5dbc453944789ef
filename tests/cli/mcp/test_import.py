"""``hub mcp import``: what other clients have, what would be written, and what is."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
CURSOR = {
    "mcpServers": {
        "github": {
            "command": "npx",
            "args": ["-y", "gh-mcp"],
            "env": {"GITHUB_TOKEN": TOKEN, "LEVEL": "info"},
        },
        "docs": {"url": "https://h.test/mcp", "headers": {"Authorization": "Bearer s3cret"}},
        "bad": {},
    }
}
Hub = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without any settings."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def hub(home: Path, project: Path) -> Hub:
    """The command on the project."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["mcp", "import", "-C", str(project), *arguments])

    return run


@pytest.fixture
def cursor(home: Path) -> Path:
    """A list of servers of Cursor in the user's home."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CURSOR, indent=1))
    return path


@pytest.fixture
def settings(home: Path) -> Path:
    """The user's settings; the file does not exist yet."""
    return home / ".config" / "hub" / "config.yaml"


def test_without_a_source_it_lists_what_there_is_and_writes_nothing(
    hub: Hub, home: Path, project: Path, cursor: Path, settings: Path
) -> None:
    """Every file with how many servers it has; a broken one says why."""
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("[mcp_servers.a\n")
    (project / ".vscode").mkdir()
    (project / ".vscode" / "mcp.json").write_text('{"servers": {"x": {"command": "x"}}}')
    done = hub()
    assert done.exit_code == 0
    rows = [line.split(maxsplit=3) for line in done.stdout.splitlines()[:4]]
    assert rows[1] == ["vscode", "1", ".vscode/mcp.json", "x"]
    assert rows[2] == ["cursor", "2", "~/.cursor/mcp.json", "github, docs (1 left out)"]
    assert rows[3][:3] == ["codex", "-", "~/.codex/config.toml"]
    assert "broken TOML" in rows[3][3]
    assert "servers_from: [vscode, cursor, codex]" in done.stdout
    values = [json.loads(line) for line in hub("--json").stdout.splitlines()]
    assert [value["source"] for value in values] == ["vscode", "cursor", "codex"]
    assert not settings.exists()


def test_on_a_machine_without_other_clients_it_names_those_it_knows(hub: Hub) -> None:
    """A file can be named in any case."""
    done = hub()
    assert done.exit_code == 0
    assert "No other client keeps servers" in done.stdout
    assert "claude-desktop" in done.stdout


def test_a_dry_run_shows_every_line_and_writes_nothing(
    hub: Hub, cursor: Path, settings: Path
) -> None:
    """With where each server comes from, and what is left out."""
    done = hub("cursor", "--dry-run")
    assert done.exit_code == 0
    assert "Into ~/.config/hub/config.yaml:" in done.stdout
    assert "+ github (from ~/.cursor/mcp.json:3)" in done.stdout
    assert "      GITHUB_TOKEN: ${env:GITHUB_TOKEN}\n" in done.stdout
    assert "the server 'bad' is left out: the transport 'http' needs 'url'" in done.stdout
    assert done.stdout.endswith("Nothing was written.\n")
    assert not settings.exists()


def test_nothing_is_written_where_nobody_can_agree(hub: Hub, cursor: Path, settings: Path) -> None:
    """Without a terminal it takes --yes."""
    done = hub("cursor")
    assert done.exit_code == 2
    assert "run it again with --yes" in done.stderr
    assert not settings.exists()


def test_secrets_are_not_copied_but_referred_to(hub: Hub, cursor: Path, settings: Path) -> None:
    """What to set is said, and the value is shown nowhere."""
    settings.parent.mkdir(parents=True)
    settings.write_text("# mine\nmodel: m\n")
    done = hub("cursor", "--yes")
    assert done.exit_code == 0
    assert settings.read_text() == (
        "# mine\nmodel: m\nservers:\n"
        "  github:\n    command: npx\n    args: [-y, gh-mcp]\n    env:\n"
        "      GITHUB_TOKEN: ${env:GITHUB_TOKEN}\n      LEVEL: info\n"
        "  docs:\n    url: https://h.test/mcp\n    headers:\n"
        "      Authorization: Bearer ${env:DOCS_TOKEN}\n"
    )
    assert settings.stat().st_mode & 0o777 == 0o600
    assert "env.GITHUB_TOKEN is a secret and is not copied" in done.stdout
    assert "export DOCS_TOKEN=…" in done.stdout
    assert TOKEN not in done.output
    assert "s3cret" not in done.output
    assert "Wrote 2 servers: github, docs." in done.stdout


def test_a_second_import_finds_everything_in_place(hub: Hub, cursor: Path, settings: Path) -> None:
    """Nothing is written twice."""
    hub("cursor", "--yes")
    before = settings.read_text()
    done = hub("cursor", "--yes")
    assert done.exit_code == 0
    assert "= github (from ~/.cursor/mcp.json:3): it stands there already" in done.stdout
    assert settings.read_text() == before


def test_a_name_that_is_taken_is_reported_and_not_overwritten(
    hub: Hub, cursor: Path, settings: Path
) -> None:
    """Unless --replace says so; the others are written all the same."""
    settings.parent.mkdir(parents=True)
    settings.write_text("servers:\n  github: {command: mine}  # keep\n")
    done = hub("cursor", "--yes")
    assert done.exit_code == 1
    assert "! github (from ~/.cursor/mcp.json:3): there is a server 'github' already" in done.stdout
    assert "--replace would replace it" in done.stdout
    assert settings.read_text().startswith("servers:\n  github: {command: mine}  # keep\n  docs:\n")
    done = hub("cursor", "--yes", "--replace")
    assert done.exit_code == 0
    assert "~ github" in done.stdout
    assert "mine" not in settings.read_text()


def test_secrets_can_be_copied_as_they_are_without_being_shown(
    hub: Hub, cursor: Path, settings: Path
) -> None:
    """The file is the owner's alone."""
    done = hub("cursor", "--yes", "--keep-secrets")
    assert TOKEN in settings.read_text()
    assert TOKEN not in done.output
    assert "GITHUB_TOKEN: '***'" in done.stdout
    assert settings.stat().st_mode & 0o777 == 0o600


def test_secrets_can_go_into_the_keyring(
    hub: Hub, cursor: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are stored before the file refers to them."""
    kept: dict[tuple[str, str], str] = {}
    module: Any = ModuleType("keyring")
    module.errors = SimpleNamespace(KeyringError=RuntimeError)
    module.set_password = lambda service, name, value: kept.update({(service, name): value})
    monkeypatch.setitem(sys.modules, "keyring", module)
    done = hub("cursor", "--yes", "--keyring")
    assert done.exit_code == 0
    assert kept == {("hub", "GITHUB_TOKEN"): TOKEN, ("hub", "DOCS_TOKEN"): "s3cret"}
    assert "GITHUB_TOKEN: ${keyring:GITHUB_TOKEN}" in settings.read_text()
    assert TOKEN not in done.output


def test_a_keyring_that_is_not_there_leaves_the_settings_alone(
    hub: Hub, cursor: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the extra."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    done = hub("cursor", "--yes", "--keyring")
    assert done.exit_code == 2
    assert "dispatch-hub[keyring]" in done.stderr
    assert not settings.exists()


def test_a_file_of_any_format_can_be_imported_into_the_project(
    hub: Hub, project: Path, tmp_path: Path
) -> None:
    """What is written for a project needs an approval, as any file of a project."""
    path = tmp_path / "codex.toml"
    path.write_text("[mcp_servers.git]\ncommand = 'uvx'\n[mcp_servers.files]\ncommand = 'x'\n")
    done = hub(str(path), "--scope", "project", "--yes")
    assert done.exit_code == 1
    target = project / ".hub" / "config.yaml"
    assert target.read_text() == "servers:\n  git:\n    command: uvx\n"
    assert "'files' is a server of the hub itself" in done.stdout
    assert "hub mcp approve git" in done.stdout


def test_json_tells_the_plan_and_writes_only_with_a_yes(
    hub: Hub, cursor: Path, settings: Path
) -> None:
    """No secret is in it."""
    plan = json.loads(hub("cursor", "--json").stdout)
    assert plan["written"] is False
    assert [one["state"] for one in plan["servers"]] == ["add", "add"]
    assert plan["servers"][0]["secrets"] == [{"key": "env.GITHUB_TOKEN", "name": "GITHUB_TOKEN"}]
    assert not settings.exists()
    done = hub("cursor", "--json", "--yes", "--keep-secrets")
    assert json.loads(done.stdout)["written"] is True
    assert TOKEN not in done.stdout
    assert TOKEN in settings.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curso"], "Did you mean 'cursor'?"),
        (["zed"], "Zed keeps no servers on this machine"),
        (["cursor", "--keyring", "--keep-secrets"], "say different things"),
    ],
)
def test_what_cannot_be_imported_is_told(hub: Hub, arguments: list[str], message: str) -> None:
    """With the nearest name, or the place that was looked at."""
    done = hub(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_names_and_texts_of_other_clients_cannot_write_to_the_terminal(
    hub: Hub, home: Path, hostile: Callable[[bytes], str]
) -> None:
    """They come from files of strangers."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    evil = "\x1b]0;x\x07\u202e\x9b31m"
    entry = {"command": f"run{evil}", "args": [evil], f"odd{evil}": 1, "env": {f"A{evil}": evil}}
    path.write_text(json.dumps({"mcpServers": {f"a{evil}": entry, f"b{evil}": {}}}))
    done = hub("cursor", "--yes")
    assert hostile(done.stdout.encode() + done.stderr.encode()) == ""
    assert hostile(hub().stdout.encode()) == ""


@pytest.mark.parametrize(("answer", "code"), [(b"y\r", 0), (b"n\r", 0)])
def test_a_person_at_the_terminal_is_asked(
    terminal: Callable[..., Any],
    project: Path,
    cursor: Path,
    settings: Path,
    answer: bytes,
    code: int,
) -> None:
    """Only a yes writes; a no is no fault."""
    asked = terminal("-m", "hub", "mcp", "import", "cursor", cwd=project)
    asked.read_until(rb"Write 2 servers\? \[y/N\]")
    asked.type(answer)
    assert asked.end() == code
    assert settings.exists() == (answer == b"y\r")
