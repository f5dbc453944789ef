"""Recovery: how long a large session that was killed takes to open."""

from collections.abc import Iterator

from bench import scripts
from bench.figures import Figure, Goal, from_runs
from bench.processes import place, program, serving

SECONDS = 0.5
CHILDREN = 50


def measure(runs: int) -> Iterator[Figure]:
    """Open a session of some 10,000 events with fifty children that were all at work."""
    took: dict[str, list[float]] = {"hub": []}
    events = 0
    for _ in range(runs):
        with place() as where, serving(scripts.answer(), where) as server:
            figures = program("recovery", server, where)
            if figures["settled"] != CHILDREN:
                raise RuntimeError(f"{figures['settled']} of {CHILDREN} jobs were settled")
            took["hub"].append(figures["seconds"])
            events = figures["events"]
    name = f"a killed session of {events} events and {CHILDREN} children, until it is open"
    yield from_runs(name, "s", took, [Goal("hub", SECONDS)])
