"""Streaming: the CPU that 20,000 deltas of one token cost."""

from collections.abc import Iterator

from bench import scripts
from bench.figures import Figure, Goal, from_runs
from bench.processes import place, program, serving

COUNT = 20_000
COLUMNS = {
    "bare httpx2": ("bare_httpx",),
    "bare SDK": ("bare_sdk",),
    "hub": ("with_hub",),
    "hub, plain lines": ("with_hub", "lines"),
}


def measure(runs: int) -> Iterator[Figure]:
    """Let each program read one long answer; its start is not counted, nor the server's CPU."""
    spent: dict[str, list[float]] = {name: [] for name in COLUMNS}
    with place() as where, serving(scripts.deltas(COUNT), where) as server:
        for _ in range(runs):
            for name, (module, *more) in COLUMNS.items():
                figures = program(module, server, where, *more)
                if figures["characters"] != COUNT * len("tok "):
                    raise RuntimeError(f"{name} has read {figures['characters']} characters")
                spent[name].append(figures["cpu"])
    goals = [Goal(name, 2.3, "bare httpx2") for name in ("hub", "hub, plain lines")]
    yield from_runs(f"{COUNT:,} deltas", "CPU s", spent, goals)
