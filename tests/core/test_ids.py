"""Names of sessions and jobs."""

import re

from hypothesis import given
from hypothesis import strategies as st

from hub.core.ids import new_id

moments = st.floats(0, 4e9)


def test_ids_are_unique_within_one_millisecond() -> None:
    """Ten thousand ids of the same moment differ."""
    assert len({new_id("s", now=1e9) for _ in range(10_000)}) == 10_000


@given(earlier=moments, later=moments)
def test_ids_sort_by_time(earlier: float, later: float) -> None:
    """Ids of different milliseconds sort like the milliseconds."""
    earlier, later = sorted([earlier, later])
    first, second = new_id("s", now=earlier), new_id("s", now=later)
    if int(earlier * 1000) < int(later * 1000):
        assert first < second
    else:
        assert first[:11] == second[:11]


def test_an_id_is_short_and_easily_read() -> None:
    """A prefix and sixteen digits of Crockford's base 32: no i, l, o or u."""
    assert re.fullmatch(r"j-[0-9abcdefghjkmnpqrstvwxyz]{16}", new_id("j"))


def test_the_time_can_be_read_from_an_id() -> None:
    """The first nine digits are the milliseconds, so ids of this century never run out."""
    digits = new_id("s", now=4102444800.0)[2:11]
    value = 0
    for digit in digits:
        value = value * 32 + "0123456789abcdefghjkmnpqrstvwxyz".index(digit)
    assert value == 4102444800000
