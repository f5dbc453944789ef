"""The tools that find files by name: `list` and `glob`.

They skip what `ignoring` says, never follow links, and cap what they answer with a line that tells
how much more there is. They walk in a worker thread that ends soon after the call is cancelled.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread

from hub_servers.answers import fitting, notes, size
from hub_servers.errors import ToolError
from hub_servers.globbing import Glob
from hub_servers.paths import Place, Root, about
from hub_servers.tooling import Call, Reply, Tool, schema
from hub_servers.walking import Budget, Entry, ScanStopped, Walk

MAX_ENTRIES = 400
"""How many entries `list` shows."""
MAX_PATHS = 500
"""How many paths `glob` shows."""
WALK_SECONDS = 10.0
"""How long a walk may take."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class FindTools:
    """Runs the two tools on one root."""

    root: Root
    """The folder that nothing leaves."""

    def tools(self) -> list[Tool]:
        """Return the tools."""
        text = {"type": "string"}
        return [
            Tool(
                "list",
                "Show a folder as a tree with sizes. depth: default 2",
                schema([], path=text, depth={"type": "integer"}),
                self.tree,
                read_only=True,
                idempotent=True,
            ),
            Tool(
                "glob",
                "Find files by path: src/**/*.{js,ts}, or *.py in any folder",
                schema(["pattern"], pattern=text),
                self.glob,
                read_only=True,
                idempotent=True,
            ),
        ]

    async def tree(self, call: Call) -> Reply:
        """Show a folder as a tree."""
        place = existing(self.root, call.arguments.get("path", "."))
        if not place.path.is_dir():
            raise ToolError(f"'{place.name}' is a file; use read")
        depth = bounded(call.arguments.get("depth", 2), "depth", 1, 20)
        walk = Walk(self.root.path, place.path, Budget.of(WALK_SECONDS), depth)
        return await in_thread(partial(_listed, walk, place), walk.budget)

    async def glob(self, call: Call) -> Reply:
        """Find files whose path matches a pattern."""
        prefix = str(self.root.path).rstrip("/") + "/"
        glob = Glob.parse(call.arguments["pattern"].removeprefix(prefix))
        walk = Walk(self.root.path, self.root.path, Budget.of(WALK_SECONDS))
        return await in_thread(partial(_globbed, walk, glob), walk.budget)


def existing(root: Root, given: str) -> Place:
    """Return a place where there is something.

    Raises:
        ToolError: there is nothing, or it is outside the root.
    """
    place = root.place(given)
    with about(place.name):
        place.path.stat()
    return place


def bounded(value: int, name: str, low: int, high: int) -> int:
    """Return a number that must be within bounds.

    Raises:
        ToolError: it is not.
    """
    if not low <= value <= high:
        raise ToolError(f"{name} must be from {low} to {high}, not {value}")
    return value


async def in_thread(scan: Callable[[], _T], budget: Budget) -> _T:
    """Run a scan in a worker thread; if the call is cancelled, the scan stops by its budget."""
    try:
        return await anyio.to_thread.run_sync(scan, abandon_on_cancel=True)
    finally:
        budget.stop.set()


def _listed(walk: Walk, place: Place) -> Reply:
    found, more, stopped = _first(walk, MAX_ENTRIES)
    base = len(place.path.relative_to(walk.root).parts)
    entries = [_described(walk, entry) for entry in found]
    lines = [f"{place.name}/" if entries else f"{place.name}/ (nothing to show)"]
    for entry, described in zip(found, entries, strict=True):
        name = entry.name.rsplit("/", 1)[-1]
        mark = {"dir": "/", "link": "@"}.get(entry.kind, "")
        weight = f"  {size(described['size'])}" if entry.kind == "file" else ""
        lines.append("  " * (len(entry.parts) - base) + name + mark + weight)
    text, left_out = fitting(lines)
    more += left_out
    what = "entries; list a folder below, or lower the depth"
    body = [text, *notes(more, what, stopped=stopped)]
    if walk.skipped:
        names = ", ".join(walk.skipped[:8]) + ", …" * (len(walk.skipped) > 8)
        body.append(f"[ignored: {names}]")
    entries = entries[: len(entries) - left_out]
    return Reply("\n".join(body), {"path": place.name, "entries": entries, "more": more})


def _described(walk: Walk, entry: Entry) -> dict[str, Any]:
    described: dict[str, Any] = {"path": entry.name, "kind": entry.kind}
    if entry.kind == "file":
        try:
            described["size"] = walk.root.joinpath(*entry.parts).lstat().st_size
        except OSError:
            described["size"] = 0
    return described


def _globbed(walk: Walk, glob: Glob) -> Reply:
    matching = (
        entry for entry in walk if entry.kind != "dir" and glob.matches("/".join(entry.parts))
    )
    found, more, stopped = _first(matching, MAX_PATHS)
    files = [entry.name for entry in found]
    text, left_out = fitting(files)
    more += left_out
    body = [text] if files else ["no file matches"]
    body += notes(more, "files; narrow the pattern", stopped=stopped)
    return Reply("\n".join(body), {"files": files[: len(files) - left_out], "more": more})


def _first(entries: Iterable[Entry], limit: int) -> tuple[list[Entry], int, bool]:
    """Return entries up to a limit, how many more there are, and whether the time was up."""
    taken: list[Entry] = []
    more = 0
    try:
        for entry in entries:
            if len(taken) < limit:
                taken.append(entry)
            else:
                more += 1
    except ScanStopped:
        return taken, more, True
    return taken, more, False
