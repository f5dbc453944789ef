"""The start is quick: a command loads only what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import architecture_rules as rules

ROOT = Path(__file__).parents[1]
COMMAND_TABLE = (ROOT / "hub" / "cli" / "main.py").read_text(encoding="utf-8")


def exists(command: tuple[str, ...]) -> bool:
    """Say whether the command line has a command, whether or not it can be imported."""
    return command[0].startswith("-") or f'"{command[0]}": Entry(' in COMMAND_TABLE


QUICK = [command for command in rules.QUICK_COMMANDS if exists(command)]
LOADED = """
import json, sys
sys.argv = ["hub", *json.loads(sys.argv[1])]
code = 0
try:
    if sys.argv[1:] == ["(import)"]:
        import hub
    else:
        from hub.cli.main import main
        main()
except SystemExit as exit:
    code = exit.code
print("\\n" + json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]))
"""


def loaded_by(*arguments: str, folder: Path) -> tuple[int, set[str]]:
    """Run a command in a process of its own; return its exit code and what it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(arguments)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    code, names = json.loads(done.stdout.splitlines()[-1])
    return code or 0, set(names)


def test_importing_hub_loads_nothing_but_hub(tmp_path: Path) -> None:
    """``import hub`` costs no third-party import at all."""
    _, names = loaded_by("(import)", folder=tmp_path)
    assert names & set(rules.HOMES) == set()


@pytest.mark.parametrize("command", QUICK, ids=" ".join)
def test_a_quick_command_loads_nothing_slow(command: tuple[str, ...], tmp_path: Path) -> None:
    """What talks to no model and no server starts without the libraries for them."""
    code, names = loaded_by(*command, folder=tmp_path)
    assert names & rules.SLOW == set()
    assert code == 0


@pytest.mark.parametrize("command", rules.QUICK_WHEN_WARM, ids=" ".join)
def test_a_command_is_quick_once_the_tools_are_known(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """The second time the cached lists of tools are enough."""
    loaded_by(*command, folder=tmp_path)
    code, names = loaded_by(*command, folder=tmp_path)
    assert names & rules.SLOW == set()
    assert code == 0
