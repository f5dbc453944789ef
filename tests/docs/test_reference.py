"""The reference pages say what the code says, and the check notices when they do not."""

import subprocess
import sys
from pathlib import Path

import pytest

from docs import generate_reference as reference
from hub.cli.main import COMMANDS
from hub.config.table import settings_table
from hub.core.events import EVENT_TYPES
from hub.core.outcomes import EXIT_CODES

ROOT = Path(__file__).parents[2]


def test_the_reference_is_what_the_code_says() -> None:
    """The check that CI runs passes on the pages in the repository."""
    done = subprocess.run(
        [sys.executable, "docs/generate_reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with freshly written pages."""
    folder = tmp_path / "reference"
    assert reference.main([], folder) == 0
    assert reference.main(["--check"], folder) == 0
    capsys.readouterr()
    return folder


def test_a_page_that_was_edited_fails_with_the_diff(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Drift is shown line by line, with what to do about it."""
    page = pages / "exit-codes.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("| 54 | `budget` |", "| 55 | `budget` |"), encoding="utf-8")
    assert reference.main(["--check"], pages) == 1
    shown = capsys.readouterr().out
    assert "-| 55 | `budget` |" in shown
    assert "+| 54 | `budget` |" in shown
    assert "make docs" in shown


def test_a_missing_page_and_one_too_many_fail(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages come and go with what they describe; a page written by hand is left alone."""
    (pages / "errors.md").rename(pages / "faults.md")
    (pages / "notes.md").write_text("# By hand\n", encoding="utf-8")
    assert reference.main(["--check"], pages) == 1
    shown = capsys.readouterr().out
    assert "+# Errors" in shown
    assert "faults.md is no page any more" in shown
    assert reference.main([], pages) == 0
    names = sorted(path.name for path in pages.iterdir())
    assert names == sorted([*reference.PAGES, "notes.md"])


def test_an_unknown_flag_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error is not taken for the order to write."""
    assert reference.main(["--chek"], tmp_path / "reference") == 2
    assert not (tmp_path / "reference").exists()
    assert "--check" in capsys.readouterr().err


def test_the_pages_leave_nothing_out(pages: Path) -> None:
    """Every event, outcome, setting and command is on its page."""
    text = {path.name: path.read_text(encoding="utf-8") for path in pages.iterdir()}
    for kind in EVENT_TYPES:
        assert f"\n## {kind.model_fields['type'].default}\n" in text["events.md"]
    for outcome, code in EXIT_CODES.items():
        assert f"| {code} | `{outcome}` |" in text["exit-codes.md"]
    for row in settings_table():
        assert f"| `{row.key}` |" in text["settings.md"]
    for name in COMMANDS:
        assert f"\n### hub {name}\n" in text["commands.md"]
    assert "Usage: hub sessions show " in text["commands.md"]


def test_the_pages_do_not_depend_on_where_they_are_written(
    tmp_path: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another terminal and another home give the same pages."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HUB_MODEL", "elsewhere")
    monkeypatch.setenv("NO_COLOR", "1")
    assert reference.main(["--check"], pages) == 0
