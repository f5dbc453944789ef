"""Fan-out: one message that dispatches many children, each of three steps."""

from collections.abc import Iterator

from bench import scripts
from bench.figures import Figure, Goal, from_runs
from bench.processes import place, program, serving

COLUMNS = {
    "bare httpx": ("bare_httpx", "httpx"),
    "bare httpx2": ("bare_httpx",),
    "bare SDK": ("bare_sdk",),
    "hub": ("with_hub",),
    "hub, servers up": ("with_hub", "twice"),
}
SECONDS = {50: 2.2, 200: 10.0}
"""How long a fan-out may take with all that the first prompt of a process has to start."""
TIMES_HTTPX = {50: 2.2 / 1.6, 200: 10 / 7.6}
"""How many times the bare loop over httpx a fan-out may take once everything is up."""
MEMORY = 150.0


def measure(runs: int) -> Iterator[Figure]:
    """Time 50 and 200 children from the prompt to the answer.

    `hub` imports `mcp` and starts the server in that time; `hub, servers up` is the same as the
    second prompt of a process, which is what stands beside the bare loops: they have nothing left
    to import or to start either.
    """
    for count, factor in TIMES_HTTPX.items():
        took: dict[str, list[float]] = {name: [] for name in COLUMNS}
        memory: dict[str, list[float]] = {name: [] for name in COLUMNS}
        for _ in range(runs):
            for name, (module, *more) in COLUMNS.items():
                script = scripts.fan_out(count, second_prompt="twice" in more)
                with place() as where, serving(script, where) as server:
                    figures = program(module, server, where, *more)
                if figures["reports"] != count:
                    raise RuntimeError(f"{name}: {figures['reports']} reports of {count} arrived")
                took[name].append(figures["wall"])
                memory[name].append(figures["rss_mb"])
        goals = [
            Goal("hub", SECONDS[count]),
            Goal("hub, servers up", round(factor, 3), "bare httpx"),
        ]
        yield from_runs(f"{count} children of 3 steps", "s", took, goals)
        yield from_runs(
            f"{count} children, peak resident memory", "MB", memory, [Goal("hub", MEMORY)]
        )
