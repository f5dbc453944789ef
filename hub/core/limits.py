"""What one agent may use."""

from typing import Literal, TypeVar

from msgspec import Struct

LimitKind = Literal["steps", "tool_calls", "seconds", "tokens", "usd"]


class Limits(Struct, frozen=True):
    """Upper bounds for one agent; None means unbounded."""

    steps: int | None = 100
    """Model requests."""
    tool_calls: int | None = 500
    seconds: float | None = None
    """Wall time of one turn, in seconds."""
    tokens: int | None = None
    """Input and output tokens, those of all descendants included."""
    usd: float | None = None
    """US dollars, those of all descendants included."""
    tree_steps: int | None = None
    """Model requests over all turns, those of all descendants included."""
    tree_tool_calls: int | None = None
    """Tool calls over all turns, those of all descendants included."""
    depth: int = 3
    """How many levels of children may exist below the root."""

    def narrowed(self, other: "Limits") -> "Limits":
        """Return the smaller of both, bound by bound."""
        return Limits(
            steps=least(self.steps, other.steps),
            tool_calls=least(self.tool_calls, other.tool_calls),
            seconds=least(self.seconds, other.seconds),
            tokens=least(self.tokens, other.tokens),
            usd=least(self.usd, other.usd),
            tree_steps=least(self.tree_steps, other.tree_steps),
            tree_tool_calls=least(self.tree_tool_calls, other.tree_tool_calls),
            depth=min(self.depth, other.depth),
        )


class LimitHit(Struct, frozen=True):
    """Which limit tripped, whose it is, and by how much."""

    kind: LimitKind
    used: float
    limit: float
    owner: str
    """Path of the agent whose limit it is."""
    needed: float = 0.0
    """What the next request would take at least, when that is what does not fit."""

    def __str__(self) -> str:
        text = f"{self.kind} limit of {self.owner}: {self.used:g} of {self.limit:g} used"
        return f"{text}, the next request takes {self.needed:g} or more" if self.needed else text


_Number = TypeVar("_Number", int, float)


def least(a: _Number | None, b: _Number | None) -> _Number | None:
    """Return the smaller bound; None is no bound."""
    if a is None:
        return b
    return a if b is None else min(a, b)
