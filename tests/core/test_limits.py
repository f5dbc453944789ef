"""Limits and the ledger: what a child spends its ancestors spend, and nobody gets more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.ledger import Ledger
from hub.core.limits import LimitHit, Limits
from hub.core.messages import Usage

FREE = Limits(steps=None, tool_calls=None)

usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 500),
    output_tokens=st.integers(0, 500),
    cached_tokens=st.integers(0, 100),
    reasoning_tokens=st.integers(0, 100),
    requests=st.integers(0, 2),
)
bounds = st.none() | st.integers(0, 2000)


@st.composite
def trees(draw: st.DrawFn) -> list[Ledger]:
    """A tree of ledgers, each opened after some spending in those before it."""
    found = [Ledger("0", Limits(tokens=draw(bounds)))]
    for number in range(1, draw(st.integers(1, 7))):
        draw(st.sampled_from(found)).charge(draw(usages))
        parent = draw(st.sampled_from(found))
        found.append(parent.child(str(number), Limits(tokens=draw(bounds))))
    return found


def ancestors(ledger: Ledger) -> list[Ledger]:
    found = []
    node: Ledger | None = ledger
    while node is not None:
        found.append(node)
        node = node.parent
    return found


@given(charges=st.lists(st.tuples(st.integers(0, 4), usages), max_size=20), data=st.data())
def test_a_charge_counts_on_every_ancestor(
    charges: list[tuple[int, Usage]], data: st.DataObject
) -> None:
    """A total is what the agent itself and everything below it used, nothing else."""
    tree = [Ledger("0", FREE)]
    for number in range(1, 5):
        tree.append(data.draw(st.sampled_from(tree)).child(str(number), FREE))
    for index, usage in charges:
        tree[index].charge(usage)
    for ledger in tree:
        below = [other for other in tree if ledger in ancestors(other)]
        assert ledger.total == sum((other.own for other in below), Usage())
    for index, ledger in enumerate(tree):
        assert ledger.own == sum((usage for at, usage in charges if at == index), Usage())


@given(tree=trees())
def test_no_child_has_more_left_than_any_ancestor(tree: list[Ledger]) -> None:
    """At every moment a child's remainder is at most that of each ledger above it."""
    for ledger in tree:
        left = ledger.remaining_tokens()
        for above in ancestors(ledger):
            limit = above.remaining_tokens()
            assert limit is None or (left is not None and left <= limit)


@given(tree=trees(), data=st.data())
def test_spending_while_it_is_allowed_overruns_by_one_request_at_most(
    tree: list[Ledger], data: st.DataObject
) -> None:
    """Whoever asks before each request never goes past a bound by more than that request."""
    for _ in range(15):
        ledger = data.draw(st.sampled_from(tree))
        if ledger.hit(0.0):
            continue
        before = {
            above.owner: above.limits.tokens - above.total.total_tokens
            for above in ancestors(ledger)
            if above.limits.tokens is not None
        }
        assert all(left > 0 for left in before.values())
        ledger.charge(data.draw(usages))


def test_the_limit_that_trips_says_whose_it_is() -> None:
    """A child that is stopped by its parent's budget says so."""
    root = Ledger("lead", Limits(tokens=100))
    child = root.child("lead/worker#1", Limits(tokens=500))
    assert child.limits.tokens == 100
    root.charge(Usage(90, 30))
    hit = child.hit(0.0)
    assert hit == LimitHit("tokens", 120, 100, "lead")
    assert str(hit) == "tokens limit of lead: 120 of 100 used"


def test_a_child_is_bounded_by_what_is_left_when_it_starts() -> None:
    """Tokens that are gone cannot be granted again."""
    root = Ledger("lead", Limits(tokens=100))
    root.charge(Usage(60, 0))
    assert root.child("lead/a#1", Limits()).limits.tokens == 40
    assert root.child("lead/b#1", Limits(tokens=10)).limits.tokens == 10


def test_steps_are_counted_for_the_agent_alone() -> None:
    """A parent's steps do not stop its child; its own do, until the next turn."""
    root = Ledger("lead", Limits(steps=2))
    child = root.child("lead/a#1", Limits(steps=3))
    root.steps = 2
    hit = root.hit(0.0)
    assert hit is not None
    assert (hit.kind, hit.used, hit.limit) == ("steps", 2, 2)
    assert child.hit(0.0) is None
    root.start_turn(0.0)
    assert root.hit(0.0) is None


def test_tokens_are_not_given_back_by_a_new_turn() -> None:
    """A budget is for the session; only clocks and counts start anew."""
    root = Ledger("lead", Limits(tokens=10))
    root.charge(Usage(10, 0))
    root.start_turn(0.0)
    assert root.hit(0.0) is not None


@given(
    seconds=st.none() | st.floats(0.1, 100),
    above=st.none() | st.floats(0.1, 100),
    now=st.floats(0, 50),
)
def test_a_deadline_is_never_later_than_the_parents(
    seconds: float | None, above: float | None, now: float
) -> None:
    """A child's turn ends with its parent's at the latest."""
    root = Ledger("lead", Limits(seconds=above))
    root.start_turn(0.0)
    child = root.child("lead/a#1", Limits(seconds=seconds))
    child.start_turn(now)
    ends = [end for end in (above, None if seconds is None else now + seconds) if end is not None]
    assert child.deadline == min(ends, default=None)


def test_a_deadline_that_has_passed_stops_the_next_request() -> None:
    """At the very moment of the deadline nothing more is sent."""
    root = Ledger("lead", Limits(seconds=5))
    root.start_turn(100.0)
    assert root.hit(104.9) is None
    hit = root.hit(105.0)
    assert hit is not None
    assert hit.kind == "seconds"


@pytest.mark.parametrize(
    ("limit", "made", "granted"), [(None, 9, 4), (5, 2, 3), (5, 9, 0), (0, 0, 0)]
)
def test_no_more_calls_are_granted_than_are_left(
    limit: int | None, made: int, granted: int
) -> None:
    """Of four calls those that the limit leaves are counted."""
    ledger = Ledger("lead", Limits(tool_calls=limit))
    ledger.tool_calls = made
    assert ledger.reserve_calls(4) == granted
    assert ledger.tool_calls == made + granted


limits = st.builds(
    Limits,
    steps=st.none() | st.integers(0, 9),
    tool_calls=st.none() | st.integers(0, 9),
    seconds=st.none() | st.floats(0, 9),
    tokens=st.none() | st.integers(0, 9),
    usd=st.none() | st.floats(0, 9),
    tree_steps=st.none() | st.integers(0, 9),
    tree_tool_calls=st.none() | st.integers(0, 9),
    depth=st.integers(0, 9),
)


@given(a=limits, b=limits)
def test_narrowing_takes_the_smaller_bound_of_each_kind(a: Limits, b: Limits) -> None:
    """Neither side can widen the other, in whatever order."""
    both = a.narrowed(b)
    assert both == b.narrowed(a) == both.narrowed(a)
    for name in ("steps", "tool_calls", "seconds", "tokens", "depth"):
        given_bounds = [x for x in (getattr(a, name), getattr(b, name)) if x is not None]
        assert getattr(both, name) == min(given_bounds, default=None)
