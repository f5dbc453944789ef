"""What a stored session and everything below it has spent, out of their logs."""

from collections.abc import Iterable

from msgspec import Struct, field

from hub.core import events as ev
from hub.core.ledger import Ledger
from hub.core.messages import Usage
from hub.sessions.archive import SessionArchive


class Spending(Struct):
    """What was used before a session goes on."""

    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    """US dollars; requests of an unknown price are not in it."""
    unpriced: bool = False
    """Some requests had no known price."""
    tool_calls: int = 0

    def charge_to(self, ledger: Ledger) -> None:
        """Begin a ledger with it."""
        ledger.charge(self.usage, self.usd)
        ledger.unpriced = ledger.unpriced or self.unpriced
        ledger.tree_steps += self.usage.requests
        ledger.tree_tool_calls += self.tool_calls


def spent(store: SessionArchive, events: Iterable[ev.AnyEvent]) -> Spending:
    """Return what a session, given by its log, and all that it dispatched have used.

    Raises:
        StoreError: a log cannot be read.
    """
    found = Spending()
    waiting = [events]
    while waiting:
        for event in waiting.pop():
            match event:
                case ev.UsageEvent():
                    found.usage += _tokens(event)
                    found.usd += event.cost_usd or 0.0
                    found.unpriced = found.unpriced or event.cost_usd is None
                case ev.ToolCallEvent():
                    found.tool_calls += 1
                case ev.JobStarted():
                    waiting.append(store.read(event.child).events)
                case _:
                    pass
    return found


def _tokens(event: ev.UsageEvent) -> Usage:
    return Usage(
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        cached_tokens=event.cached_tokens,
        reasoning_tokens=event.reasoning_tokens,
        requests=1,
    )
