"""Matches paths against patterns with ``*``, ``?``, ``[…]``, ``**`` and ``{a,b}``.

Matching never backtracks beyond one path segment's fixed parts (atomic groups, and the earliest
place for what stands between two ``**``), so no pattern can make it slow.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hub_servers.errors import ToolError

_MAX_ALTERNATIVES = 100
_CLASS = re.compile(r"\[([!^]?)(\]?[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """One pattern without braces over the segments of a path."""

    chunks: tuple[tuple[re.Pattern[str], ...], ...]
    """What stands between the ``**`` parts, as one matcher for each segment."""

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether the whole path matches."""
        first, *rest = self.chunks
        if not _at(first, parts, 0):
            return False
        if not rest:
            return len(parts) == len(first)
        start = len(first)
        *middle, last = rest
        for chunk in middle:
            found = next((at for at in range(start, len(parts) + 1) if _at(chunk, parts, at)), None)
            if found is None:
                return False
            start = found + len(chunk)
        end = len(parts) - len(last)
        return end >= start and _at(last, parts, end)


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob as users write it: braces allowed, and without ``/`` it means any folder."""

    patterns: tuple[PathPattern, ...]
    """The alternatives."""

    @classmethod
    def parse(cls, pattern: str) -> "Glob":
        """Return the glob.

        Raises:
            ToolError: the pattern is empty or has too many alternatives.
        """
        if not pattern.strip("/"):
            raise ToolError("the glob pattern is empty")
        alternatives = _alternatives(pattern.removeprefix("./"))
        return cls(tuple(path_pattern(_anywhere(one)) for one in alternatives))

    def matches(self, path: str) -> bool:
        """Return whether a relative path matches."""
        parts = path.split("/")
        return any(pattern.matches(parts) for pattern in self.patterns)


def path_pattern(pattern: str) -> PathPattern:
    """Return the matcher of a pattern without braces; ``**`` stands for any number of segments."""
    chunks: list[list[re.Pattern[str]]] = [[]]
    segments = pattern.strip("/").split("/")
    if segments[-1] == "**":
        segments.append("*")
    for segment in segments:
        if segment == "**":
            chunks.append([])
        else:
            chunks[-1].append(re.compile(segment_regex(segment), re.DOTALL))
    return PathPattern(tuple(tuple(chunk) for chunk in chunks))


def segment_regex(segment: str) -> str:
    """Return a regular expression that matches the whole of one path segment."""
    pieces: list[str] = [""]
    index = 0
    while index < len(segment):
        char = segment[index]
        index += 1
        if char == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[" and (found := _CLASS.match(segment, index - 1)):
            pieces[-1] += _class_regex(*found.groups())
            index = found.end()
        elif char == "\\" and index < len(segment):
            pieces[-1] += re.escape(segment[index])
            index += 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return pieces[0]
    head, *middle, tail = pieces
    return head + "".join(f"(?>.*?{piece})" for piece in middle) + ".*" + tail


def _class_regex(negated: str, members: str) -> str:
    members = re.sub(r"([\\\[\]&~|^])", r"\\\1", members).replace("--", r"-\-")
    expression = f"[{'^' if negated else ''}{members}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(expression)
    return expression


def _at(chunk: Sequence[re.Pattern[str]], parts: Sequence[str], start: int) -> bool:
    if start + len(chunk) > len(parts):
        return False
    return all(
        matcher.fullmatch(part)
        for matcher, part in zip(chunk, parts[start : start + len(chunk)], strict=True)
    )


def _anywhere(pattern: str) -> str:
    return pattern if "/" in pattern else f"**/{pattern}"


def _alternatives(pattern: str) -> list[str]:
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if found is None:
            done.append(one)
        else:
            choices = reversed(found[1].split(","))
            todo.extend(one[: found.start()] + choice + one[found.end() :] for choice in choices)
        if len(done) + len(todo) > _MAX_ALTERNATIVES:
            raise ToolError(f"the glob has more than {_MAX_ALTERNATIVES} alternatives")
    return done
