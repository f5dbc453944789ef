"""What a stranger's names and words may do to a terminal: nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ESCAPES = "\x1b]52;c;Zm9v\x07\x9b2J\u202e"
Hub = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder in which every name is hostile."""
    folder = tmp_path / f"clone{ESCAPES}"
    roles = folder / ".hub" / "roles"
    roles.mkdir(parents=True)
    (roles / f"a{ESCAPES}.md").write_text(
        "---\nname: worker\nhooks: 1\nskills: 1\n---\nHi.", encoding="utf-8"
    )
    said = f"printf '{ESCAPES}' >&2; exit 1"
    servers = {
        f"x\n  at home\nallow files__read{ESCAPES}": {"command": f"y{ESCAPES}"},
        "loud": {"command": "sh", "args": ["-c", said]},
    }
    (folder / ".hub" / "config.yaml").write_text(json.dumps({"servers": servers}))
    user = tmp_path / "config" / "hub"
    user.mkdir(parents=True)
    (user / "config.yaml").write_text(json.dumps({"servers": {"loud": servers["loud"]}}))
    return folder


@pytest.fixture
def hub(clone: Path, tmp_path: Path) -> Hub:
    """Run a command of the hub in that folder."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HUB_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONUTF8": "1",
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "hub", *arguments]
        return subprocess.run(
            command, cwd=clone, env=environ, capture_output=True, timeout=60, check=False
        )

    return run


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("doctor", "--json"),
        ("roles", "list"),
        ("roles", "check"),
        ("roles", "matrix"),
        ("roles", "show", "worker"),
        ("roles", "show", f"nobody{ESCAPES}"),
        ("trust", "--show"),
        ("trust", "--revoke"),
        ("run", "--model", f"script:{ESCAPES}.yaml", "x"),
        ("run", "--strict", "--model", "m", "x"),
        ("sessions", "show", f"s{ESCAPES}"),
    ],
)
def test_no_command_hands_an_escape_on(hub: Hub, command: tuple[str, ...]) -> None:
    """Names of files, folders, servers and roles, and what a server says on its way out."""
    result = hub(*command)
    text = (result.stdout + result.stderr).decode()
    assert "Traceback" not in text
    assert not set(text) & set("\x1b\x07\x9b\u202e"), text


def test_the_name_of_a_server_cannot_look_like_further_lines_of_what_is_asked(hub: Hub) -> None:
    """Whoever agrees has to see what belongs to which part."""
    lines = hub("trust", "--show").stdout.decode().splitlines()
    assert [line for line in lines if line.strip().startswith("allow files__read")] == []
    assert sum(line.strip().startswith("at ") for line in lines) == 2
