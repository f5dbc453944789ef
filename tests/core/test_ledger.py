"""Reservations: many requests at once cannot pass a bound together."""

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hub.core.ledger import Ledger, Reservation
from hub.core.limits import LimitHit, Limits
from hub.core.messages import Usage
from hub.core.prices import Price

PRICE = Price(input=2.0, output=8.0, cached=0.5)
"""Dollars for a million tokens."""


def ledger(**limits: float | None) -> Ledger:
    """A root with these bounds and no others."""
    bounds = {"steps": None, "tool_calls": None, **limits}
    return Ledger("lead", Limits(**bounds))  # type: ignore[arg-type]


def held(found: Reservation | LimitHit | None) -> Reservation:
    assert isinstance(found, Reservation)
    return found


def test_what_is_reserved_is_no_longer_there_for_others() -> None:
    """The second request waits although nothing has been spent (A41)."""
    root = ledger(tokens=10_000)
    first = held(root.reserve(2_000, 8_000))
    assert first.output == 8_000
    assert root.reserve(2_000, 8_000) is None
    first.settle(Usage(2_000, 100))
    assert root.total.total_tokens == 2_100
    assert held(root.reserve(2_000, 8_000)).output == 5_900


def test_an_answer_gets_what_is_left_and_not_more() -> None:
    """Alone in the tree a request is not sent back for a small answer."""
    root = ledger(tokens=1_000)
    assert held(root.reserve(990, 4_096)).output == 10


def test_a_request_whose_input_does_not_fit_is_the_end() -> None:
    """The limit says what is used and what the request would take."""
    root = ledger(tokens=1_000)
    root.charge(Usage(900, 0))
    hit = root.reserve(200, 100)
    assert isinstance(hit, LimitHit)
    assert str(hit) == (
        "tokens limit of lead: 900 of 1000 used, the next request takes 200 or more"
    )


def test_a_reservation_that_is_given_back_counts_nothing() -> None:
    """A cancelled request holds nothing, however often that is said."""
    root = ledger(tokens=1_000)
    found = held(root.reserve(100, 100))
    found.release()
    found.release()
    assert (root.reserved_tokens, root.total.total_tokens) == (0, 0)


def test_money_is_reserved_by_the_dearest_that_can_come() -> None:
    """Three requests of at most 0.30 fit under a dollar, and a fourth gets a short answer (A41)."""
    root = ledger(usd=1.0)
    children = [root.child(f"lead/a#{number}", Limits()) for number in range(5)]
    found = [child.reserve(30_000, 30_000, PRICE) for child in children]
    sizes = [item.output if isinstance(item, Reservation) else 0 for item in found]
    assert sizes == [30_000, 30_000, 30_000, 5_000, 0]
    for item in found:
        if isinstance(item, Reservation):
            item.settle(Usage(30_000, item.output), PRICE.of(Usage(30_000, item.output)))
    assert root.total_usd == pytest.approx(1.0)
    assert isinstance(children[4].reserve(30_000, 30_000, PRICE), LimitHit)


def test_cached_input_has_its_own_price() -> None:
    """A million tokens, half of them from the cache."""
    assert PRICE.of(Usage(1_000_000, 0, cached_tokens=500_000)) == pytest.approx(1.25)
    assert Price(2.0, 8.0).of(Usage(1_000_000, 0, cached_tokens=500_000)) == pytest.approx(2.0)


def test_requests_of_a_tree_are_counted_together() -> None:
    """Children cannot take more steps than the whole tree has."""
    root = ledger(tree_steps=3)
    child = root.child("lead/a#1", Limits(steps=None))
    for node in (root, child, child):
        held(node.reserve(0, 0)).release()
    hit = child.reserve(0, 0)
    assert isinstance(hit, LimitHit)
    assert (hit.kind, hit.used, hit.owner) == ("steps", 3, "lead")


def test_calls_of_a_tree_are_counted_together() -> None:
    """A batch gets what is left above as well."""
    root = ledger(tree_tool_calls=5)
    child = root.child("lead/a#1", Limits(tool_calls=None))
    assert root.reserve_calls(2) == 2
    assert child.reserve_calls(9) == 3
    assert child.calls_hit() == LimitHit("tool_calls", 5, 5, "lead")
    assert root.reserve_calls(1) == 0


async def test_whoever_waits_is_woken_by_a_settlement_anywhere_in_the_tree() -> None:
    """A sibling's answer makes room."""
    root = ledger(tokens=1_000)
    first, second = (root.child(f"lead/a#{number}", Limits()) for number in (1, 2))
    found = held(first.reserve(500, 500))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            woken = anyio.Event()

            async def wait() -> None:
                assert second.reserve(300, 100) is None
                await second.settled()
                woken.set()

            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            found.settle(Usage(500, 20))
            await woken.wait()
    assert held(second.reserve(300, 100)).output == 100


class Spending(RuleBasedStateMachine):
    """A tree that reserves, settles and gives back at random; no bound is ever passed.

    What a server takes beyond its reservation is the only way past a bound, and it is counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Ledger] = []
        self.open: list[Reservation] = []
        self.beyond_tokens = 0
        self.beyond_usd = 0.0

    @initialize(tokens=st.none() | st.integers(0, 5_000), usd=st.none() | st.floats(0, 0.05))
    def begin(self, tokens: int | None, usd: float | None) -> None:
        self.nodes.append(ledger(tokens=tokens, usd=usd))

    @precondition(lambda self: len(self.nodes) < 8)
    @rule(
        at=st.integers(0, 7),
        tokens=st.none() | st.integers(0, 5_000),
        usd=st.none() | st.floats(0, 0.05),
    )
    def have_a_child(self, at: int, tokens: int | None, usd: float | None) -> None:
        parent = self.nodes[at % len(self.nodes)]
        limits = Limits(steps=None, tool_calls=None, tokens=tokens, usd=usd)
        self.nodes.append(parent.child(str(len(self.nodes)), limits))

    @rule(at=st.integers(0, 7), weight=st.integers(0, 2_000), answer=st.integers(1, 4_000))
    def reserve(self, at: int, weight: int, answer: int) -> None:
        found = self.nodes[at % len(self.nodes)].reserve(weight, answer, PRICE)
        if isinstance(found, Reservation):
            assert 1 <= found.output <= answer
            self.open.append(found)
        elif found is None:
            assert self.open, "it waits for nobody"

    @precondition(lambda self: self.open)
    @rule(at=st.integers(0, 99), part=st.floats(0, 1), beyond=st.integers(0, 50))
    def settle(self, at: int, part: float, beyond: int) -> None:
        found = self.open.pop(at % len(self.open))
        output = int(part * found.output) + beyond
        usage = Usage(found.tokens - found.output, output)
        self.beyond_tokens += max(usage.total_tokens - found.tokens, 0)
        self.beyond_usd += max(PRICE.of(usage) - found.usd, 0.0)
        found.settle(usage, PRICE.of(usage))

    @precondition(lambda self: self.open)
    @rule(at=st.integers(0, 99))
    def give_back(self, at: int) -> None:
        self.open.pop(at % len(self.open)).release()

    @invariant()
    def bounds_hold(self) -> None:
        for node in self.nodes:
            if node.limits.tokens is not None:
                taken = node.total.total_tokens + node.reserved_tokens
                assert taken <= node.limits.tokens + self.beyond_tokens
            if node.limits.usd is not None:
                spent = node.total_usd + node.reserved_usd
                assert spent <= node.limits.usd + self.beyond_usd + 1e-9

    @invariant()
    def nothing_is_held_but_what_is_open(self) -> None:
        for node in self.nodes:
            mine = [item for item in self.open if node in item.ledger.line()]
            assert node.reserved_tokens == sum(item.tokens for item in mine)
            assert node.reserved_usd == pytest.approx(sum(item.usd for item in mine), abs=1e-9)


Spending.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_no_bound_is_passed_whatever_the_order = Spending.TestCase
