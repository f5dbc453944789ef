"""``hub roles new``, ``check --json`` and the pictures of ``hub roles matrix``."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app
from hub.roles.schema import RoleFile

Hub = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work on, in an empty home."""
    monkeypatch.setenv("HUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def hub(project: Path) -> Hub:
    """The command line on that folder."""
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "-C", str(project)])


def roles(project: Path) -> Path:
    """Return the folder of the project's role files."""
    folder = project / ".hub" / "roles"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_new_role_is_commented_passes_the_check_and_says_what_to_do_next(
    hub: Hub, project: Path
) -> None:
    """Every key of a role file is in it, as a comment at least."""
    result = hub("roles", "new", "scout")
    path = project / ".hub" / "roles" / "scout.md"
    assert result.exit_code == 0
    assert f"written: {path}" in result.stdout
    assert "add scout under 'dispatch'" in result.stdout
    assert "hub roles check" in result.stdout
    text = path.read_text(encoding="utf-8")
    for key in RoleFile.model_fields.keys() - {"instructions"}:
        assert f"{key}: " in text
    assert hub("roles", "check").exit_code == 0
    assert "files__read" in hub("roles", "show", "scout").stdout


@pytest.mark.parametrize("source", ["lead", "orchestrator", "explorer", "worker", "reviewer"])
def test_a_copy_of_a_role_is_the_same_but_for_its_name(
    hub: Hub, project: Path, source: str
) -> None:
    """Tools, edges, schema and instructions; whatever the role says itself."""
    assert hub("roles", "new", "other", "--from", source).exit_code == 0
    assert hub("roles", "check").exit_code == 0

    def told(name: str) -> list[str]:
        lines = hub("roles", "show", name).stdout.splitlines()
        return [line for line in lines if not line.startswith(("name ", "from "))]

    assert told("other") == told(source)


def test_a_copy_keeps_bounds_rules_acceptance_and_odd_words(hub: Hub, project: Path) -> None:
    """What YAML could take for something else is quoted."""
    (roles(project) / "one.yaml").write_text(
        json.dumps({
            "name": "one",
            "description": "yes: {no} # \u00fc \u2713",
            "tools": [],
            "dispatch": [{"role": "worker", "max_parallel": 2, "usd": 0.5, "tools": ["files__*"]}],
            "permissions": {"mode": "plan", "deny": ["shell__*"]},
            "limits": {"steps": 7},
            "acceptance": "attested",
            "isolation": "worktree",
            "instructions": "Do: it.\n---\nAnd that.",
        }),
        encoding="utf-8",
    )
    assert hub("roles", "new", "two", "--from", "one").exit_code == 0
    assert 'isolation: "worktree"' in (roles(project) / "two.md").read_text(encoding="utf-8")
    shown = hub("roles", "show", "two").stdout
    for words in (
        "yes: {no} # \u00fc \u2713",
        "worker (2 at once, only files__*, $0.5 each)",
        "steps 7",
        "attested",
        "plan",
        "shell__*",
        "And that.",
    ):
        assert words in shown


def test_a_role_for_the_user_is_written_into_the_users_folder(
    hub: Hub, project: Path, tmp_path: Path
) -> None:
    """Nothing is written into the project then."""
    assert hub("roles", "new", "mine", "--user").exit_code == 0
    assert (tmp_path / "config" / "hub" / "roles" / "mine.md").is_file()
    assert not (project / ".hub").exists()


@pytest.mark.parametrize("file", ["scout.md", "scout.yaml", "other.md"])
def test_nothing_is_ever_overwritten(hub: Hub, project: Path, file: str) -> None:
    """Neither a file of the name nor a role of the name in another file."""
    text = "---\nname: scout\n---\nMine.\n"
    text = "name: scout\n" if file.endswith("yaml") else text
    (roles(project) / file).write_text(text, encoding="utf-8")
    result = hub("roles", "new", "scout")
    assert result.exit_code == 2
    assert file in result.stderr
    assert (roles(project) / file).read_text(encoding="utf-8") == text
    assert len(list(roles(project).iterdir())) == 1


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "readme", "x" * 65, "ünlich", "a b"])
def test_a_name_that_is_no_name_is_refused(hub: Hub, project: Path, name: str) -> None:
    """It becomes a file's name."""
    result = hub("roles", "new", name)
    assert result.exit_code == 2
    assert "cannot be the name of a role" in result.stderr
    assert not (project / ".hub").exists()


def test_a_role_is_not_written_out_of_the_project(hub: Hub, project: Path, tmp_path: Path) -> None:
    """A clone may have a link there."""
    (tmp_path / "elsewhere").mkdir()
    (project / ".hub").symlink_to(tmp_path / "elsewhere")
    result = hub("roles", "new", "scout")
    assert result.exit_code == 2
    assert "leads out of the project" in result.stderr
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_unknown_source_is_answered_with_the_nearest(hub: Hub, project: Path) -> None:
    """And nothing is written."""
    result = hub("roles", "new", "scout", "--from", "explore")
    assert result.exit_code == 2
    assert "explorer" in result.stderr
    assert not (project / ".hub").exists()


def test_a_check_as_json_has_every_finding_with_its_place_and_way(hub: Hub, project: Path) -> None:
    """The exit code is the same as of the text."""
    (roles(project) / "boss.md").write_text(
        "---\nuser_facing: true\ntools: [files__read]\ndispatch: [worker, nobody]\n---\nx\n",
        encoding="utf-8",
    )
    result = hub("roles", "check", "--json")
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert told["errors"] == 1
    error = told["findings"][0]
    assert (error["severity"], error["role"], error["line"]) == ("error", "boss", 4)
    assert error["file"].endswith("boss.md")
    way = next(f for f in told["findings"] if f["role"] == "boss" and f["path"])
    assert way["path"] == ["boss", "worker"]
    assert way["edges"] == [f"{error['file']}:4"]


def test_tools_that_nobody_comes_to_are_told(hub: Hub, project: Path, tmp_path: Path) -> None:
    """Among what is worth knowing, at the entry of their server."""
    for name in ("lead", "orchestrator"):
        text = f"---\nname: {name}\nuser_facing: true\ntools: [files__read]\n---\nx\n"
        (roles(project) / f"{name}.md").write_text(text, encoding="utf-8")
    result = hub("roles", "check")
    assert result.exit_code == 0
    assert "no role that anybody can start has a use for: shell__run" in result.stdout


def test_a_picture_is_written_to_a_file_or_to_stdout(
    hub: Hub, project: Path, tmp_path: Path
) -> None:
    """The same picture; a file that cannot be written is an error with its name."""
    path = tmp_path / "team.svg"
    assert hub("roles", "matrix", "--svg", str(path)).exit_code == 0
    written = path.read_text(encoding="utf-8")
    assert hub("roles", "matrix", "--svg", "-").stdout == written
    assert "orchestrator" in "".join(ElementTree.fromstring(written).itertext())
    failed = hub("roles", "matrix", "--svg", str(tmp_path / "no" / "team.svg"))
    assert failed.exit_code == 2
    assert "cannot be written" in failed.stderr


def test_a_flowchart_and_json_are_printed(hub: Hub, project: Path) -> None:
    """One of them at a time."""
    assert hub("roles", "matrix", "--mermaid").stdout.startswith("flowchart LR\n")
    told = json.loads(hub("roles", "matrix", "--json").stdout)
    lead = next(role for role in told["roles"] if role["name"] == "lead")
    assert lead["user_facing"]
    assert {edge["role"] for edge in lead["dispatch"]} == {"explorer", "worker", "reviewer"}
    assert "files__read" in lead["tools"]
    assert hub("roles", "matrix", "--mermaid", "--json").exit_code == 2
