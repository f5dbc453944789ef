"""What tokens cost."""

from msgspec import Struct

from hub.core.messages import Usage

PER = 1_000_000
"""Tokens that a price is for."""


class Price(Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For input that came from a prompt cache; None takes the price of input."""

    def of(self, usage: Usage) -> float:
        """Return what was spent, in US dollars."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - usage.cached_tokens
        spent = (
            fresh * self.input + usage.cached_tokens * cached + usage.output_tokens * self.output
        )
        return spent / PER

    def at_most(self, input_tokens: int, output_tokens: int) -> float:
        """Return the most that a request of so many tokens can cost, in US dollars."""
        dearest = max(self.input, self.cached or 0.0)
        return (input_tokens * dearest + output_tokens * self.output) / PER


FREE = Price(0.0, 0.0)
"""The price of a model that runs in this process, such as a script."""
