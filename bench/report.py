"""The report of a run: a table, JSON, and a comparison with an earlier run."""

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from bench.figures import Figure, met

WORSE = 1.2
"""A ratio that has grown by more than this factor is a regression."""


def machine() -> str:
    """Say on what was measured."""
    return (
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )


def table(figure: Figure) -> str:
    """Return the lines of one figure."""
    lines = [f"{figure.name} [{figure.unit}]"]
    for column, value in figure.columns.items():
        runs = figure.runs.get(column, ())
        spread = f"  ({number(min(runs))} to {number(max(runs))})" if len(runs) > 1 else ""
        lines.append(f"    {column:<28} {number(value):>9}{spread}")
    for goal in figure.goals:
        verdict = "met" if met(goal, figure.columns) else "MISSED"
        value = number(goal.value(figure.columns))
        lines.append(f"    goal: {goal.words} at most {goal.limit:g}: {value}, {verdict}")
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def as_json(figures: Sequence[Figure], runs: int) -> dict[str, Any]:
    """Return everything for a file."""
    return {
        "format": 1,
        "machine": machine(),
        "runs": runs,
        "figures": [figure.as_dict() for figure in figures],
    }


def regressions(figures: Sequence[Figure], baseline: Mapping[str, Any]) -> list[str]:
    """Name the goals whose value is worse than in an earlier run.

    Goals are ratios within one run, sizes or counts, so runs on different machines compare.
    """
    before = {
        (figure["name"], goal["column"], goal["to"]): goal["value"]
        for figure in baseline["figures"]
        for goal in figure["goals"]
    }
    found = []
    for figure in figures:
        for goal in figure.goals:
            was = before.get((figure.name, goal.column, goal.to))
            now = goal.value(figure.columns)
            if was and now / was > WORSE:
                found.append(f"{figure.name}: {goal.words}: {number(now)}, was {number(was)}")
    return found
