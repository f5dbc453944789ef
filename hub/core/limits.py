"""What one agent may use, and the ledger in which a child's spending is its ancestors' too."""

from typing import Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.messages import Usage

LimitKind = Literal["steps", "tool_calls", "seconds", "tokens"]


class Limits(Struct, frozen=True):
    """Upper bounds for one agent; None means unbounded."""

    steps: int | None = 100
    """Model requests."""
    tool_calls: int | None = 500
    seconds: float | None = None
    """Wall time of one turn, in seconds."""
    tokens: int | None = None
    """Input and output tokens, those of all descendants included."""
    depth: int = 3
    """How many levels of children may exist below the root."""

    def narrowed(self, other: "Limits") -> "Limits":
        """Return the smaller of both, bound by bound."""
        return Limits(
            steps=_least(self.steps, other.steps),
            tool_calls=_least(self.tool_calls, other.tool_calls),
            seconds=_least(self.seconds, other.seconds),
            tokens=_least(self.tokens, other.tokens),
            depth=min(self.depth, other.depth),
        )


class LimitHit(Struct, frozen=True):
    """Which limit tripped, whose it is, and by how much."""

    kind: LimitKind
    used: float
    limit: float
    owner: str
    """Path of the agent whose limit it is."""

    def __str__(self) -> str:
        return f"{self.kind} limit of {self.owner}: {self.used:g} of {self.limit:g} used"


class Ledger(Struct):
    """The spending of one agent; tokens are charged to every ancestor as well."""

    owner: str
    limits: Limits
    parent: "Ledger | None" = None
    deadline: float | None = None
    """Clock time at which the turn must end; never later than the parent's."""
    steps: int = 0
    tool_calls: int = 0
    own: Usage = field(default_factory=Usage)
    """What the agent itself used."""
    total: Usage = field(default_factory=Usage)
    """What the agent and all its descendants used."""

    def child(self, owner: str, limits: Limits) -> "Ledger":
        """Open the ledger of a child, bounded by what is left here."""
        remaining = self.remaining_tokens()
        tokens = _least(limits.tokens, remaining)
        return Ledger(owner, replace(limits, tokens=tokens), parent=self, deadline=self.deadline)

    def start_turn(self, now: float) -> None:
        """Begin a turn: its clock and its counts of steps and calls start anew."""
        self.steps = self.tool_calls = 0
        own = None if self.limits.seconds is None else now + self.limits.seconds
        self.deadline = _least(own, self.parent.deadline if self.parent else None)

    def deadline_owner(self) -> "Ledger":
        """Return whose limit the deadline is: this ledger's own, or that of an ancestor."""
        node = self
        while node.parent is not None and node.parent.deadline == self.deadline:
            node = node.parent
        return node

    def charge(self, usage: Usage) -> None:
        """Add the tokens of one request here and on every ancestor."""
        self.own = self.own + usage
        node: Ledger | None = self
        while node is not None:
            node.total = node.total + usage
            node = node.parent

    def remaining_tokens(self) -> int | None:
        """Return the tokens left under the tightest bound up the tree; None when unbounded."""
        left: int | None = None
        node: Ledger | None = self
        while node is not None:
            if node.limits.tokens is not None:
                left = _least(left, max(node.limits.tokens - node.total.total_tokens, 0))
            node = node.parent
        return left

    def hit(self, now: float) -> LimitHit | None:
        """Return the limit that forbids another request now, or None."""
        if self.limits.steps is not None and self.steps >= self.limits.steps:
            return LimitHit("steps", self.steps, self.limits.steps, self.owner)
        if self.deadline is not None and now >= self.deadline:
            owner = self.deadline_owner()
            seconds = owner.limits.seconds or 0
            return LimitHit("seconds", seconds, seconds, owner.owner)
        node: Ledger | None = self
        while node is not None:
            used = node.total.total_tokens
            if node.limits.tokens is not None and used >= node.limits.tokens:
                return LimitHit("tokens", used, node.limits.tokens, node.owner)
            node = node.parent
        return None

    def calls_left(self) -> int | None:
        """Return how many more tool calls the agent may make; None when unbounded."""
        limit = self.limits.tool_calls
        return None if limit is None else max(limit - self.tool_calls, 0)


_Number = TypeVar("_Number", int, float)


def _least(a: _Number | None, b: _Number | None) -> _Number | None:
    if a is None:
        return b
    return a if b is None else min(a, b)
