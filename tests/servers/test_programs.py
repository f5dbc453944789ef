"""The three console programs: help, version and wrong options."""

import subprocess
import sys
from pathlib import Path

import pytest

from hub_servers import files, notes, shell

MODULES = [files, shell, notes]


@pytest.mark.parametrize("module", MODULES)
def test_help_says_what_the_program_is(module: object, capsys: pytest.CaptureFixture[str]) -> None:
    """And that it speaks MCP over stdin and stdout."""
    with pytest.raises(SystemExit) as caught:
        module.main(["--help"])  # type: ignore[attr-defined]
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "--root DIR" in text
    assert "MCP server" in text


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("files", ["--root", "no-such-folder"], "--root: 'no-such-folder' is not a folder"),
        ("shell", ["--root", "file"], "--root: 'file' is not a folder"),
        ("shell", ["--timeout", "0"], "timeout: it must be above 0"),
        ("shell", ["--env", "=x"], "'=x' is neither NAME nor NAME=VALUE"),
        ("shell", ["--timeout", "soon"], "invalid float value: 'soon'"),
        ("notes", ["--state", "file"], "--state: 'file' is not a folder"),
        ("notes", ["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_a_wrong_option_is_one_clear_message(
    name: str, options: list[str], words: str, tmp_path: Path
) -> None:
    """Exit code 2, no traceback, nothing on stdout."""
    (tmp_path / "file").touch()
    process = subprocess.run(
        [sys.executable, "-m", f"hub_servers.{name}", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert process.returncode == 2
    assert words in process.stderr
    assert "Traceback" not in process.stderr
    assert process.stdout == ""


@pytest.mark.parametrize("module", MODULES)
def test_the_version_is_that_of_the_distribution(
    module: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """So a report can name it."""
    with pytest.raises(SystemExit) as caught:
        module.main(["--version"])  # type: ignore[attr-defined]
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("hub-server-")
