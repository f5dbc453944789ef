"""Per step: one model request and one tool call, while the history grows."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bench import scripts
from bench.figures import Figure, Goal, from_runs
from bench.processes import place, program, serving

COLUMNS = {"bare httpx2": "bare_httpx", "bare SDK": "bare_sdk", "hub": "with_hub"}
TIMES_HTTPX = {50: 8 / 3.8, 200: 10 / 4.3}
"""How many times the bare loop a step may take, by the number of steps."""


def measure(runs: int) -> Iterator[Figure]:
    """Time runs of 50 and of 200 steps by the arrivals of their requests.

    The first interval is left out: in it the hub imports `mcp` and starts the server.
    """
    for count, factor in TIMES_HTTPX.items():
        took: dict[str, list[float]] = {name: [] for name in COLUMNS}
        grown: dict[str, list[float]] = {name: [] for name in COLUMNS}
        spent: dict[str, list[float]] = {name: [] for name in COLUMNS}
        with place() as where, serving(scripts.steps(count), where) as server:
            for _ in range(runs):
                for name, module in COLUMNS.items():
                    server.tell("reset")
                    figures = program(module, server, where)
                    steps = intervals(server.tell("arrivals"), count)
                    quarter = len(steps) // 4
                    took[name].append(mean(steps))
                    grown[name].append(mean(steps[-quarter:]) - mean(steps[:quarter]))
                    spent[name].append(figures["wall"])
        yield from_runs(
            f"step, run of {count}",
            "ms",
            took,
            [Goal("hub", round(factor, 2), "bare httpx2"), Goal("hub", 1.0, "bare SDK")],
        )
        yield from_runs(
            f"growth, run of {count}: last quarter of the steps less the first",
            "ms",
            grown,
            [Goal("hub", 1.2, "bare httpx2")] if count == max(TIMES_HTTPX) else [],
        )
        yield from_runs(f"whole turn of {count} steps, servers started in it", "s", spent)


def intervals(arrivals: Sequence[float], count: int) -> list[float]:
    """Return the milliseconds between requests, without the first interval."""
    if len(arrivals) != count:
        raise RuntimeError(f"{len(arrivals)} requests came, not {count}")
    return [(later - earlier) * 1000 for earlier, later in pairwise(arrivals[1:])]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
