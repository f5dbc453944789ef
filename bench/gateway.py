"""Servers behind the hub: what calls cost more, how long a catalog takes, how much memory."""

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.figures import Figure, Goal, from_runs
from bench.processes import Place, place, run

COUNTS = (1, 5, 20)
"""How many servers are connected."""
OVERHEAD = 0.5
"""Milliseconds that a call through the hub may take more than a bare one."""
COLD = 1.3
"""How many times its slowest healthy server alone a catalog may take when nothing is known."""
WARM = 50.0
"""Milliseconds that the first list may take when the healthy servers are known."""


def measure(runs: int) -> Iterator[Figure]:
    """Time calls turn by turn with bare ones, so that other load hits both."""
    with place() as where:
        yield from _calls(where, runs)
        yield _catalog(where, runs)
        yield _memory(where, runs)


def _program(where: Place, *arguments: str) -> Any:
    command = [sys.executable, "-m", "bench.programs.gateway", *arguments]
    return json.loads(run(command, where)[1])


def _calls(where: Place, runs: int) -> Iterator[Figure]:
    more: dict[str, list[float]] = {}
    for count in COUNTS:
        took: dict[str, list[float]] = {"bare client": [], "hub": []}
        for _ in range(runs):
            found = _program(where, "calls", str(count))
            took["bare client"].append(found["bare"])
            took["hub"].append(found["hub"])
        plural = "server" if count == 1 else "servers"
        name = f"a call over stdio, {count} {plural} connected, p50"
        yield from_runs(name, "ms", took)
        more[f"{count} {plural}"] = [
            hub - bare for hub, bare in zip(took["hub"], took["bare client"], strict=True)
        ]
    goals = [Goal(column, OVERHEAD) for column in more]
    yield from_runs("what the hub adds to a call, p50", "ms", more, goals)
    medians = [statistics.median(values) for values in more.values()]
    growth = {"between the fewest and the most servers": max(medians) - min(medians)}
    goal = Goal("between the fewest and the most servers", OVERHEAD / 5)
    yield Figure("how much that differs", "ms", growth, [goal])


def _catalog(where: Place, runs: int) -> Figure:
    alone, first, whole, cached = "slowest alone", "first list", "all healthy", "from the cache"
    took: dict[str, list[float]] = {alone: [], first: [], whole: [], cached: []}
    for _ in range(runs):
        with TemporaryDirectory(prefix="bench-") as name:
            one, many = str(Path(name, "one")), str(Path(name, "many"))
            took[alone].append(_program(where, "catalog", one, "slowest")["whole"])
            cold = _program(where, "catalog", many, "all")
            took[first].append(cold["first"])
            took[whole].append(cold["whole"])
            took[cached].append(_program(where, "catalog", many, "all")["first"])
    return from_runs(
        "catalog of 20 healthy servers, one mute and one crashing",
        "ms",
        took,
        [Goal(first, COLD, alone), Goal(whole, COLD, alone), Goal(cached, WARM)],
    )


def _memory(where: Place, runs: int) -> Figure:
    held = [_program(where, "memory", "20")["kB"] for _ in range(runs)]
    return from_runs("memory of the hub for each idle connected server", "kB", {"hub": held})
