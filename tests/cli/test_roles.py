"""``hub roles`` on the shipped team and on invented ones."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app

SHIPPED = {"lead", "orchestrator", "explorer", "worker", "reviewer"}
Hub = Callable[..., Result]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The command line in an empty home, on the folder ``project``."""
    monkeypatch.setenv("HUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HUB_MODEL", raising=False)
    (tmp_path / "project" / ".hub" / "roles").mkdir(parents=True)
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "-C", str(tmp_path / "project")])


def write_role(tmp_path: Path, name: str, text: str) -> None:
    """Write a role file of the project."""
    path = tmp_path / "project" / ".hub" / "roles" / f"{name}.md"
    path.write_text(text, encoding="utf-8")


def test_the_shipped_team_is_listed(hub: Hub) -> None:
    """Five roles, two of which a user may start."""
    lines = hub("roles", "list").stdout.splitlines()
    rows = {line.split()[0]: line.split()[1] for line in lines[1:]}
    assert set(rows) == SHIPPED
    assert {name for name, start in rows.items() if start == "yes"} == {"lead", "orchestrator"}


def test_a_role_of_the_project_stands_beside_the_shipped_ones(hub: Hub, tmp_path: Path) -> None:
    """Its layer, model and edges are shown, printable."""
    write_role(
        tmp_path,
        "scout",
        '---\ndescription: "Looks \\e[2Jaround"\nmodel: fast\ntools: [files__read]\n'
        "dispatch: [explorer]\nlimits: {steps: 7}\n---\nLook around.\n",
    )
    line = next(x for x in hub("roles", "list").stdout.splitlines() if x.startswith("scout"))
    assert line.split() == ["scout", "-", "fast", "explorer", "project", "Looks", "\\x1b[2Jaround"]
    shown = hub("roles", "show", "scout").stdout
    for words in ("files__read", "explorer (8 at once)", "steps 7", "  Look around.", "scout.md:"):
        assert words in shown


def test_an_unknown_role_names_the_nearest(hub: Hub) -> None:
    """Exit code 2, a hint, no traceback."""
    result = hub("roles", "show", "explore")
    assert result.exit_code == 2
    assert "explorer" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_check_reports_what_cannot_work_with_its_place(hub: Hub, tmp_path: Path) -> None:
    """A misspelt tool list is an error with file and line, and exit code 2 (A55)."""
    write_role(tmp_path, "bad", "---\ntools: [filse__read]\ndispatch: [nobody]\n---\nx\n")
    result = hub("roles", "check")
    assert result.exit_code == 2
    assert "filse__read" in result.stdout
    assert "'nobody', which does not exist" in result.stdout
    assert "bad.md:2" in result.stdout


def test_two_roles_of_one_name_are_an_error_with_both_paths(hub: Hub, tmp_path: Path) -> None:
    """Order of reading never decides (A56)."""
    write_role(tmp_path, "one", "---\nname: twin\n---\nx\n")
    write_role(tmp_path, "two", "\ufeff---\nname: twin\n---\nx\n")
    result = hub("roles", "list")
    assert result.exit_code == 2
    assert "one.md" in result.stderr
    assert "two.md" in result.stderr


def test_a_folder_that_does_not_exist_is_a_usage_error(hub: Hub) -> None:
    """The message names the folder and the option."""
    result = CliRunner().invoke(app, ["roles", "list", "-C", "/nowhere/at/all"])
    assert result.exit_code == 2
    assert "/nowhere/at/all does not exist" in result.stderr
    assert "-C DIR" in result.stderr


def test_broken_yaml_is_told_with_file_and_line(hub: Hub, tmp_path: Path) -> None:
    """Settings that cannot be read stop every command that needs them."""
    (tmp_path / "project" / ".hub" / "config.yaml").write_text("model: [\n", encoding="utf-8")
    result = hub("roles", "list")
    assert result.exit_code == 2
    assert "config.yaml:" in result.stderr


def test_the_matrix_draws_edges_and_grants(hub: Hub) -> None:
    """Rows dispatch to columns; tools are used by columns."""
    lines = hub("roles", "matrix").stdout.splitlines()
    header = lines[0].split()[3:]
    assert set(header) == SHIPPED
    lead = next(line for line in lines if line.startswith("lead")).split()[1:]
    assert dict(zip(header, lead, strict=True))["explorer"] == "8"


IMPORTED = """
import sys
from hub.cli.main import app
try: app(sys.argv[1:])
except SystemExit: pass
print(sorted({"mcp", "openai", "rich"} & sys.modules.keys()), file=sys.stderr)
"""


def imported(*command: str, cwd: Path) -> str:
    """Run a command and return which slow libraries it has imported."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cwd / "cache"), "HUB_STATE_DIR": str(cwd / "state")}
    env["XDG_CONFIG_HOME"] = str(cwd / "config")
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        check=True,
    )
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("command", ["roles list", "roles show lead", "sessions list"])
def test_looking_imports_neither_mcp_nor_openai(command: str, tmp_path: Path) -> None:
    """What starts no server and asks no model does not pay for their libraries."""
    assert imported(*command.split(), cwd=tmp_path) == "[]"


def test_a_check_starts_servers_only_while_their_tools_are_unknown(tmp_path: Path) -> None:
    """Our own are known from the start; others are asked once, and then the cache answers."""
    assert imported("roles", "check", cwd=tmp_path) == "[]"
    (tmp_path / "config" / "hub").mkdir(parents=True)
    text = "servers: {memo: {bundled: notes, transport: stdio}}\n"
    (tmp_path / "config" / "hub" / "config.yaml").write_text(text, encoding="utf-8")
    assert imported("roles", "check", cwd=tmp_path) == "['mcp']"
    for command in ("check", "matrix"):
        assert imported("roles", command, cwd=tmp_path) == "[]"


def test_a_server_that_does_not_start_is_told_beside_the_findings(hub: Hub, tmp_path: Path) -> None:
    """The rest of the team is checked all the same."""
    (tmp_path / "config" / "hub").mkdir(parents=True)
    text = "servers: {gone: {command: /no/such/program}}\n"
    (tmp_path / "config" / "hub" / "config.yaml").write_text(text, encoding="utf-8")
    result = hub("roles", "check")
    assert result.exit_code == 0, result.output
    assert "note: server gone: " in result.stdout
    assert "/no/such/program" in result.stdout


def test_a_team_folder_is_looked_at_like_a_run_with_it(hub: Hub, tmp_path: Path) -> None:
    """``--team`` adds its roles and settings to every look at the team."""
    (tmp_path / "team" / "roles").mkdir(parents=True)
    (tmp_path / "team" / "config.yaml").write_text("model: of-the-team\n", encoding="utf-8")
    role = "---\ndescription: Scouts.\ntools: [files__read]\n---\nLook.\n"
    (tmp_path / "team" / "roles" / "scout.md").write_text(role, encoding="utf-8")
    team = ("--team", str(tmp_path / "team"))
    assert "scout" not in hub("roles", "list").stdout
    line = next(x for x in hub("roles", "list", *team).stdout.splitlines() if "scout" in x)
    assert "of-the-team" in line
    assert "scout.md" in hub("roles", "show", "scout", *team).stdout
    assert "'scout': nobody can start it" in hub("roles", "check", *team).stdout
    assert "scout" in hub("roles", "matrix", *team).stdout.splitlines()[0]
    missing = hub("roles", "list", "--team", "/no/team")
    assert (missing.exit_code, "/no/team" in missing.stderr) == (2, True)


def test_a_rule_of_the_settings_that_matches_nothing_is_a_warning(hub: Hub, tmp_path: Path) -> None:
    """With file and line, and the nearest name."""
    path = tmp_path / "project" / ".hub" / "config.yaml"
    path.write_text("permissions:\n  deny:\n    - files__wirte\n", encoding="utf-8")
    told = hub("roles", "check")
    assert told.exit_code == 0
    assert "warning: settings: permissions.deny: 'files__wirte' matches no tool" in told.stdout
    assert f"  at {path}:3\n" in told.stdout
