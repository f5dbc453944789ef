"""Plain text for terminals and pipes: columns, headings and marks without a drawing library."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal

from hub.core.text import cells, one_line, printable

Colour = Literal["red", "green", "yellow", "cyan", "bold", "dim"]

CODES: dict[Colour, int] = {
    "red": 31,
    "green": 32,
    "yellow": 33,
    "cyan": 36,
    "bold": 1,
    "dim": 2,
}
PIPE_WIDTH = 10_000
"""Columns where no terminal sets a limit."""


def painted(text: str, colour: Colour) -> str:
    """Colour text when stdout is a terminal that wants colours; ``NO_COLOR`` is honoured."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if not wanted or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m"


def width() -> int:
    """Return the columns of the terminal on stdout, or many where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def columns(rows: Sequence[Sequence[str]], *, limit: int | None = None) -> list[str]:
    """Align cells in columns; the last column is cut where the line would pass the limit."""
    if not rows:
        return []
    limit = width() if limit is None else limit
    clean = [[one_line(cell, limit) for cell in row] for row in rows]
    widths = [max(cells(row[index]) for row in clean) for index in range(len(clean[0]) - 1)]
    lines = []
    for row in clean:
        line = "".join(
            cell + " " * (size - cells(cell) + 2) for cell, size in zip(row, widths, strict=False)
        )
        room = max(limit - cells(line), 0)
        lines.append((line + one_line(row[-1], room)).rstrip())
    return lines


def paragraph(text: str, *, indent: str = "", limit: int | None = None) -> list[str]:
    """Return printable text as indented lines, wrapped for the terminal; its own lines stay."""
    limit = width() if limit is None else limit
    room = max(limit - len(indent), 20)
    lines: list[str] = []
    for line in printable(text).split("\n"):
        fits = cells(line) <= room
        wrapped = [line] if fits else textwrap.wrap(line, room, break_on_hyphens=False)
        lines.extend(f"{indent}{part}".rstrip() for part in wrapped)
    return lines


def facts(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return names with their values beside them, wrapped; pairs without value are left out."""
    given = [(name, value) for name, value in pairs if value]
    size = max((len(name) for name, _ in given), default=0) + 2
    lines: list[str] = []
    for name, value in given:
        block = paragraph(value, indent=" " * size)
        lines += [painted(name, "bold") + block[0][len(name) :], *block[1:]]
    return lines


def marked(mark: str, colour: Colour, text: str) -> list[str]:
    """Return a paragraph that begins with a coloured mark."""
    lines = paragraph(f"{mark} {text}")
    return [painted(mark, colour) + lines[0][len(mark) :], *lines[1:]]


def show(lines: Iterable[str]) -> None:
    """Print lines to stdout."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
