"""Figures: what was measured for each column, and what the hub has to reach."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Goal:
    """An upper bound for one column: a multiple of another column, or a number."""

    column: str
    limit: float
    to: str = ""
    """The column to compare with; empty for a bound in the figure's own unit."""

    def value(self, columns: Mapping[str, float]) -> float:
        """Return what is compared with the limit."""
        return columns[self.column] / (columns[self.to] if self.to else 1.0)

    @property
    def words(self) -> str:
        """Name the goal."""
        return f"{self.column} / {self.to}" if self.to else self.column


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    unit: str
    columns: Mapping[str, float]
    goals: Sequence[Goal] = ()
    runs: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What each run gave, where there were several."""

    def as_dict(self) -> dict[str, Any]:
        """Return the figure for JSON, goals with their values."""
        goals = [
            asdict(goal) | {"value": goal.value(self.columns), "met": met(goal, self.columns)}
            for goal in self.goals
        ]
        return {
            "name": self.name,
            "unit": self.unit,
            "columns": dict(self.columns),
            "goals": goals,
            "runs": {name: list(values) for name, values in self.runs.items()},
        }


def met(goal: Goal, columns: Mapping[str, float]) -> bool:
    return goal.value(columns) <= goal.limit


def from_runs(
    name: str, unit: str, runs: Mapping[str, Sequence[float]], goals: Sequence[Goal] = ()
) -> Figure:
    """Make a figure of the medians of several runs."""
    columns = {column: statistics.median(values) for column, values in runs.items()}
    return Figure(name, unit, columns, goals, runs)
