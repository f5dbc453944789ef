"""Removes the work tree of a job, whatever its child did to it."""

import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread

from hub.worktrees.records import TREES, Record


async def remove_tree(record: Record) -> None:
    """Delete a work tree and what its repository knows of it; what is gone already is no fault."""
    await anyio.to_thread.run_sync(_remove, record)


def _remove(record: Record) -> None:
    tree = Path(record.tree)
    if tree.name != record.job or tree.parent.name != TREES:
        return
    for place in _registered(Path(record.common), tree):
        shutil.rmtree(place, ignore_errors=True)
    if tree.exists():
        shutil.rmtree(tree, onerror=_once_more)
    with suppress(OSError):
        (Path(record.common) / "worktrees").rmdir()


def _registered(common: Path, tree: Path) -> list[Path]:
    """Return the folders in which a repository keeps what it knows of a work tree."""
    wanted = str(tree / ".git")
    found = []
    with suppress(OSError):
        for place in (common / "worktrees").iterdir():
            with suppress(OSError):
                if place.name == tree.name or _leads_to(place / "gitdir") == wanted:
                    found.append(place)
    return found


def _leads_to(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")


def _once_more(remove: Callable[..., Any], path: str, _error: Any) -> None:
    """Try again where a child has taken the right to write from a folder."""
    stuck = Path(path)
    with suppress(OSError):
        for place in (stuck.parent, stuck):
            if not place.is_symlink():
                place.chmod(stat.S_IRWXU)
        if stuck.is_dir() and not stuck.is_symlink():
            shutil.rmtree(stuck, ignore_errors=True)
        else:
            remove(path)
