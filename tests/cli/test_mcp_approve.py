"""``hub mcp approve``, ``diff`` and ``lock`` on a real server that changes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.app.mcp.lock import CHECK_CODES
from hub.cli.main import app
from hub.testing.faulty.launch import faulty_command


class Project:
    """A project with a server whose knobs lie in a file beside it."""

    def __init__(self, root: Path) -> None:
        self.path = root / "project"
        self.path.mkdir()
        self.knobs = root / "knobs.json"
        self.log = root / "log"
        self.turn()
        self.launch()

    def turn(self, **knobs: Any) -> None:
        self.knobs.write_text(json.dumps(knobs), encoding="utf-8")

    def launch(self, *more: str) -> None:
        command, args = faulty_command(log=self.log)
        entry = {"command": command, "args": [*args, "--config", str(self.knobs), *more]}
        text = json.dumps({"mcpServers": {"own": entry}})
        (self.path / ".mcp.json").write_text(text, encoding="utf-8")

    @property
    def lock(self) -> Path:
        return self.path / "hub.lock"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def hub(tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """``hub mcp …`` on the project, with a home of its own."""
    for name, folder in (("HUB_STATE_DIR", "state"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["mcp", *words, "-C", str(project.path)])

    return run


Hub = Callable[..., Result]


def test_approving_shows_what_starts_and_what_it_offers(hub: Hub, project: Project) -> None:
    """With a mark at each tool that may destroy something."""
    result = hub("approve", "own", "--yes")
    assert result.exit_code == 0, result.output
    assert "It would start:" in result.stdout
    assert f'"{project.knobs}"' in result.stdout
    lines = {line.split()[0]: line.split()[1] for line in result.stdout.splitlines() if line}
    assert (lines["echo"], lines["spawn"]) == ("read-only", "destructive")
    assert "8 tools, 1 prompt" in result.stdout
    assert hub("approve", "own").stdout == "own is as it was approved.\n"


def test_what_changed_is_told_in_words_and_accepted_one_by_one(hub: Hub, project: Project) -> None:
    """Or all at once; the rest stays held back."""
    hub("approve", "own", "--yes")
    project.turn(change=["annotations", "output_schema", "prompt"])
    found = hub("diff")
    assert found.exit_code == 1
    assert "tool `echo`: became writable (readOnlyHint true → false)" in found.stdout
    assert "text of the prompt `greet` changed: gained 1 word" in found.stdout
    refused = hub("approve", "own/echo")
    assert refused.exit_code == 2
    assert "became destructive" in refused.stdout
    accepted = hub("approve", "own/echo", "--yes")
    assert (accepted.exit_code, "1 change" in accepted.stdout) == (0, True)
    rest = hub("diff", "own").stdout
    assert "echo" not in rest
    assert "tool `add`: output schema: new optional member `note`" in rest
    assert hub("approve", "own", "--yes").exit_code == 0
    assert hub("diff").exit_code == 0


def test_the_text_form_shows_lines_and_hidden_characters(hub: Hub, project: Project) -> None:
    """Nothing that strangers wrote reaches the terminal as it is."""
    hub("approve", "own", "--yes")
    project.turn(change="description", instructions="Be\u200b good\x1b[2J")
    shown = hub("diff", "--text").stdout
    assert "-description: Returns the text that it is given." in shown
    assert "+text: Be\\u200b good\\x1b[2J" in shown
    assert "hidden characters (U+001B, U+200B)" in hub("diff").stdout
    assert not {"\u200b", "\x1b"} & set(shown)


def test_the_json_form_holds_every_change(hub: Hub, project: Project) -> None:
    """One object for each server."""
    hub("approve", "own", "--yes")
    project.turn(change=["added", "removed"])
    result = hub("diff", "--json")
    assert result.exit_code == 1
    (change, gone) = json.loads(result.stdout)["changes"]
    assert (change["name"], change["what"], change["held_back"]) == ("newcomer", "new", True)
    assert (gone["name"], gone["what"], gone["held_back"]) == ("add", "removed", False)


@pytest.mark.parametrize(
    ("target", "words"), [("owm", "'own'"), ("own/ecko", "'echo'"), ("files", "comes with the hub")]
)
def test_a_wrong_name_is_told_with_the_nearest(hub: Hub, target: str, words: str) -> None:
    """Before or after the server was asked."""
    hub("approve", "own", "--yes")
    result = hub("approve", target, "--yes")
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_server_that_does_not_start_is_approved_and_told(hub: Hub, project: Project) -> None:
    """What it says is pinned when it says something for the first time."""
    project.turn(exit_on_start=3)
    result = hub("approve", "own", "--yes")
    assert result.exit_code == 1
    assert "is approved, but" in result.stdout
    project.turn()
    assert "approved and pinned" in hub("approve", "own").stdout


def test_a_lock_holds_what_is_live_and_the_same_twice(hub: Hub, project: Project) -> None:
    """Sorted, stable, with launch, package and canonical forms."""
    hub("approve", "own", "--yes")
    first = hub("lock")
    assert first.exit_code == 0, first.output
    text = project.lock.read_text(encoding="utf-8")
    entry = json.loads(text)["servers"]["own"]
    assert {"launch", "package", "prompts", "texts", "tools"} <= entry.keys()
    assert "resources" not in entry
    assert entry["tools"]["echo"]["annotations"] == {
        "destructiveHint": False,
        "openWorldHint": False,
        "readOnlyHint": True,
    }
    assert "unchanged" in hub("lock").stdout
    assert project.lock.read_text(encoding="utf-8") == text
    assert hub("lock", "--check").exit_code == 0


def test_every_exit_code_of_a_check_is_its_own(hub: Hub, project: Project) -> None:
    """CI can tell them apart, and the help lists them."""
    codes = [hub("lock", "--check").exit_code]
    hub("approve", "own", "--yes")
    codes.append(hub("lock", "--check").exit_code)
    hub("lock")
    codes.append(hub("lock", "--check").exit_code)
    project.turn(change="enum")
    differs = hub("lock", "--check")
    assert '`style.case` may now be "exec"' in differs.stdout
    codes.append(differs.exit_code)
    project.turn(exit_on_start=1)
    codes.append(hub("lock", "--check").exit_code)
    assert codes == [3, 4, 0, 1, 5]
    assert set(codes) == CHECK_CODES.keys()


def test_a_lock_is_written_of_what_was_approved_only(hub: Hub, project: Project) -> None:
    """Neither of a server that is not approved nor of one that has changed since."""
    assert hub("lock").exit_code == 3
    hub("approve", "own", "--yes")
    project.turn(change="annotations")
    result = hub("lock")
    assert result.exit_code == 1
    assert "hub mcp approve own" in result.stdout
    assert not project.lock.exists()


def test_another_version_of_the_package_is_told(hub: Hub, project: Project) -> None:
    """As the launch command shows it."""
    hub("approve", "own", "--yes")
    hub("lock")
    data = json.loads(project.lock.read_text(encoding="utf-8"))
    data["servers"]["own"] |= {
        "launch": "0" * 16,
        "package": {"registry": "npm", "name": "x", "version": "1.0.0"},
    }
    project.lock.write_text(json.dumps(data), encoding="utf-8")
    result = hub("lock", "--check")
    assert result.exit_code == 1
    assert "package x@1.0.0 → hub@latest" in result.stdout


def test_a_lock_narrows_what_the_user_approved(hub: Hub, project: Project) -> None:
    """What differs from it is held back, and approving alone does not help."""
    hub("approve", "own", "--yes")
    hub("lock")
    data = json.loads(project.lock.read_text(encoding="utf-8"))
    del data["servers"]["own"]["tools"]["spawn"]
    project.lock.write_text(json.dumps(data), encoding="utf-8")
    assert "against hub.lock: tool `spawn`: new" in hub("diff").stdout
    result = hub("approve", "own", "--yes")
    assert "hub.lock says otherwise" in result.stdout
    assert "quarantined" in hub("list").stdout


def test_a_lock_that_cannot_be_read_stops_everything_but_writing_it_anew(
    hub: Hub, project: Project
) -> None:
    """A merge conflict in it must not lift its bounds."""
    hub("approve", "own", "--yes")
    project.lock.write_text("<<<<<<< ours\n", encoding="utf-8")
    result = hub("lock", "--check")
    assert result.exit_code == 2
    assert "hub mcp lock" in result.stderr
    assert hub("lock").exit_code == 0
    assert hub("lock", "--check").exit_code == 0


@pytest.mark.parametrize(("typed", "agreed"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_at_a_terminal_the_person_is_asked_before_anything_starts(
    terminal: Callable[..., Any], tmp_path: Path, project: Project, typed: bytes, agreed: bool
) -> None:
    """Only a yes is a yes (H52)."""
    env = {name: str(tmp_path / name) for name in ("HUB_STATE_DIR", "XDG_CONFIG_HOME")}
    env |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    screen = terminal("-m", "hub", "mcp", "approve", "own", "-C", str(project.path), env=env)
    screen.read_until(rb"Start own from now on\? \[y/N\]")
    assert not project.log.exists()
    screen.type(typed)
    assert screen.end() == (0 if agreed else 1)
    assert project.log.exists() is agreed
