"""Plain text for terminals and pipes."""

import sys
from typing import Any

import pytest

from hub.cli.layout import columns, facts, marked, painted, paragraph


def test_columns_align_by_cells_and_cut_only_the_last_one() -> None:
    """Wide characters count double; the last column ends where the line does."""
    rows = [("名前", "x", "a long description"), ("a", "yy", "short")]
    assert columns(rows, limit=20) == ["名前  x   a long de…", "a     yy  short"]
    assert columns([]) == []


def test_columns_are_printable_whatever_a_cell_holds() -> None:
    """Names of roles and files cannot move the cursor."""
    assert columns([("a\x1b[2J\n", "b")]) == ["a\\x1b[2J  b"]


def test_a_paragraph_keeps_its_own_lines_and_wraps_long_ones() -> None:
    """Indentation inside of lines stays as long as they fit."""
    text = "  code stays\n\none two three four five six"
    assert paragraph(text, indent="> ", limit=22) == [
        ">   code stays",
        ">",
        "> one two three four",
        "> five six",
    ]


def test_facts_without_a_value_are_left_out() -> None:
    """Names stand above each other, values beside them."""
    assert facts([("a", "1"), ("no", ""), ("long", "2\n3")]) == ["a     1", "long  2", "      3"]


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour in pipes, with NO_COLOR, or on a dumb terminal."""
    assert painted("x", "red") == "x"

    class Terminal:
        def __getattr__(self, name: str) -> Any:
            return getattr(sys.__stdout__, name)

        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert painted("x", "red") == "\x1b[31mx\x1b[0m"
    assert marked("error:", "red", "bad\x1b")[0] == "\x1b[31merror:\x1b[0m bad\\x1b"
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted("x", "red") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert painted("x", "red") == "x"
