"""The closed list of outcomes, and the exit code of each."""

from typing import get_args

import pytest

from hub.core.jobs import REPORT_OUTCOME, ReportStatus
from hub.core.outcomes import (
    EXIT_CODES,
    EXIT_RETRYABLE,
    EXIT_SIGTERM,
    EXIT_USAGE,
    OUTCOME_MEANING,
    Outcome,
    exit_code,
)

OUTCOMES = get_args(Outcome)
GOOD = {"done", "partial"}


def test_every_outcome_has_a_code_and_a_meaning() -> None:
    """The tables have exactly the outcomes of the list."""
    assert set(EXIT_CODES) == set(OUTCOMES) == set(OUTCOME_MEANING)
    assert all(OUTCOME_MEANING.values())


def test_only_work_that_was_done_exits_with_zero() -> None:
    """A limit, a denial and a failure are never success (A38, A50)."""
    assert {outcome for outcome in OUTCOMES if exit_code(outcome) == 0} == GOOD


def test_codes_tell_outcomes_apart() -> None:
    """No two outcomes share a code, save the good ones and those that just failed."""
    shared = GOOD | {"failed", "lost"}
    codes = [EXIT_CODES[outcome] for outcome in OUTCOMES if outcome not in shared]
    taken = {EXIT_USAGE, EXIT_RETRYABLE, EXIT_SIGTERM, 0, 1}
    assert len(set(codes)) == len(codes)
    assert not taken & set(codes)
    assert len(taken) == 5
    assert all(0 <= code <= 255 for code in EXIT_CODES.values())


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_only_the_two_special_cases_change_a_code(outcome: Outcome) -> None:
    """A failure that may pass exits 75, a run ended by SIGTERM 143; nothing else is touched."""
    usual = EXIT_CODES[outcome]
    assert exit_code(outcome) == usual
    assert exit_code(outcome, retryable=True) == (75 if outcome == "model_error" else usual)
    assert exit_code(outcome, sigterm=True) == (143 if outcome == "cancelled" else usual)


def test_every_report_status_is_an_outcome() -> None:
    """What a child may say of itself maps to one outcome each."""
    assert set(REPORT_OUTCOME) == set(get_args(ReportStatus))
    assert set(REPORT_OUTCOME.values()) <= set(OUTCOMES)
