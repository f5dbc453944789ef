"""Fan-out: one message that dispatches many children, each of three steps."""

from collections.abc import Iterator

from bench import scripts
from bench.figures import Figure, Goal, from_runs
from bench.processes import place, program, serving

COLUMNS = {
    "bare httpx2": ("bare_httpx",),
    "bare SDK": ("bare_sdk",),
    "hub": ("with_hub",),
    "hub, servers up": ("with_hub", "twice"),
}
TIMES_HTTPX = {50: 2.2 / 1.6, 200: 10 / 7.6}
"""How many times the bare loop a fan-out may take, by the number of children."""
MEMORY = 150.0


def measure(runs: int) -> Iterator[Figure]:
    """Time 50 and 200 children from the prompt to the answer.

    `hub` imports `mcp` and starts the server in that time; `hub, servers up` is the same as the
    second prompt of a process.
    """
    for count, factor in TIMES_HTTPX.items():
        took: dict[str, list[float]] = {name: [] for name in COLUMNS}
        memory: dict[str, list[float]] = {name: [] for name in COLUMNS}
        for _ in range(runs):
            for name, (module, *more) in COLUMNS.items():
                script = scripts.fan_out(count, second_prompt=bool(more))
                with place() as where, serving(script, where) as server:
                    figures = program(module, server, where, *more)
                if figures["reports"] != count:
                    raise RuntimeError(f"{name}: {figures['reports']} reports of {count} arrived")
                took[name].append(figures["wall"])
                memory[name].append(figures["rss_mb"])
        goals = [Goal(name, round(factor, 3), "bare httpx2") for name in ("hub", "hub, servers up")]
        yield from_runs(f"{count} children of 3 steps", "s", took, goals)
        yield from_runs(
            f"{count} children, peak resident memory", "MB", memory, [Goal("hub", MEMORY)]
        )
