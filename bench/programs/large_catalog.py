"""A catalog of many servers in a process of its own; prints its times and its memory as JSON.

Arguments: a folder for the cache, how many servers, how many tools each. What is timed is what a
run does between its start and its first request, and again for every further role.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hub.app.views import view
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog
from hub.cli.garbage import put_off
from hub.core.ports import RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.core.team import Grant

TEXT = {"type": "string", "description": "What is looked for, in words or as a pattern."}
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where, relative to the root of the project."},
        "query": TEXT,
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["new", "old", "odd"]}},
        "options": {
            "type": "object",
            "properties": {"deep": {"type": "boolean"}, "mode": {"type": "string"}},
            "additionalProperties": False,
        },
        "since": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
}
GRANT = Grant(("*",), ("*__tool_1_*", "server_9*__*"))
"""What a role with two bans has."""


class Nowhere:
    """The Servers port where nothing is ever called."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def write(folder: Path, specs: list[ServerSpec], tools: int) -> None:
    """Put a listing of each server into the cache."""
    told = "Finds things of the kind that the name says, and tells where they are. " * 3
    cache = ListingCache(folder)
    for spec in specs:
        offered = (
            RemoteTool(f"tool_{index}_of_{spec.name}", told, SCHEMA) for index in range(tools)
        )
        cache.save(spec, ServerListing(spec.name, "2026-07-28", tuple(offered)))


def build(folder: Path, specs: list[ServerSpec]) -> Catalog:
    """Put the catalog together from the cache."""
    cache, catalog, servers = ListingCache(folder), Catalog(), Nowhere()
    for spec in specs:
        listing = cache.load(spec)
        assert listing is not None
        catalog.add(spec, listing, servers)
    catalog.settle()
    return catalog


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds that some work takes, and what it gives."""
    started = time.perf_counter()
    result = work()
    return (time.perf_counter() - started) * 1000, result


def resident() -> float:
    """Return the megabytes of memory that the process holds."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    put_off()  # as the command does
    folder, servers, tools = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    specs = [ServerSpec(f"server_{index}", "stdio", command="none") for index in range(servers)]
    if not folder.exists():
        write(folder, specs, tools)
    build(folder, specs[:1])
    before = resident()
    built, catalog = timed(lambda: build(folder, specs))
    first, offered = timed(lambda: view(catalog.tools, GRANT, "openai"))
    again, _ = timed(lambda: view(catalog.tools, GRANT, "openai"))
    held = resident() - before
    lowered, _ = timed(lambda: [tool.withheld for tool in offered.values()])
    figures = {
        "built": built,
        "first": first,
        "again": again,
        "lowered": lowered,
        "tools": len(offered),
        "memory": held,
        "memory, all schemas lowered": resident() - before,
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
