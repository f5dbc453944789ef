"""The report of the benchmarks: goals, and the comparison with an earlier run."""

import json

import pytest

from bench.figures import Figure, Goal, from_runs
from bench.report import as_json, regressions, table


def figure(hub: float, bare: float = 1.0) -> Figure:
    return Figure("step", "ms", {"bare": bare, "hub": hub}, [Goal("hub", 2.0, "bare")])


def test_a_figure_is_the_median_of_its_runs() -> None:
    """One slow run changes nothing."""
    made = from_runs("step", "ms", {"hub": [3.0, 1.0, 90.0]})
    assert made.columns == {"hub": 3.0}


def test_a_table_says_which_goals_are_met_and_which_are_missed() -> None:
    """A missed goal is told as loudly as one that is met."""
    assert "hub / bare at most 2: 1.5, met" in table(figure(1.5))
    assert "hub / bare at most 2: 3, MISSED" in table(figure(3.0))


def test_a_bound_without_a_reference_is_one_in_the_unit_of_its_figure() -> None:
    """Tokens are not compared with anything."""
    made = Figure("first request", "tokens", {"hub": 1400.0}, [Goal("hub", 1500)])
    assert "hub at most 1500: 1400, met" in table(made)


@pytest.mark.parametrize(("hub", "bare", "worse"), [(1.15, 1.0, 0), (1.3, 1.0, 1), (2.6, 2.0, 1)])
def test_a_ratio_that_grew_by_more_than_a_fifth_is_worse(
    hub: float, bare: float, worse: int
) -> None:
    """Machines differ, so ratios within a run are compared."""
    baseline = json.loads(json.dumps(as_json([figure(1.0)], 5)))
    assert len(regressions([figure(hub, bare)], baseline)) == worse


def test_what_the_earlier_run_did_not_measure_is_no_regression() -> None:
    """A new figure has nothing to be compared with."""
    assert regressions([figure(9.0)], {"figures": []}) == []
