"""The ledger: what a child spends its ancestors spend, and nobody gets more than there is.

Tokens and money are reserved before a request, as much as it can take, and settled after it with
what it took; on the agent itself and on every ancestor. What is reserved counts as spent, so that
many agents at once cannot pass a bound together. A request that takes more than was reserved (the
server counts more input than was estimated, or answers beyond its cap) is charged in full: the
bound is passed by that remainder at most, and no further request is sent.
"""

from collections.abc import Iterator
from typing import Literal

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.limits import LimitHit, Limits, least
from hub.core.messages import Usage
from hub.core.prices import FREE, Price

KEPT = 20
"""One part in so many of a bound is kept for last words."""
Use = Literal["work", "answer", "last"]
"""``work`` of a child leaves the part that is kept for reports; an ``answer`` to the user may use
all; a ``last`` word may use all, and needs no step."""
USEFUL_OUTPUT = 256
"""Tokens of an answer below which it is better to wait for what others give back."""


class Reservation(Struct):
    """What one request may take, held on an agent's ledger and on those above it."""

    ledger: "Ledger"
    tokens: int
    usd: float
    output: int
    """Tokens that the answer may have."""
    open: bool = True

    def settle(self, usage: Usage, usd: float | None = 0.0) -> None:
        """Give back what was held and charge what was used; None is an unknown price."""
        self.release()
        self.ledger.charge(usage, usd)

    def release(self) -> None:
        """Give back what is still held, if anything; nothing was used."""
        if not self.open:
            return
        self.open = False
        for node in self.ledger.line():
            node.held -= 1
            node.reserved_tokens -= self.tokens
            # Sums of fractions do not come back to nothing by themselves.
            node.reserved_usd = node.reserved_usd - self.usd if node.held else 0.0
            if node.parent is None:
                node.tell()


class Ledger(Struct):
    """The spending of one agent and of everything below it."""

    owner: str
    limits: Limits
    parent: "Ledger | None" = None
    deadline: float | None = None
    """Clock time at which the turn must end; never later than the parent's."""
    steps: int = 0
    """Requests of the turn, of the agent itself."""
    tool_calls: int = 0
    """Calls of the turn, of the agent itself."""
    tree_steps: int = 0
    """Requests of the agent and of everything below it."""
    tree_tool_calls: int = 0
    own: Usage = field(default_factory=Usage)
    """What the agent itself used."""
    total: Usage = field(default_factory=Usage)
    """What the agent and everything below it used."""
    total_usd: float = 0.0
    """US dollars; tokens without a known price are not in it."""
    unpriced: bool = False
    """Some of the tokens have no known price."""
    reserved_tokens: int = 0
    """What requests under way may still take, here and below."""
    reserved_usd: float = 0.0
    held: int = 0
    """Requests under way, here and below."""
    _news: anyio.Event | None = None
    """On the root: set when something is settled."""

    def child(self, owner: str, limits: Limits) -> "Ledger":
        """Open the ledger of a child, bounded by what is left here."""
        tokens = least(limits.tokens, self.remaining_tokens())
        usd = least(limits.usd, self.remaining_usd())
        bounded = replace(limits, tokens=tokens, usd=usd)
        return Ledger(owner, bounded, parent=self, deadline=self.deadline)

    def line(self) -> Iterator["Ledger"]:
        """Give this ledger and those above it, up to the root."""
        node: Ledger | None = self
        while node is not None:
            yield node
            node = node.parent

    def start_turn(self, now: float) -> None:
        """Begin a turn: its clock and its own counts of steps and calls start anew."""
        self.steps = self.tool_calls = 0
        own = None if self.limits.seconds is None else now + self.limits.seconds
        self.deadline = least(own, self.parent.deadline if self.parent else None)

    def deadline_owner(self) -> "Ledger":
        """Return whose limit the deadline is: this ledger's own, or that of an ancestor."""
        node = self
        while node.parent is not None and node.parent.deadline == self.deadline:
            node = node.parent
        return node

    def charge(self, usage: Usage, usd: float | None = 0.0) -> None:
        """Add what one request used here and on every ancestor; None is an unknown price."""
        self.own = self.own + usage
        for node in self.line():
            node.total = node.total + usage
            node.total_usd += usd or 0.0
            node.unpriced = node.unpriced or usd is None

    @property
    def cost(self) -> float | None:
        """US dollars spent here and below; None when the price of some of it is not known."""
        return None if self.unpriced else self.total_usd

    def reserve(
        self, input_tokens: int, output_tokens: int, price: Price = FREE, *, use: Use = "answer"
    ) -> Reservation | LimitHit | None:
        """Hold what a request can take, here and on every ancestor.

        The answer gets as much of ``output_tokens`` as is left; ``Reservation.output`` says how
        much. None means that others hold what would be needed: wait for `settled`, ask again.
        """
        if (hit := self._exhausted(input_tokens, price, 1, use=use)) is not None:
            return hit
        output = output_tokens
        for node in self.line():
            output = min(output, node.output_left(input_tokens, output_tokens, price, use=use))
        useful = min(output_tokens, USEFUL_OUTPUT)
        if output < useful and any(node.held for node in self.line()):
            return None
        tokens, usd = input_tokens + output, price.at_most(input_tokens, output)
        for node in self.line():
            node.held += 1
            node.reserved_tokens += tokens
            node.reserved_usd += usd
            node.tree_steps += 1
        self.steps += 1
        return Reservation(self, tokens, usd, output)

    def reserve_calls(self, wanted: int) -> int:
        """Count tool calls here and on every ancestor; return how many of them may be made."""
        allowed = wanted
        if self.limits.tool_calls is not None:
            allowed = min(allowed, max(self.limits.tool_calls - self.tool_calls, 0))
        for node in self.line():
            if node.limits.tree_tool_calls is not None:
                left = max(node.limits.tree_tool_calls - node.tree_tool_calls, 0)
                allowed = min(allowed, left)
        self.tool_calls += allowed
        for node in self.line():
            node.tree_tool_calls += allowed
        return allowed

    def remaining_tokens(self) -> int | None:
        """Return the tokens left under the tightest bound up the tree; None when unbounded."""
        left: int | None = None
        for node in self.line():
            if node.limits.tokens is not None:
                left = least(left, max(node.limits.tokens - node.total.total_tokens, 0))
        return left

    def remaining_usd(self) -> float | None:
        """Return the dollars left under the tightest bound up the tree; None when unbounded."""
        left: float | None = None
        for node in self.line():
            if node.limits.usd is not None:
                left = least(left, max(node.limits.usd - node.total_usd, 0.0))
        return left

    @property
    def counts_tokens(self) -> bool:
        """Whether a bound of tokens or money holds here or above, so that requests are weighed."""
        return any(
            node.limits.tokens is not None or node.limits.usd is not None for node in self.line()
        )

    def hit(self, now: float) -> LimitHit | None:
        """Return the limit that forbids another request now, or None."""
        if self.limits.steps is not None and self.steps >= self.limits.steps:
            return LimitHit("steps", self.steps, self.limits.steps, self.owner)
        if self.deadline is not None and now >= self.deadline:
            owner = self.deadline_owner()
            seconds = owner.limits.seconds or 0
            return LimitHit("seconds", seconds, seconds, owner.owner)
        return self._exhausted(0, FREE)

    def calls_hit(self) -> LimitHit:
        """Return the limit of tool calls that is the tightest now."""
        for node in self.line():
            limit = node.limits.tree_tool_calls
            if limit is not None and node.tree_tool_calls >= limit:
                return LimitHit("tool_calls", node.tree_tool_calls, limit, node.owner)
        return LimitHit("tool_calls", self.tool_calls, self.limits.tool_calls or 0, self.owner)

    def output_left(self, input_tokens: int, wanted: int, price: Price, *, use: Use) -> int:
        """Return the output tokens that this ledger's own bounds leave to a request now."""
        left, part = wanted, _part(use)
        if self.limits.tokens is not None:
            spent = self.total.total_tokens + self.reserved_tokens
            left = min(left, int(self.limits.tokens * part) - spent - input_tokens)
        if self.limits.usd is not None and price.output > 0:
            spent_usd = self.total_usd + self.reserved_usd
            money = self.limits.usd * part - spent_usd - price.at_most(input_tokens, 0)
            left = min(left, int(money / price.at_most(0, 1) + 1e-9))
        return max(left, 0)

    def _exhausted(
        self, input_tokens: int, price: Price, output_tokens: int = 0, *, use: Use = "answer"
    ) -> LimitHit | None:
        """Return the bound of the tree under which what is spent leaves no room."""
        cost, part = price.at_most(input_tokens, output_tokens), _part(use)
        for node in self.line():
            limits, used = node.limits, node.total.total_tokens
            steps = None if use == "last" else limits.tree_steps
            if steps is not None and node.tree_steps >= steps:
                return LimitHit("steps", node.tree_steps, steps, node.owner)
            if limits.tokens is not None and used + input_tokens >= int(limits.tokens * part):
                needed = input_tokens if used < limits.tokens else 0
                return LimitHit("tokens", used, limits.tokens, node.owner, needed)
            if limits.usd is not None and _reaches(node.total_usd, cost, limits.usd * part):
                needed_usd = cost if node.total_usd < limits.usd else 0.0
                return LimitHit("usd", node.total_usd, limits.usd, node.owner, needed_usd)
        return None

    async def settled(self) -> None:
        """Wait until something that is held anywhere in the tree is given back."""
        root = list(self.line())[-1]
        if root._news is None:
            root._news = anyio.Event()
        await root._news.wait()

    def tell(self) -> None:
        """Wake those who wait for something to be given back."""
        if self._news is not None:
            self._news.set()
            self._news = None


def _part(use: Use) -> float:
    """Return the part of a bound that a request may use."""
    return 1 - 1 / KEPT if use == "work" else 1.0


def _reaches(spent: float, cost: float, limit: float) -> bool:
    """Say whether nothing is left, or a cost does not fit into what is."""
    return spent >= limit or spent + cost > limit
