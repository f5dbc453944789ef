"""Sessions that live through several processes, prompts, cancels and crashes, at random.

Where ``test_history_property`` interrupts one turn once, a session here is left, cancelled and
killed again and again, with a parent and children at work, and goes on each time.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub.app.hub import Hub
from hub.core.conversation import Conversation
from hub.testing.serving import serve_model
from tests.teams import (
    LIMIT,
    agents,
    ask,
    cancel_when,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    report,
    store,
    team,
    team_folder,
    whole_log,
)

CALLS: dict[str, dict[str, Any]] = {
    "good": {"tool": "files__read", "args": {"path": "a.txt"}},
    "writing": {"tool": "files__write", "args": {"path": "b.txt", "content": "beta"}},
    "failing": {"tool": "files__read", "args": {"path": "none.txt"}},
    "unknown": {"tool": "read the file!", "args": {}},
    "broken": {"tool": "files__read", "raw_args": '{"path": "a.txt'},
    "invalid": {"tool": "files__read", "raw_args": '{"path": ["\\ud83d"]}'},
    "denied": {"tool": "shell__run", "args": {"command": "echo no"}},
    "refused": dispatch("nobody"),
    "child": dispatch("child", context="some"),
}
WORDS = "Words that come in several pieces, so that a cut can be amid them: größer 😀. "
RETRY_NOTHING = ("models.scripted.max_retries=0", "permissions.deny=[shell__run]")


@dataclass(frozen=True)
class Interruption:
    """What happens to one prompt."""

    how: Literal["none", "cancel", "break"]
    at: int = 0
    """The event at which it happens."""


@dataclass(frozen=True)
class Phase:
    """The life of one process: prompts, and how much of what it stored is there afterwards."""

    prompts: list[Interruption]
    kept: float | None
    """Part of the log that a crash leaves; None for an end in good order."""
    half_open: bool
    """The crash came between the registration of a session and its first event."""


def turns(kinds: list[str], most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    calls = st.lists(st.sampled_from(kinds), min_size=1, max_size=4).map(
        lambda names: [CALLS[name] for name in names]
    )
    finish = st.sampled_from([*[None] * 7, "length", "incomplete", "content_filter"])
    text = st.sampled_from(["", WORDS, WORDS * 3])
    turn = st.fixed_dictionaries({"text": text, "calls": calls})
    plain = st.fixed_dictionaries({"text": st.just(WORDS)})
    made = st.tuples(st.one_of(turn, turn, turn, plain), finish).map(
        lambda pair: {**pair[0], **({"finish": pair[1]} if pair[1] else {})}
    )
    return st.lists(made, min_size=1, max_size=most)


LEAD = turns([*CALLS, "child", "child"], 5).map(
    lambda said: [*said, {"text": "done here", "repeat": 200}]
)
CHILD = turns([name for name in CALLS if name != "child"], 2).map(
    lambda said: [*said, {"text": WORDS, "calls": [report()], "repeat": 200}]
)
INTERRUPTIONS = st.builds(
    Interruption, st.sampled_from(["none", "cancel", "cancel", "break"]), st.integers(0, 30)
)
PHASES = st.lists(
    st.builds(
        Phase,
        st.lists(INTERRUPTIONS, min_size=1, max_size=2),
        st.one_of(st.none(), st.floats(0, 1)),
        st.booleans(),
    ),
    min_size=1,
    max_size=2,
)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(lead=LEAD, child=CHILD, phases=PHASES)
async def test_a_session_with_many_lives_stays_legal_and_balanced(
    lead: list[dict[str, Any]], child: list[dict[str, Any]], phases: list[Phase]
) -> None:
    """Cases A1 to A4 and A20 at random: the strict server takes all requests, the log balances."""
    with tempfile.TemporaryDirectory() as folder, anyio.fail_after(LIMIT):
        state = Path(folder)
        workspace = state / "work"
        workspace.mkdir()
        (workspace / "a.txt").write_text("alpha\n", encoding="utf-8")
        roles = team_folder(state, lead=lead_to("child"), child={"tools": ["files__*"]})
        options: dict[str, Any] = {"team": roles, "assignments": RETRY_NOTHING}
        root = None
        async with serve_model(agents(lead=lead, child=child)) as server:
            for phase in phases:
                async with team(server, workspace, state, resume=root, **options) as hub:
                    for interruption in phase.prompts:
                        await prompt(hub, interruption)
                        assert not imbalance(whole_log(state, hub.session_id))
                    root = hub.session_id
                if phase.kept is not None:
                    crash(state, phase)
            async with team(server, workspace, state, resume=root, **options) as hub:
                _, events = await ask(hub, "and at last?")
            refused = [problem for record in server.requests for problem in record.problems]
        assert refused == []
        assert root is not None
        assert len(of_type(events, "turn.done", "lead")) == 1
        assert not imbalance(whole_log(state, root))
        assert all(not left for left in unsettled(state, root))


async def prompt(hub: Hub, interruption: Interruption) -> None:
    """Ask, and interrupt at the event that is meant."""
    numbers = iter(range(1_000_000))
    match interruption.how:
        case "none":
            await ask(hub, "go on")
        case "cancel":
            await cancel_when(hub, "go on", lambda _: next(numbers) == interruption.at)
        case "break":
            async with hub.ask("go on") as stream:
                async for _ in stream:
                    if next(numbers) == interruption.at:
                        break


def crash(state: Path, phase: Phase) -> None:
    """Leave the store as a process would that was killed in the middle of its work."""
    with closing(sqlite3.connect(state / "state" / "hub.db")) as connection, connection:
        [last] = connection.execute("SELECT max(rowid) FROM events").fetchone()
        kept = max(1, round((phase.kept or 0) * last))
        connection.execute("DELETE FROM events WHERE rowid > ?", (kept,))
        empty = "SELECT id FROM sessions WHERE id NOT IN (SELECT session FROM events)"
        orphans = [row[0] for row in connection.execute(empty + " ORDER BY rowid")]
        for orphan in orphans[1:] if phase.half_open else orphans:
            connection.execute("DELETE FROM sessions WHERE id = ?", (orphan,))


def unsettled(state: Path, session: str) -> Iterator[list[Any]]:
    """Return what is open in a session and below it."""
    archive = store(state)
    yield Conversation(archive.events(session)).unsettled()
    for child in archive.children(session):
        yield from unsettled(state, child.id)
    archive.close()
