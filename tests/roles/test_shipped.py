"""The shipped team and the guide: they load, they check, they fit."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from hub.core.limits import Limits
from hub.roles.check import WRITERS, check
from hub.roles.load import RoleBook, RoleFolder, load_roles, shipped_folder
from hub.roles.matrix import granted, matrix
from hub.roles.schema import RoleFile

GUIDE = (Path(__file__).parents[2] / "docs" / "roles.md").read_text(encoding="utf-8")
READING = ("status", "diff_unstaged", "diff_staged", "diff", "log", "show", "branch")
CHANGING = {f"git__git_{name}" for name in ("commit", "add", "reset", "create_branch", "checkout")}
GIT_TOOLS = (*(f"git__git_{name}" for name in READING), *sorted(CHANGING))


def shipped() -> RoleBook:
    return load_roles([RoleFolder("shipped", shipped_folder())])


def test_the_team_has_five_roles_of_which_two_face_the_user() -> None:
    """Design section 9."""
    roles = shipped().roles
    assert set(roles) == {"lead", "orchestrator", "explorer", "worker", "reviewer"}
    assert {name for name, role in roles.items() if role.user_facing} == {"lead", "orchestrator"}
    for name in ("lead", "orchestrator"):
        edges = [edge.role for edge in roles[name].dispatch]
        assert edges == ["explorer", "worker", "reviewer"]
    for role in roles.values():
        assert role.limits == Limits()
        assert role.model == ""
        assert not role.allow


def test_the_check_finds_nothing_wrong_with_the_team(tool_names: tuple[str, ...]) -> None:
    """Only what is worth knowing: orchestrator reaches a writer, and git may be absent."""
    assert {finding.severity for finding in check(shipped(), tool_names)} == {"info"}
    with_git = check(shipped(), (*tool_names, *GIT_TOOLS))
    assert [(finding.role, finding.severity) for finding in with_git] == [("orchestrator", "info")]


def test_readers_can_change_nothing(tool_names: tuple[str, ...]) -> None:
    """Neither with the bundled tools nor with those of the git server."""
    roles = shipped().roles
    names = (*tool_names, *GIT_TOOLS)
    for name in ("explorer", "reviewer"):
        tools = set(granted(roles[name], names))
        assert tools >= {"files__read", "files__grep", "git__git_log", "git__git_diff_staged"}
        assert not tools & (WRITERS | CHANGING)
        assert not any(tool.startswith(("notes__", "shell__")) for tool in tools)


def test_orchestrator_has_notes_only_and_worker_all_that_is_bundled(
    tool_names: tuple[str, ...],
) -> None:
    """The first plans, the second does."""
    grants = matrix(shipped().roles, (*tool_names, *GIT_TOOLS)).grants
    assert grants["orchestrator"] == {"notes__memory", "notes__scratchpad", "notes__todo"}
    assert grants["worker"] == set(tool_names)
    assert grants["lead"] == {*tool_names, *GIT_TOOLS}


def test_instructions_are_as_short_as_the_first_request_allows() -> None:
    """lead has 1,500 of the 6,000 characters of its first request; menus show 90 per role."""
    roles = shipped().roles
    assert len(roles["lead"].instructions) <= 1500
    for role in roles.values():
        assert len(role.instructions) <= 2500
        assert 40 <= len(role.description) <= 90


def test_the_reviewers_schema_takes_a_report_and_refuses_a_loose_one() -> None:
    """Findings have a severity, a file and a problem."""
    schema: Any = shipped().get("reviewer").report_schema
    validator = Draft202012Validator(schema)
    good = {
        "verdict": "changes_needed",
        "findings": [{"severity": "major", "file": "a.py", "line": 3, "problem": "p"}],
        "not_checked": ["the tests were not run"],
    }
    assert validator.is_valid(good)
    assert validator.is_valid({"verdict": "approve", "findings": [], "not_checked": []})
    for wrong in (
        {},
        {**good, "verdict": "fine"},
        {**good, "findings": ["text"]},
        {**good, "findings": [{"severity": "major", "problem": "no place"}]},
        {**good, "more": 1},
    ):
        assert not validator.is_valid(wrong), wrong


def test_loading_settings_and_roles_imports_none_of_the_slow_libraries() -> None:
    """They would cost more than all the rest of the start."""
    code = (
        "import sys, pathlib\n"
        "from hub.config.layers import Sources, load_settings\n"
        "from hub.config.models import model_spec\n"
        "from hub.config.paths import find_paths\n"
        "from hub.config.servers import server_specs\n"
        "from hub.config.trust import TrustStore, apply_trust\n"
        "from hub.roles.check import check\n"
        "from hub.roles.load import load_roles, role_folders\n"
        "here = pathlib.Path.cwd()\n"
        "paths = find_paths({}, home=here)\n"
        "loaded = load_settings(Sources(here, paths))\n"
        "book = load_roles(role_folders(here, paths.user_roles))\n"
        "trusted = apply_trust(loaded, book.roles, TrustStore(paths.state))\n"
        "server_specs(trusted.loaded)\n"
        "check(book, ['files__read'], schemas=False)\n"
        "slow = {'mcp', 'openai', 'jsonschema', 'jinja2', 'rich', 'typer'} & sys.modules.keys()\n"
        "sys.exit(f'imported: {slow}' if slow else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=Path(__file__).parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_role_files_of_the_guide_load(folders: Any) -> None:
    """Each block is a file of its own."""
    texts = [
        *(("md", text) for text in re.findall(r"```markdown\n(.*?)```", GUIDE, re.S)),
        *(("yaml", text) for text in re.findall(r"```yaml\n(.*?)```", GUIDE, re.S)),
    ]
    assert len(texts) == 5
    for number, (suffix, text) in enumerate(texts):
        folders.write("user", f"{number}.{suffix}", text)
    book = folders.load()
    assert set(book.roles) == {"translator", "lead", "counter", "fixer", "worker"}
    assert book.get("fixer").acceptance.command == "pytest -q"
    assert book.get("lead").edge_to("translator") is not None
    assert book.get("worker").isolated


def test_the_guide_has_every_key_of_a_role_file() -> None:
    """A key that is added has to be told."""
    for name in RoleFile.model_fields.keys() - {"instructions"}:
        assert f"| `{name}` |" in GUIDE, name
