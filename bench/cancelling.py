"""Cancel: from the stop of a tree to the last closed connection and the last process."""

from collections.abc import Iterator
from typing import Any

from bench.dispatching import write_team
from bench.figures import Figure, Goal, from_runs
from bench.processes import place, program, serving

FLAT = 50
STREAMING, COMMANDS = 100, 20
CONNECTION, PROCESS = 100.0, 300.0
WORDS = {"child": "You are a child of the benchmark.", "lead": "You lead the benchmark."}


def measure(runs: int) -> Iterator[Figure]:
    """Stop fifty flat children that stream, and a tree of three levels with commands."""
    yield from flat(runs)
    yield from deep(runs)


def flat(runs: int) -> Iterator[Figure]:
    """Fifty streams: ours, and as many of a bare client."""
    columns: dict[str, list[float]] = {"bare httpx2": [], "hub": []}
    calls = [_dispatch("child") for _ in range(FLAT)]
    script = _script({"lead": [{"calls": calls}], "child": [STALLED]})
    for _ in range(runs):
        with place() as where, serving(script, where) as server:
            figures = program("bare_cancel", server, where, str(FLAT))
            columns["bare httpx2"].append(_last(server, figures["cancelled"]))
        with place() as where, serving(script, where) as server:
            team = write_team(where.folder / "team", {"lead": ["child"], "child": []}, 3)
            figures = program("cancelling", server, where, str(team), str(FLAT), "0")
            columns["hub"].append(_last(server, figures["cancelled"]))
    goal = Goal("hub", 1.0, "bare httpx2")
    yield from_runs(f"cancel of {FLAT} streams, to the last connection", "ms", columns, [goal])


def deep(runs: int) -> Iterator[Figure]:
    """Three levels, a hundred streams and twenty commands that obey TERM."""
    last: dict[str, list[float]] = {"hub": []}
    processes: dict[str, list[float]] = {"hub": []}
    after: dict[str, list[float]] = {"hub": []}
    below = [_dispatch("child") for _ in range(STREAMING)]
    below += [_dispatch("runner") for _ in range(COMMANDS)]
    script = _script({
        "lead": [{"calls": [_dispatch("mid")]}],
        "mid": [{"calls": below}],
        "child": [STALLED],
        "runner": [{"calls": [SLEEP]}],
    })
    edges = {"lead": ["mid"], "mid": ["child", "runner"], "child": [], "runner": []}
    for _ in range(runs):
        with place() as where, serving(script, where) as server:
            team = write_team(where.folder / "team", edges, 3, tools={"runner": ["shell__run"]})
            asked = (str(team), str(STREAMING), str(COMMANDS))
            figures = program("cancelling", server, where, *asked)
            last["hub"].append(_last(server, figures["cancelled"]))
            processes["hub"].append(figures["processes"])
            late = [at for at in server.tell("arrivals") if at > figures["cancelled"]]
            after["hub"].append(len(late) + figures["open_calls"])
    what = f"cancel of {STREAMING} streams and {COMMANDS} commands on three levels"
    yield from_runs(f"{what}, to the last connection", "ms", last, [Goal("hub", CONNECTION)])
    yield from_runs(f"{what}, to the last process", "ms", processes, [Goal("hub", PROCESS)])
    yield from_runs("requests after the cancel, and calls left open", "", after, [Goal("hub", 0)])


STALLED = {"text": "x " * 60, "wire": {"stall": {"after": 3}}}
SLEEP = {"tool": "shell__run", "args": {"command": "echo $$ >> pids; exec sleep 300"}}


def _last(server: Any, cancelled: float) -> float:
    """Return the milliseconds until the last connection of those that were open was closed."""
    ends = server.tell("ends")["ended"]
    open_then = [at for at in ends if at is None or at > cancelled]
    if not open_then or None in open_then:
        raise RuntimeError(f"{ends.count(None)} answers are still open")
    return (max(open_then) - cancelled) * 1000


def _dispatch(role: str) -> dict[str, Any]:
    return {"tool": "dispatch", "args": {"role": role, "task": "Do your part."}}


def _script(turns: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "script": 1,
        "agents": {
            name: {"match": {"system_contains": WORDS.get(name, f"I am {name}.")}, "turns": steps}
            for name, steps in turns.items()
        },
    }
