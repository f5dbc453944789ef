"""A subset of JSON Path (RFC 9535): names, indexes, slices, wildcards and descendants.

Filters, functions and unions are not part of it. A path is read completely before anything is
looked up, and the number of values that it may visit is bounded.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

MOST_VISITED = 2_000_000
"""Values that one path may look at."""
_SEGMENT = re.compile(
    r"""
    (?P<deep>\.\.)?
    (?:
        (?P<dot>(?<!\.)\.)?(?P<name>[^.\[\]'"\s*@?,()$]+)
      | (?P<star>(?:(?<!\.)\.)?\*)
      | \[\s*(?:
            (?P<slice>(?P<start>-?\d+)?\s*:\s*(?P<stop>-?\d+)?)
          | (?P<index>-?\d+)
          | (?P<all>\*)
          | '(?P<single>(?:[^'\\]|\\.)*)'
          | "(?P<double>(?:[^"\\]|\\.)*)"
        )\s*\]
    )
    """,
    re.VERBOSE,
)


class BadPath(Exception):
    """A path that cannot be used; the message is for the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _Segment(Struct, frozen=True):
    """One step of a path."""

    wanted: str | int | slice | None
    """A name, an index, a slice; None takes all members."""
    deep: bool = False
    """It may be at any level below."""


def select(value: Any, path: str) -> list[Any]:
    """Return the values that a path leads to, in the order of the document.

    Raises:
        BadPath: the path is no path of this form, or visits too much.
    """
    segments = _read(path)
    budget = _Budget(MOST_VISITED)
    found = [value]
    for segment in segments:
        found = [below for node in found for below in _step(node, segment, budget)]
    return found


def is_single(path: str) -> bool:
    """Say whether a path can lead to one value at most."""
    return all(
        isinstance(segment.wanted, str | int) and not segment.deep for segment in _read(path)
    )


class _Budget:
    def __init__(self, left: int) -> None:
        self._left = left

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BadPath(f"The path visits more than {MOST_VISITED:,} values; make it narrower.")


def _read(path: str) -> list[_Segment]:
    text = path.strip()
    position = 1 if text.startswith("$") else 0
    segments: list[_Segment] = []
    while position < len(text):
        match = _SEGMENT.match(text, position)
        if match is None or (match["name"] and not _may_start(match, first=position == 0)):
            raise BadPath(
                f"The path cannot be read from {text[position : position + 30]!r} on. Use names, "
                "indexes, slices and wildcards, such as $.items[0:5].name, $['a key'][*], $..id."
            )
        segments.append(_segment(match))
        position = match.end()
    return segments


def _may_start(match: re.Match[str], *, first: bool) -> bool:
    return bool(match["deep"] or match["dot"]) or first


def _segment(match: re.Match[str]) -> _Segment:
    deep = bool(match["deep"])
    if match["slice"] is not None:
        start, stop = match["start"], match["stop"]
        return _Segment(slice(int(start) if start else None, int(stop) if stop else None), deep)
    if match["index"] is not None:
        return _Segment(int(match["index"]), deep)
    if match["star"] or match["all"]:
        return _Segment(None, deep)
    quoted = match["single"] if match["single"] is not None else match["double"]
    if quoted is not None:
        return _Segment(re.sub(r"\\(.)", r"\1", quoted), deep)
    return _Segment(match["name"], deep)


def _step(node: Any, segment: _Segment, budget: _Budget) -> Iterator[Any]:
    if not segment.deep:
        yield from _members(node, segment.wanted, budget)
        return
    waiting = [node]
    while waiting:
        current = waiting.pop()
        budget.take()
        yield from _members(current, segment.wanted, budget)
        waiting.extend(reversed(list(_members(current, None, budget))))


def _members(node: Any, wanted: str | int | slice | None, budget: _Budget) -> Iterator[Any]:
    match node, wanted:
        case dict(), None:
            below = list(node.values())
        case dict(), str() if wanted in node:
            below = [node[wanted]]
        case list(), None:
            below = node
        case list(), int() if -len(node) <= wanted < len(node):
            below = [node[wanted]]
        case list(), slice():
            below = node[wanted]
        case _:
            below = []
    for item in below:
        budget.take()
        yield item
