"""What a session has spent before it goes on."""

from pathlib import Path

from hub.app.spending import spent
from hub.core import events as ev
from hub.core.ledger import Ledger
from hub.core.limits import Limits
from hub.sessions.store import SqliteStore


def keep(store: SqliteStore, session: str, parent: str, *events: ev.Event) -> None:
    """Store a session."""
    store.create(session, parent=parent, role="lead", workspace="/project")
    for seq, event in enumerate(events, 1):
        store.append(event.model_copy(update={"session": session, "seq": seq, "at": 1.0}))


def dispatched(child: str) -> ev.JobStarted:
    """Return the start of a job."""
    return ev.JobStarted(
        job=f"j-{child}", role="r", task="t", call_id="c", child=child, child_agent="l/r#1", depth=1
    )


def request(cost: float | None) -> ev.UsageEvent:
    """Return what one request took: 110 tokens."""
    return ev.UsageEvent(input_tokens=100, output_tokens=10, cached_tokens=50, cost_usd=cost)


def test_tokens_money_requests_and_calls_of_the_whole_tree_are_counted(tmp_path: Path) -> None:
    """Also of a child that never got to its first event."""
    call = ev.ToolCallEvent(call_id="c", name="files__read", arguments="{}")
    store = SqliteStore(tmp_path / "hub.db")
    keep(store, "s-1", "", request(0.5), call, dispatched("s-2"), dispatched("s-4"), request(0.25))
    keep(store, "s-2", "s-1", request(0.125), call, dispatched("s-3"))
    keep(store, "s-3", "s-2", call, call, request(0.0))
    found = spent(store, store.read("s-1").events)
    store.close()
    ledger = Ledger("lead", Limits(tree_steps=4))
    found.charge_to(ledger)
    assert (ledger.total.total_tokens, ledger.total.cached_tokens) == (440, 200)
    assert (ledger.cost, ledger.tree_steps, ledger.tree_tool_calls) == (0.875, 4, 4)
    hit = ledger.hit(0.0)
    assert hit is not None
    assert (hit.kind, hit.used, hit.limit) == ("steps", 4, 4)


def test_a_request_of_an_unknown_price_makes_the_cost_unknown(tmp_path: Path) -> None:
    """A sum without it would be too low."""
    store = SqliteStore(tmp_path / "hub.db")
    keep(store, "s-1", "", request(0.5), request(None))
    ledger = Ledger("lead", Limits())
    spent(store, store.read("s-1").events).charge_to(ledger)
    store.close()
    assert ledger.cost is None
    assert ledger.total_usd == 0.5
