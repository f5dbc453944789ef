"""Searches files for a regular expression; plain code without an event loop.

Patterns come in two kinds. A *simple* one (literals, classes, anchors, top-level ``|``, at most
one repeat, within a line, at the end of a branch) takes time in proportion to the text, so it may
run in a thread.
Any other one can take time without end inside one call of `re`, which nothing interrupts; it runs
in a process of its own (``python -c``, see `command_line`) that can be killed, and that the kernel
ends after `CPU_SECONDS` should its parent die first.
"""

import json
import os
import re
import resource
import stat
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hub_servers.errors import ToolError
from hub_servers.globbing import Glob
from hub_servers.paths import shown
from hub_servers.walking import Budget, ScanStopped, Walk

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Larger files are not searched."""
MAX_PATTERN = 1000
CPU_SECONDS = 30
_LINE_CHARS = 400
_BEFORE_HIT = 100

_LITERAL = r"[^\\.^$*+?{}\[\]|()\x00-\x1f]|\\[^0-9A-Za-z\x00-\x1f]"
_ONE = rf"(?:{_LITERAL}|\\[wdSt]|\.|\[[^\]\[\\^\x00-\x1f]+\])"
_ITEM = rf"(?:{_ONE}|\\[WDsb]|[$^]|\[\^[^\]\[\\\x00-\x1f]+\])"
_BRANCH = rf"(?:{_ITEM}*{_ONE}[*+]|{_ITEM}+)"
_SIMPLE = re.compile(rf"{_BRANCH}(?:\|{_BRANCH})*")
_SIMPLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for, and where; plain values, so that it can go to another process."""

    root: str
    """The root that paths are relative to."""
    base: str
    """The folder or file to search, an absolute path inside the root."""
    pattern: str
    """The regular expression."""
    glob: str | None = None
    """Which files to search; None for all."""
    context: int = 0
    """How many lines to show before and after a match."""
    ignore_case: bool = False
    """Whether case does not matter."""
    limit: int = 100
    """How many matching lines to return; the others are counted."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that matches, or that is shown beside one."""

    path: str
    """The file, as it is shown."""
    line: int
    """Its number, from 1."""
    text: str
    """The line, a long one cut to what is around the match."""
    hit: bool = True
    """Whether it matches; otherwise it is context."""


@dataclass(slots=True)
class Totals:
    """What a search comes to."""

    more: int = 0
    """Matching lines beyond the limit."""
    files: int = 0
    """Files with a match."""
    too_large: int = 0
    """Files that were not searched because of their size."""
    stopped: bool = False
    """Whether the time was up before the end."""


def compiled(query: Query) -> re.Pattern[str]:
    """Return the pattern of a query, compiled.

    Raises:
        ToolError: it is not a regular expression, or too long.
    """
    if len(query.pattern) > MAX_PATTERN:
        raise ToolError(f"the pattern is longer than {MAX_PATTERN} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(f"the pattern is not a regular expression: {error}") from None


def is_simple(pattern: str) -> bool:
    """Return whether a pattern surely takes time in proportion to the text only."""
    return len(pattern) <= _SIMPLE_CHARS and _SIMPLE.fullmatch(pattern) is not None


def search(
    query: Query, budget: Budget, totals: Totals, *, stop_at_bytes: int | None = None
) -> Iterator[Line]:
    """Yield lines in the order of files and lines, and count in ``totals``.

    Raises:
        ScanStopped: the budget is used up, or a file has more than ``stop_at_bytes``.
        ToolError: the pattern or the glob is wrong.
    """
    regex = compiled(query)
    finder = _InWhole(regex) if is_simple(query.pattern) else _InLines(regex)
    left = query.limit
    for name, path in _files(query, budget):
        text = _text(path, totals, stop_at_bytes)
        hits = finder.hits(text) if text is not None else []
        if not hits or text is None:
            continue
        totals.files += 1
        totals.more += max(len(hits) - left, 0)
        yield from _shown_lines(name, text, hits[:left], regex, query.context)
        left = max(left - len(hits), 0)


def command_line() -> list[str]:
    """Return the command that runs `main` in a fresh interpreter with nothing but this package."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hub_servers.searching as s; s.main()"
    )
    package_parent = str(Path(__file__).parent.parent)
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, package_parent]


def main() -> None:
    """Read a query as JSON from stdin, write one JSON array for each line, then the totals."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    request = json.loads(sys.stdin.buffer.read())
    totals = Totals()
    try:
        for line in search(Query(**request["query"]), Budget.of(request["seconds"]), totals):
            _write([line.path, line.line, line.text, line.hit])
    except ScanStopped:
        totals.stopped = True
    _write(asdict(totals))


def _write(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


class _InLines:
    """Tries one line after the other."""

    def __init__(self, regex: re.Pattern[str]) -> None:
        self._search = regex.search

    def hits(self, text: str) -> list[int]:
        """Return the indices of the lines that match."""
        return [index for index, line in enumerate(_lines(text)) if self._search(line)]


class _InWhole:
    """Looks through the whole text and only at the lines where something is found.

    A simple pattern finds in the whole text at least what it finds in a line, since it cannot look
    around; what it finds across a line end is ruled out by trying the line alone.
    """

    def __init__(self, regex: re.Pattern[str]) -> None:
        self._line = regex.search
        self._whole = re.compile(regex.pattern, regex.flags | re.MULTILINE).search

    def hits(self, text: str) -> list[int]:
        """Return the indices of the lines that match."""
        found: list[int] = []
        index = 0
        position = 0
        while position < len(text) and (match := self._whole(text, position)):
            start = text.rfind("\n", 0, match.start()) + 1
            if start == len(text):
                break
            index += text.count("\n", position, start)
            end = text.find("\n", match.start())
            end = len(text) if end < 0 else end
            if self._line(text[start:end]):
                found.append(index)
            position = end + 1
            index += 1
        return found


def _files(query: Query, budget: Budget) -> Iterator[tuple[str, Path]]:
    root, base = Path(query.root), Path(query.base)
    glob = None if query.glob is None else Glob.parse(query.glob)
    if not base.is_dir():
        yield shown(base.relative_to(root).as_posix()), base
        return
    for entry in Walk(root, base, budget):
        if entry.kind == "file" and (glob is None or glob.matches("/".join(entry.parts))):
            budget.check()
            yield entry.name, root.joinpath(*entry.parts)


def _text(path: Path, totals: Totals, stop_at_bytes: int | None) -> str | None:
    """Return the text of a file; bytes that are not UTF-8 become ``\\xNN``, binary files None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            if stop_at_bytes is not None and status.st_size > stop_at_bytes:
                raise ScanStopped
            if status.st_size > MAX_FILE_BYTES:
                totals.too_large += 1
                return None
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    if b"\0" in data:
        return None
    text = data.decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if "\r" in text else text


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _shown_lines(
    name: str, text: str, hits: Sequence[int], regex: re.Pattern[str], context: int
) -> Iterator[Line]:
    lines = _lines(text)
    is_hit = set(hits)
    upto = 0
    for hit in hits:
        for index in range(max(hit - context, upto), min(hit + context + 1, len(lines))):
            match = regex.search(lines[index]) if index in is_hit else None
            at = match.start() if match else 0
            yield Line(name, index + 1, _cut(lines[index], at), index in is_hit)
            upto = index + 1


def _cut(line: str, at: int) -> str:
    if len(line) <= _LINE_CHARS:
        return line
    start = min(max(at - _BEFORE_HIT, 0), len(line) - _LINE_CHARS)
    end = start + _LINE_CHARS
    return "…" * (start > 0) + line[start:end] + "…" * (end < len(line))
