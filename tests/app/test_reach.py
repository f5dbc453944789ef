"""What is looked at before a run starts: edges, scripts and rules of the roles in reach."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.catalog import offering
from hub.core.errors import ConfigError, RoleError, ScriptFileError, UsageError
from hub.roles import rules
from tests.teams import LIMIT, environment, lead_to, team_folder

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work on."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def opened(workspace: Path, tmp_path: Path, **options: Any) -> list[str]:
    """Open a hub without a prompt and return its problems."""
    env = environment(NOWHERE, tmp_path) | options.pop("more", {})
    with anyio.fail_after(LIMIT):
        async with open_hub(RunOptions(workspace=workspace, env=env, **options)) as hub:
            return list(hub.init.problems)


async def refused(workspace: Path, tmp_path: Path, team: Path) -> UsageError:
    """Open a hub that cannot be opened, and return why."""
    with pytest.raises(UsageError) as caught:
        await opened(workspace, tmp_path, team=team)
    assert caught.value.exit_code == 2
    return caught.value


async def test_an_edge_to_nobody_ends_the_run_before_it_starts(
    tmp_path: Path, workspace: Path
) -> None:
    """Also two edges away; with file, line and the nearest name."""
    team = team_folder(tmp_path, lead=lead_to("middle"), middle={"dispatch": ["wroker"]}, worker={})
    error = await refused(workspace, tmp_path, team)
    assert isinstance(error, RoleError)
    assert error.message.startswith("role 'middle': it may dispatch to 'wroker'")
    assert "Did you mean 'worker'?" in error.message
    assert error.where.endswith("middle.yaml:1")


async def test_an_edge_to_nobody_out_of_reach_is_no_fault_of_the_run(
    tmp_path: Path, workspace: Path
) -> None:
    """``hub roles check`` tells of it."""
    team = team_folder(tmp_path, lead=lead_to("worker"), worker={}, other={"dispatch": ["nobody"]})
    assert await opened(workspace, tmp_path, team=team) == [
        f"role {name!r}: {team / 'roles' / name}.yaml is used instead of "
        f"{Path(__file__).parents[2] / 'roles' / name}.md"
        for name in ("lead", "worker")
    ]


async def test_a_script_of_a_child_that_is_not_there_ends_the_run_before_it_starts(
    tmp_path: Path, workspace: Path
) -> None:
    """With the path that was looked for, and the role that names it."""
    team = team_folder(tmp_path, lead=lead_to("child"), child={"model": "script:../none.yaml"})
    error = await refused(workspace, tmp_path, team)
    assert isinstance(error, ConfigError)
    assert str(team / "none.yaml") in error.message
    assert "role 'child'" in error.message
    assert error.where.endswith("child.yaml:1")


async def test_a_broken_script_of_a_child_ends_the_run_before_it_starts(
    tmp_path: Path, workspace: Path
) -> None:
    """With file and line of what is wrong."""
    team = team_folder(tmp_path, lead=lead_to("child"), child={"model": "script:child.yaml.script"})
    (team / "roles" / "child.yaml.script").write_text("script: 1\nturns:\n  - txet: hi\n")
    error = await refused(workspace, tmp_path, team)
    assert isinstance(error, ScriptFileError)
    assert "child.yaml.script:3" in error.where


async def test_rules_that_match_no_tool_are_told_at_the_start(
    tmp_path: Path, workspace: Path
) -> None:
    """Those of the settings and of roles in reach, each with its place."""
    team = team_folder(
        tmp_path,
        lead=lead_to("child"),
        child={"permissions": {"deny": ["shell__rum"]}},
        other={"permissions": {"deny": ["shell__rnu"]}},
    )
    problems = await opened(
        workspace, tmp_path, team=team, assignments=["permissions.deny=[files__wirte]"]
    )
    dead = [problem for problem in problems if "matches no tool" in problem]
    assert dead == [
        "--set permissions.deny: permissions.deny: 'files__wirte' matches no tool, so it does "
        "nothing. Did you mean 'files__write'?",
        f"{team}/roles/child.yaml:1: permissions.deny: 'shell__rum' matches no tool, so it does "
        "nothing. Did you mean 'shell__run'?",
    ]


async def test_a_rule_for_a_server_that_is_switched_off_is_not_told(
    tmp_path: Path, workspace: Path
) -> None:
    """It may be switched on again."""
    given = ["servers.shell.enabled=false", "permissions.deny=[shell__run]"]
    problems = await opened(workspace, tmp_path, assignments=given)
    assert problems == []


async def test_a_rule_may_speak_of_an_alias_of_its_tool_and_of_a_tool_that_is_held_back(
    tmp_path: Path, workspace: Path
) -> None:
    """None of them is a mistake; a name beside them is."""
    given = [
        "aliases.look=files__list",
        'gates={"shell__run": {env: NO_SUCH_VARIABLE}}',
        "permissions.deny=[look, files__list, shell__run, tool_search, lookk]",
    ]
    problems = await opened(workspace, tmp_path, assignments=given)
    assert [one for one in problems if "matches no tool" in one] == [
        "--set permissions.deny: permissions.deny: 'lookk' matches no tool, so it does nothing. "
        "Did you mean 'look'?"
    ]


def test_the_hubs_own_tools_are_the_same_for_rules_and_for_the_catalog() -> None:
    """Both keep the list, since neither may ask the other."""
    assert rules.HUB_TOOLS == offering.HUB_TOOLS


def test_roles_without_scripts_do_not_load_the_script_player(
    tmp_path: Path, workspace: Path
) -> None:
    """The look at the roles costs no import."""
    code = (
        "import anyio, sys\n"
        "from hub.app.open import open_hub\n"
        "from hub.app.options import RunOptions\n"
        "async def main():\n"
        "    async with open_hub(RunOptions()): pass\n"
        "anyio.run(main)\n"
        "print([name for name in sys.modules if name.startswith('hub.models.script')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workspace,
        env=environment(NOWHERE, tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "[]"
