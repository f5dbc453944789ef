"""What is shown in place of a result that is too large: its shape and its beginning."""

import json
from typing import Any

import msgspec

LADDER = (200, 100, 50, 30, 20, 12, 8, 5, 3, 2, 1)
"""How many members of each array and object are tried, until the preview fits."""
DEEPEST = 12
"""Levels of nesting that are shown."""
SHORTEST = 40
"""Characters of a text that are always shown."""
LEFT_OUT = "…"


class _TooLong(Exception):
    """A preview that does not fit."""


def parsed(text: str) -> Any:
    """Return the JSON array or object that a text is; None when it is none."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def kind_of(value: Any) -> str:
    """Say in words what a JSON value is, with its size."""
    match value:
        case list():
            return f"a JSON array of {len(value):,} items"
        case dict():
            return f"a JSON object of {len(value):,} members"
        case str():
            return f"a text of {len(value):,} characters"
        case _:
            return "a JSON value"


def cut_json(value: Any, limit: int) -> Any:
    """Return a JSON value cut to what fits into ``limit`` characters, with its shape kept.

    Arrays and objects lose members at their end, texts lose their end, and what lies too deep is
    replaced; each place says how much is left out.
    """
    for members in LADDER:
        cutter = _Cutter(members, max(SHORTEST, limit // (members * 4)), limit)
        try:
            cut = cutter.cut(value, 0)
        except _TooLong:
            continue
        if len(json.dumps(cut, ensure_ascii=False)) <= limit:
            return cut
    return f"{LEFT_OUT} {kind_of(value)}"


class _Cutter:
    """Cuts one value; gives up as soon as it is clear that the result is too long."""

    def __init__(self, members: int, longest: int, limit: int) -> None:
        self._members = members
        self._longest = longest
        self._left = limit

    def cut(self, value: Any, depth: int) -> Any:
        match value:
            case str():
                return self._text(value)
            case list() if value and depth >= DEEPEST:
                return self._text(f"{LEFT_OUT} {kind_of(value)}")
            case dict() if value and depth >= DEEPEST:
                return self._text(f"{LEFT_OUT} {kind_of(value)}")
            case list():
                return self._list(value, depth)
            case dict():
                return self._dict(value, depth)
            case _:
                self._take(len(str(value)) + 1)
                return value

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        self._take(2)
        cut = [self.cut(item, depth + 1) for item in value[: self._members]]
        if len(value) > self._members:
            cut.append(f"{LEFT_OUT} {len(value) - self._members:,} more items")
        return cut

    def _dict(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        self._take(2)
        cut: dict[str, Any] = {}
        for key in list(value)[: self._members]:
            cut[self._text(key)] = self.cut(value[key], depth + 1)
        if len(value) > self._members:
            cut[LEFT_OUT] = f"{len(value) - self._members:,} more members"
        return cut

    def _text(self, text: str) -> str:
        if len(text) > self._longest:
            text = f"{text[: self._longest]}{LEFT_OUT} ({len(text) - self._longest:,} more)"
        self._take(len(text) + 3)
        return text

    def _take(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _TooLong


def cut_text(text: str, limit: int) -> str:
    """Return the first and last lines of a text that fit into ``limit`` characters.

    A line that is too long for that is cut itself.
    """
    head_limit, tail_limit = limit * 2 // 3, limit - limit * 2 // 3
    head = text[:head_limit]
    tail = text[len(text) - tail_limit :]
    if (end := head.rfind("\n")) > head_limit // 2:
        head = head[:end]
    if 0 <= (start := tail.find("\n")) < tail_limit // 2:
        tail = tail[start + 1 :]
    left_out = text[len(head) : len(text) - len(tail)]
    lines = left_out.strip("\n").count("\n") + 1
    words = f"{len(left_out):,} characters" + (f" in {lines:,} lines" if lines > 1 else "")
    return f"{head}\n[{LEFT_OUT} {words} left out {LEFT_OUT}]\n{tail}"
