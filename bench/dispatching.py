"""Dispatch: what a child costs beside its own requests, and a thousand of them at once."""

import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.figures import Figure, Goal, from_runs
from bench.processes import Place, place, program, serving
from bench.scripts import read_call

SERIAL = 100
"""Children that are dispatched one after another."""
AT_ONCE = (1, 100, 1000)
DEPTH = 5
P50, P95 = 5.0, 15.0
MEMORY = 400.0
REPORT = {"tool": "report", "args": {"status": "success", "summary": "This part is done."}}


def measure(runs: int) -> Iterator[Figure]:
    """Time children with one request each, less the same request by a bare loop; and the crowd."""
    yield from serial(runs)
    yield from at_once(runs)
    yield from deep(runs)
    yield from crowd(min(runs, 3))


def serial(runs: int) -> Iterator[Figure]:
    """One child after another: the job from its start to its end, less the bare request."""
    columns: dict[str, list[float]] = {
        "bare httpx2": [],
        "hub": [],
        "above, p50": [],
        "above, p95": [],
    }
    turns = [{"calls": [_dispatch("child", number)]} for number in range(SERIAL)]
    script = _script({"lead": [*READY, *turns, DONE], "child": [{"calls": [REPORT]}]})
    bare_script = _script({"lead": [*turns, DONE], "child": [{"calls": [REPORT]}]})
    for _ in range(runs):
        with place() as where, serving(bare_script, where) as server:
            bare = sorted(program("bare_httpx", server, where)["children"])
        with place() as where, serving(script, where) as server:
            mine = sorted(_children(server, where, {"lead": ["child"], "child": []}))
        base = statistics.median(bare)
        columns["bare httpx2"].append(base * 1000)
        columns["hub"].append(statistics.median(mine) * 1000)
        columns["above, p50"].append((statistics.median(mine) - base) * 1000)
        columns["above, p95"].append((mine[int(len(mine) * 0.95)] - base) * 1000)
    goals = [Goal("above, p50", P50), Goal("above, p95", P95)]
    yield from_runs(f"one child, of {SERIAL} in turn", "ms", columns, goals)


def at_once(runs: int) -> Iterator[Figure]:
    """All children in one message: what each adds to the wall time, by how many they are."""
    above: dict[str, list[float]] = {f"{count} children": [] for count in AT_ONCE}
    for count in AT_ONCE:
        calls = [_dispatch("child", number) for number in range(count)]
        script = _script({"lead": [*READY, {"calls": calls}, DONE], "child": [{"calls": [REPORT]}]})
        bare = _script({"lead": [{"calls": calls}, DONE], "child": [{"calls": [REPORT]}]})
        for _ in range(min(runs, 3)):
            with place() as where, serving(bare, where) as server:
                base = program("bare_httpx", server, where, "httpx")["wall"]
            with place() as where, serving(script, where) as server:
                figures = _run(server, where, {"lead": ["child"], "child": []})
            above[f"{count} children"].append((figures["wall"] - base) / count * 1000)
    last = f"{AT_ONCE[-1]} children"
    yield from_runs("a child of many at once, above the bare loop", "ms", above, [Goal(last, P50)])


def deep(runs: int) -> Iterator[Figure]:
    """A chain of children: what each level adds, at the first and at the last."""
    columns: dict[str, list[float]] = {"1 level": [], f"{DEPTH} levels": []}
    for levels, name in ((1, "1 level"), (DEPTH, f"{DEPTH} levels")):
        edges = {"lead": ["c1"]} | {
            f"c{level}": [f"c{level + 1}"] if level < levels else []
            for level in range(1, levels + 1)
        }
        turns: dict[str, Any] = {"lead": [*READY, {"calls": [_dispatch("c1", 0)]}, DONE]}
        for level in range(1, levels + 1):
            below = [{"calls": [_dispatch(f"c{level + 1}", 0)]}] if level < levels else []
            turns[f"c{level}"] = [*below, {"calls": [REPORT]}]
        for _ in range(runs):
            with place() as where, serving(_script(turns), where) as server:
                columns[name].append(
                    _run(server, where, edges, depth=levels)["wall"] / levels * 1000
                )
    goal = Goal(f"{DEPTH} levels", 1.5, "1 level")
    yield from_runs("a level of a chain", "ms", columns, [goal])


def crowd(runs: int) -> Iterator[Figure]:
    """A thousand children of three steps: memory, time, and the part of the store."""
    count = AT_ONCE[-1]
    calls = [_dispatch("child", number) for number in range(count)]
    child = [{"calls": [read_call(0)]}, {"calls": [read_call(1)]}, {"calls": [REPORT]}]
    script = _script({"lead": [*READY, {"calls": calls}, DONE], "child": child})
    memory: dict[str, list[float]] = {"hub": []}
    walls: dict[str, list[float]] = {"hub": []}
    shares: dict[str, list[float]] = {"store": []}
    for _ in range(runs):
        with place() as where, serving(script, where) as server:
            figures = _run(server, where, {"lead": ["child"], "child": []})
        if len(figures["children"]) != count:
            raise RuntimeError(f"{len(figures['children'])} of {count} children ended")
        memory["hub"].append(figures["rss_mb"])
        walls["hub"].append(figures["wall"])
        shares["store"].append(figures["stored"]["seconds"] / figures["wall"] * 100)
    yield from_runs(
        f"{count} children of 3 steps, peak memory", "MB", memory, [Goal("hub", MEMORY)]
    )
    yield from_runs(f"{count} children of 3 steps", "s", walls)
    yield from_runs("part of that time spent on appending to SQLite", "%", shares)


READY = [{"calls": [read_call(0)]}, {"text": "Ready."}]
DONE = {"text": "All parts are done."}


def _dispatch(role: str, number: int) -> dict[str, Any]:
    return {"tool": "dispatch", "args": {"role": role, "task": f"Do part {number}."}}


def _script(turns: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return a script whose agents are told apart by their instructions."""
    words = {"lead": "You lead the benchmark.", "child": "You are a child of the benchmark."}
    return {
        "script": 1,
        "agents": {
            name: {"match": {"system_contains": words.get(name, f"I am {name}.")}, "turns": steps}
            for name, steps in turns.items()
        },
    }


def _children(server: Any, where: Place, edges: dict[str, list[str]]) -> list[float]:
    children: list[float] = _run(server, where, edges)["children"]
    return children


def _run(
    server: Any, where: Place, edges: dict[str, list[str]], *, depth: int = 3
) -> dict[str, Any]:
    return program(
        "dispatching", server, where, str(write_team(where.folder / "team", edges, depth))
    )


def write_team(
    folder: Path,
    edges: dict[str, list[str]],
    depth: int,
    *,
    tools: Mapping[str, list[str]] = MappingProxyType({}),
) -> Path:
    """Write a team with these edges; nothing but depth and the places bounds it."""
    words = {"lead": "You lead the benchmark.", "child": "You are a child of the benchmark."}
    (folder / "roles").mkdir(parents=True)
    limits = {"steps": None, "tool_calls": None, "depth": depth}
    places = {"in_tree": AT_ONCE[-1]}
    (folder / "config.yaml").write_text(json.dumps({"limits": limits, "jobs": places}))
    for name, below in edges.items():
        role = {
            "name": name,
            "instructions": words.get(name, f"I am {name}."),
            "user_facing": name == "lead",
            "tools": tools.get(name, ["files__read"]),
            "dispatch": [{"role": role, "max_parallel": AT_ONCE[-1]} for role in below],
        }
        (folder / "roles" / f"{name}.yaml").write_text(json.dumps(role))
    return folder
