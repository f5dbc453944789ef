"""Walks a folder in a fixed order, without following links, within a budget of time."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hub_servers.ignoring import Ignore
from hub_servers.paths import shown


class ScanStopped(Exception):
    """The time is up, or nobody waits for the result any more."""


@dataclass(slots=True)
class Budget:
    """How long a scan may go on."""

    deadline: float
    """When it must stop, as `time.monotonic` counts."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the result is not wanted any more."""

    @classmethod
    def of(cls, seconds: float) -> "Budget":
        """Return a budget that begins now."""
        return cls(time.monotonic() + seconds)

    def check(self) -> None:
        """Stop the scan if it may not go on.

        Raises:
            ScanStopped: the time is up, or the result is not wanted any more.
        """
        if self.stop.is_set() or time.monotonic() > self.deadline:
            raise ScanStopped


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder or link that the walk came to."""

    parts: tuple[str, ...]
    """The path below the root, as the system gives it."""
    kind: str
    """``file``, ``dir``, ``link`` or ``other``."""

    @property
    def name(self) -> str:
        """The path below the root, as it is shown."""
        return shown("/".join(self.parts))


@dataclass(slots=True)
class Walk:
    """One walk; iterate it once."""

    root: Path
    """The root that paths are relative to."""
    base: Path
    """The folder to walk, inside the root; it is walked even if it would be skipped."""
    budget: Budget
    """When to stop."""
    depth: int | None = None
    """How many levels to go down; None for all."""
    skipped: list[str] = field(default_factory=list)
    """Folders and files that were skipped, filled while walking."""

    def __iter__(self) -> Iterator[Entry]:
        """Yield entries, each folder before what it holds, names in order."""
        base = self.base.relative_to(self.root).parts
        open_folders = [self._folder(base, Ignore.at(self.root, base))]
        while open_folders:
            entry, ignore = next(open_folders[-1], (None, None))
            if entry is None or ignore is None:
                open_folders.pop()
                continue
            yield entry
            if entry.kind == "dir" and (self.depth is None or len(open_folders) < self.depth):
                inner = ignore.inside(self.root.joinpath(*entry.parts), len(entry.parts))
                open_folders.append(self._folder(entry.parts, inner))

    def _folder(self, parts: tuple[str, ...], ignore: Ignore) -> Iterator[tuple[Entry, Ignore]]:
        self.budget.check()
        for name, kind in _sorted_entries(self.root.joinpath(*parts)):
            path = (*parts, name)
            if ignore.skips(path, is_folder=kind == "dir"):
                self.skipped.append(shown("/".join(path)) + "/" * (kind == "dir"))
            else:
                yield Entry(path, kind), ignore


def _sorted_entries(folder: Path) -> Sequence[tuple[str, str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry.name, _kind(entry)) for entry in entries)
    except OSError:
        return []


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
