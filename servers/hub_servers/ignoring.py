"""Decides what a search skips: heavy folders, and in a Git work tree what Git ignores.

Understood: ``.gitignore`` at every level, those of the folders above the root, and
``.git/info/exclude``; comments, ``!``, ``/``, ``**``, classes and escapes. Not understood: POSIX
classes such as ``[[:alpha:]]`` and the user's global excludes file. Unlike Git, a file that is
ignored and tracked all the same counts as ignored.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hub_servers.globbing import PathPattern, path_pattern, segment_regex

HEAVY = frozenset({".git", "node_modules", ".venv", "__pycache__"})
"""Folders that are never searched unless they are named as the place to search."""
_MAX_FILE = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Rule:
    matcher: re.Pattern[str] | PathPattern
    """What it matches: a name in any folder, or a path from the rule's own folder."""
    folders_only: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class _RuleFile:
    depth: int
    """How many segments of a path lie above the folder of this file; negative above the root."""
    above: tuple[str, ...]
    """The segments from the folder of this file down to the root, for a file above the root."""
    rules: tuple[_Rule, ...]
    """The rules, the last first."""

    def verdict(self, parts: Sequence[str], *, is_folder: bool) -> bool | None:
        """Return whether the path is ignored, or None if no rule speaks of it."""
        path: Sequence[str] | None = None
        for rule in self.rules:
            if rule.folders_only and not is_folder:
                continue
            if isinstance(rule.matcher, PathPattern):
                if path is None:
                    path = [*self.above, *parts[self.depth :]]
                matched = rule.matcher.matches(path)
            else:
                matched = rule.matcher.fullmatch(parts[-1]) is not None
            if matched:
                return not rule.negated
        return None


@dataclass(frozen=True, slots=True)
class Ignore:
    """The rules that hold in one folder; immutable, each folder below adds its own."""

    files: tuple[_RuleFile, ...] = ()
    """The files whose rules hold, the deepest first."""
    in_git: bool = False
    """Whether the root lies in a Git work tree, so that ``.gitignore`` counts."""

    @classmethod
    def at(cls, root: Path, base: Sequence[str] = ()) -> "Ignore":
        """Return the rules that hold in the folder ``base`` (segments below the root)."""
        top = next((one for one in (root, *root.parents) if (one / ".git").exists()), None)
        if top is None:
            return cls()
        ignore = cls((), in_git=True)
        below = root.relative_to(top).parts
        ignore = ignore._with(top / ".git" / "info" / "exclude", 0, below)
        for level in range(len(below)):
            ignore = ignore._with(top.joinpath(*below[:level]) / ".gitignore", 0, below[level:])
        for level in range(len(base) + 1):
            ignore = ignore.inside(root.joinpath(*base[:level]), level)
        return ignore

    def inside(self, folder: Path, depth: int) -> "Ignore":
        """Return the rules that hold in a folder that lies ``depth`` segments below the root."""
        return self._with(folder / ".gitignore", depth, ()) if self.in_git else self

    def skips(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Return whether to skip a path (segments below the root) whose folder is not skipped."""
        if is_folder and parts[-1] in HEAVY:
            return True
        for file in self.files:
            verdict = file.verdict(parts, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return parts[-1] == ".git"

    def _with(self, path: Path, depth: int, above: Sequence[str]) -> "Ignore":
        try:
            if path.is_symlink() or path.stat().st_size > _MAX_FILE:
                return self
            text = path.read_text("utf-8-sig", "replace")
        except OSError:
            return self
        rules = tuple(reversed(_parsed(text)))
        if not rules:
            return self
        return Ignore((_RuleFile(depth, tuple(above), rules), *self.files), in_git=True)


def _parsed(text: str) -> list[_Rule]:
    rules: list[_Rule] = []
    names: list[str] = []
    for line in text.split("\n"):
        pattern = _without_trailing_spaces(line.removesuffix("\r"))
        if not pattern.strip("/") or pattern.startswith("#"):
            continue
        negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        folders_only = pattern.endswith("/")
        pattern = pattern.rstrip("/")
        if "/" in pattern:
            rules.append(_Rule(path_pattern(pattern), folders_only, negated))
            names = []
            continue
        if names and (rules[-1].folders_only, rules[-1].negated) == (folders_only, negated):
            rules.pop()
        else:
            names = []
        # Neighbours of one kind become one expression: large ignore files stay fast.
        names.append(f"(?:{segment_regex(pattern)})")
        rules.append(_Rule(re.compile("|".join(names), re.DOTALL), folders_only, negated))
    return rules


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" \t")
    if stripped != line and stripped.endswith("\\") and not stripped.endswith("\\\\"):
        return stripped + line[len(stripped)]
    return stripped
