"""``hub mcp add`` and ``hub mcp remove``."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app

Hub = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without any settings."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def hub(home: Path, project: Path) -> Hub:
    """A command of ``hub mcp`` on the project."""

    def run(command: str, *arguments: str) -> Result:
        return CliRunner().invoke(app, ["mcp", command, "-C", str(project), *arguments])

    return run


@pytest.fixture
def settings(home: Path) -> Path:
    """The user's settings; the file does not exist yet."""
    return home / ".config" / "hub" / "config.yaml"


def test_a_command_is_written_as_it_was_typed(hub: Hub, settings: Path) -> None:
    """What stands behind ``--`` is not taken for options of ours."""
    done = hub("add", "time", "--env", "TZ=UTC", "--", "uvx", "mcp-server-time", "--env", "x")
    assert done.exit_code == 0
    assert done.stdout == "Added the server time in ~/.config/hub/config.yaml.\n"
    assert settings.read_text() == (
        "servers:\n  time:\n    command: uvx\n    args: [mcp-server-time, --env, x]\n"
        "    env:\n      TZ: UTC\n"
    )
    assert "time" in hub("list").stdout


def test_an_address_is_written_with_headers_and_transport(hub: Hub, settings: Path) -> None:
    """A reference is no secret."""
    header = "Authorization: Bearer ${env:T}"
    url = "https://h.test/sse"
    done = hub("add", "docs", "--url", url, "--header", header, "--transport", "sse")
    assert done.exit_code == 0
    assert "written out" not in done.stdout
    assert settings.read_text() == (
        f"servers:\n  docs:\n    url: {url}\n    headers:\n"
        "      Authorization: Bearer ${env:T}\n    transport: sse\n"
    )


def test_a_variable_without_a_value_hands_on_the_users_own(hub: Hub, project: Path) -> None:
    """So no secret is typed; a server of a project needs an approval."""
    done = hub("add", "tickets", "--env", "TOKEN", "--scope", "project", "--", "npx", "t")
    assert done.exit_code == 0
    assert "hub mcp approve tickets" in done.stdout
    assert "TOKEN: ${env:TOKEN}" in (project / ".hub" / "config.yaml").read_text()
    assert "not approved" in hub("list").stdout


def test_secrets_are_kept_out_of_projects_and_pointed_out_elsewhere(
    hub: Hub, project: Path, settings: Path
) -> None:
    """Your own file may hold one; it is yours alone."""
    typed = ("--env", "API_KEY=abcdef", "--", "npx")
    done = hub("add", "a", "--scope", "project", *typed)
    assert done.exit_code == 2
    assert "env.API_KEY would be written out in a file of the project" in done.stderr
    assert not (project / ".hub").exists()
    done = hub("add", "a", *typed)
    assert done.exit_code == 0
    assert "env.API_KEY is written out there" in done.stdout
    assert settings.stat().st_mode & 0o777 == 0o600
    local = project / ".hub" / "config.local.yaml"
    assert hub("add", "a", "--scope", "local", *typed).exit_code == 0
    assert local.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a"], "neither a url nor a command"),
        (["a", "--url", "https://h.test", "--", "x"], "both a url and a command"),
        (["a", "--url", "h.test"], "has to begin with https:// or http://"),
        (["a b", "--", "x"], "'a b' cannot be the name of a server"),
        (["a", "--transport", "sse", "--", "x"], "transport: sse cannot stand beside command"),
        (["a", "--header", "X: y", "--", "x"], "--header is for servers at a --url"),
        (["a", "--url", "https://h.test", "--env", "X=y"], "--env is for servers with a command"),
        (["a", "--env", "=y", "--", "x"], "'=y' is no variable"),
        (["a", "--url", "https://h.test", "--header", "X"], "'X' is no header"),
        (["shell", "--", "x"], "'shell' is a server of the hub itself"),
    ],
)
def test_what_makes_no_server_is_refused(
    hub: Hub, settings: Path, arguments: list[str], message: str
) -> None:
    """Before anything is written."""
    done = hub("add", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not settings.exists()


def test_a_name_that_is_taken_is_only_replaced_on_demand(hub: Hub, settings: Path) -> None:
    """Everything around it stays."""
    settings.parent.mkdir(parents=True)
    settings.write_text("servers:\n  a: {command: old}  # mine\n")
    done = hub("add", "a", "--", "new")
    assert done.exit_code == 2
    assert "there is a server 'a' already" in done.stderr
    done = hub("add", "a", "--replace", "--", "new")
    assert done.stdout.startswith("Replaced the server a in ")
    assert settings.read_text() == "servers:\n  a:\n    command: new  # mine\n"


def test_a_server_is_removed_from_where_it_stands(hub: Hub, settings: Path, project: Path) -> None:
    """Where several files have it, the scope has to be named; what shows up below is told."""
    hub("add", "a", "--", "mine")
    hub("add", "a", "--scope", "project", "--", "shared")
    done = hub("remove", "a")
    assert done.exit_code == 2
    assert "--scope user or --scope project" in done.stderr
    done = hub("remove", "a", "--scope", "user")
    assert done.exit_code == 0
    assert "Removed the server a from ~/.config/hub/config.yaml." in done.stdout
    assert "There still is a server of this name" in done.stdout
    assert hub("remove", "a").stdout == "Removed the server a from .hub/config.yaml.\n"


def test_what_hub_does_not_own_is_not_removed(hub: Hub, project: Path) -> None:
    """It says where the server comes from and how to switch it off."""
    (project / ".mcp.json").write_text('{"mcpServers": {"tickets": {"command": "x"}}}')
    done = hub("remove", "tickets")
    assert done.exit_code == 2
    assert f"comes from {project}/.mcp.json:1, which hub does not change" in done.stderr
    assert "servers: {tickets: {enabled: false}}" in done.stderr
    assert "comes from the hub itself" in hub("remove", "files").stderr
    done = hub("remove", "ticket")
    assert "there is no MCP server 'ticket'" in done.stderr
    assert "Did you mean 'tickets'?" in done.stderr
    done = hub("remove", "tickets", "--scope", "user")
    assert "Leave --scope out" in done.stderr
