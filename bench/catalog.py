"""A large catalog: what a role is offered of 100 servers with 50 tools each."""

import json
import sys
from collections.abc import Iterator

from bench.figures import Figure, Goal, from_runs
from bench.processes import place, run

SERVERS, TOOLS = 100, 50
COLUMNS = {
    "built": "catalog from cached listings",
    "first": "a role's view of it",
    "again": "the same, again",
}
LIMIT = 30.0
"""Milliseconds that the effective catalog of a role may take, warm."""


def measure(runs: int) -> Iterator[Figure]:
    """Time a catalog of 5000 tools out of the cache, and what a role with two bans sees of it.

    Warm means that the process knows the catalog: this is what each further role and each turn
    costs. The first of a process reads the listings of all servers from the disk, in addition.
    """
    took: dict[str, list[float]] = {name: [] for name in COLUMNS.values()}
    lowered: dict[str, list[float]] = {"all 5000": []}
    memory: dict[str, list[float]] = {"catalog": [], "all schemas lowered": []}
    with place() as where:
        folder = where.folder / "catalog"
        program = [sys.executable, "-m", "bench.programs.large_catalog"]
        command = [*program, str(folder), str(SERVERS), str(TOOLS)]
        run(command, where)
        for _ in range(runs):
            figures = json.loads(run(command, where)[1])
            for key, name in COLUMNS.items():
                took[name].append(figures[key])
            lowered["all 5000"].append(figures["lowered"])
            memory["catalog"].append(figures["memory"])
            memory["all schemas lowered"].append(figures["memory, all schemas lowered"])
    yield from_runs(
        f"effective catalog of a role, {SERVERS} servers with {TOOLS} tools",
        "ms",
        took,
        [Goal(COLUMNS["first"], LIMIT), Goal(COLUMNS["again"], LIMIT)],
    )
    yield from_runs("schemas lowered for one kind of model servers", "ms", lowered)
    yield from_runs(f"memory of a catalog of {SERVERS * TOOLS} tools", "MB", memory)
