"""Patterns over tool names: what may be written, and what this version does not know."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from hub.config.keys import KeyPath
from hub.config.problems import Problem, place
from hub.core.team import Origin

_PATTERN = re.compile(r"[A-Za-z0-9_\-*?\[\]!]+")
EFFECTS = ("allow", "ask", "deny")


def pattern_problem(pattern: str, where: str) -> Problem | None:
    """Return what is wrong with a pattern over model-facing tool names, or None."""
    if "(" in pattern:
        return Problem(
            f"the rule {pattern!r} speaks of arguments; rules of this version speak of whole "
            "tools only",
            where,
            f"Write the tool's name alone, such as {pattern.partition('(')[0] or 'shell__run'!r}, "
            "if every call of it may be treated this way.",
        )
    if not _PATTERN.fullmatch(pattern):
        return Problem(
            f"{pattern!r} is no pattern over tool names",
            where,
            "Tool names look like files__read; a pattern such as files__* stands for several.",
        )
    return None


def bad_patterns(data: Mapping[str, Any], origin_of: Callable[[KeyPath], Origin]) -> list[Problem]:
    """Return what is wrong with the permission rules of valid settings."""
    problems = []
    for effect in EFFECTS:
        for index, pattern in enumerate(data.get("permissions", {}).get(effect, ())):
            path = ("permissions", effect, index)
            if problem := pattern_problem(pattern, place(origin_of(path), path)):
                problems.append(problem)
    return problems
