"""``hub trust`` on invented projects."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app

SETTINGS = """\
servers:
  own:
    command: ./serve\x1b[2J
permissions:
  allow: ["shell__*"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that wants a server and a permission."""
    folder = tmp_path / "project"
    (folder / ".hub").mkdir(parents=True)
    text = SETTINGS.replace("\x1b[2J", "")
    (folder / ".hub" / "config.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def hub(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line with a home of its own, on the project."""
    monkeypatch.setenv("HUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "-C", str(project)])

    return run


def test_what_would_become_active_is_listed_with_its_place(
    hub: Callable[..., Result], project: Path
) -> None:
    """Nobody agrees to what was not shown; looking changes nothing."""
    result = hub("trust", "--show")
    assert result.exit_code == 0
    assert result.stdout == (
        f"{project} wants to:\n"
        '  start or reach the server own {"command":"./serve"}\n'
        f"    at {project}/.hub/config.yaml:2\n"
        "  run without a question what matches shell__*\n"
        f"    at {project}/.hub/config.yaml:5\n"
    )
    assert "wants to" in hub("trust", "--show").stdout


def test_without_a_terminal_and_without_yes_nothing_is_agreed_to(
    hub: Callable[..., Result],
) -> None:
    """A script has to say --yes; the message says so."""
    result = hub("trust")
    assert result.exit_code == 2
    assert "hub trust --yes" in result.stderr
    assert "wants to" in hub("trust", "--show").stdout


def test_agreement_lasts_until_a_part_changes_or_is_revoked(
    hub: Callable[..., Result], project: Path
) -> None:
    """Trust is bound to exactly what was shown."""
    assert "Trusted" in hub("trust", "--yes").stdout
    assert "is trusted. It may:" in hub("trust", "--show").stdout
    path = project / ".hub" / "config.yaml"
    path.write_text(path.read_text().replace("./serve", "./other"), encoding="utf-8")
    assert "wants to:" in hub("trust", "--show").stdout
    assert hub("trust", "--yes").exit_code == 0
    assert "no longer trusted" in hub("trust", "--revoke").stdout
    assert "is not trusted" in hub("trust", "--revoke").stdout


def test_a_project_that_asks_for_nothing_needs_no_trust(
    hub: Callable[..., Result], project: Path
) -> None:
    """Nothing to agree to, nothing recorded."""
    (project / ".hub" / "config.yaml").unlink()
    assert "nothing that needs trust" in hub("trust", "--yes").stdout


@pytest.mark.parametrize(("typed", "agreed"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_at_a_terminal_the_person_is_asked(
    terminal: Callable[..., Any], tmp_path: Path, project: Path, typed: bytes, agreed: bool
) -> None:
    """Only a yes is a yes."""
    env = {"HUB_STATE_DIR": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path)}
    screen = terminal("-m", "hub.cli.main", "trust", "-C", str(project), env=env)
    screen.read_until(rb"Do you trust it\? \[y/N\]")
    screen.type(typed)
    assert screen.end() == (0 if agreed else 1)
    assert (tmp_path / "state" / "trust.json").exists() is agreed
