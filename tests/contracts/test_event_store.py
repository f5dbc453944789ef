"""What every event store does, whatever it keeps events in."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub.core import events as ev
from hub.core.errors import StoreError, UsageError
from hub.core.text import without_surrogates
from hub.sessions.archive import SessionArchive
from hub.sessions.memory import MemoryStore
from hub.sessions.store import SqliteStore

NewStore = Callable[[], SessionArchive]


def memory(_: Path) -> SessionArchive:
    return MemoryStore(now=lambda: 1000.0)


def sqlite(folder: Path) -> SessionArchive:
    return SqliteStore(folder / "state" / "hub.db", now=lambda: 1000.0)


@pytest.fixture(params=[memory, sqlite], ids=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionArchive]:
    made: SessionArchive = request.param(tmp_path)
    yield made
    made.close()


def opened(store: SessionArchive, session: str = "s-1", **more: str) -> None:
    fields = {"parent": "", "role": "lead", "workspace": "/w", **more}
    store.create(session, **fields)


def log(store: SessionArchive, *events: ev.Event, session: str = "s-1", at: float = 0.0) -> None:
    """Append events, numbered on from what the session holds."""
    last = store.read(session).last_seq
    for seq, event in enumerate(events, last + 1):
        update = {"session": session, "seq": seq, "at": at or 1000.0 + seq}
        store.append(event.model_copy(update=update))


def said(text: str) -> ev.UserMessageEvent:
    return ev.UserMessageEvent(text=text)


def test_events_come_back_in_order_and_equal(store: SessionArchive) -> None:
    """What is appended is read again, field by field."""
    opened(store)
    stored = [
        ev.SessionStarted(session="s-1", seq=1, at=1.5, role="lead", model="m", workspace="/w"),
        ev.UserMessageEvent(session="s-1", seq=2, at=2.5, agent="lead", turn=1, text="日本 😀\0"),
        ev.ToolResultEvent(
            session="s-1", seq=3, call_id="c", name="t", text="", structured={"a": [1, None, 2.5]}
        ),
    ]
    for event in stored:
        store.append(event)
    assert list(store.events("s-1")) == stored
    assert store.read("s-1").events == tuple(stored)
    assert store.read("s-1").last_seq == 3


def test_reading_goes_on_behind_a_position(store: SessionArchive) -> None:
    """``after`` is exclusive, and a position past the end finds nothing."""
    opened(store)
    log(store, *(said(str(number)) for number in range(1, 8)))
    assert [event.seq for event in store.events("s-1", after=5)] == [6, 7]
    assert list(store.events("s-1", after=7)) == []
    assert store.read("s-1", after=7).last_seq == 7


def test_sessions_do_not_see_each_other(store: SessionArchive) -> None:
    """Each session counts its own events."""
    opened(store, "s-1")
    opened(store, "s-2")
    log(store, said("one"), session="s-1")
    log(store, said("two"), said("three"), session="s-2")
    assert [event.seq for event in store.events("s-1")] == [1]
    assert [event.seq for event in store.events("s-2")] == [1, 2]


def test_a_session_that_is_not_stored_has_no_events(store: SessionArchive) -> None:
    """Reading what was never written is no fault."""
    assert list(store.events("s-9")) == []
    assert store.read("s-9").last_seq == 0


@pytest.mark.parametrize("seq", [0, 1, 2, 4, 5, -1])
def test_a_log_has_no_gap_and_no_double(store: SessionArchive, seq: int) -> None:
    """Only the next position is taken; what is refused leaves no trace."""
    opened(store)
    log(store, said("one"), said("two"))
    with pytest.raises(StoreError):
        store.append(ev.UserMessageEvent(session="s-1", seq=seq, text="out of order"))
    log(store, said("three"))
    assert [event.seq for event in store.events("s-1")] == [1, 2, 3]


def test_an_event_needs_a_registered_session(store: SessionArchive) -> None:
    """An event of nobody is refused."""
    with pytest.raises(StoreError, match="s-9"):
        store.append(ev.UserMessageEvent(session="s-9", seq=1, text="hello"))


def test_a_session_is_registered_once(store: SessionArchive) -> None:
    """A second session of the same id is refused, and the first one stays."""
    opened(store)
    log(store, said("kept"))
    with pytest.raises(StoreError, match="s-1"):
        opened(store, role="other")
    assert store.get_session("s-1").role == "lead"
    log(store, said("goes on"))
    assert store.read("s-1").last_seq == 2


def test_closing_loses_nothing(store: SessionArchive) -> None:
    """A closed store opens again by itself, and counts on."""
    opened(store)
    log(store, said("before"))
    store.close()
    store.close()
    store.append(ev.UserMessageEvent(session="s-1", seq=2, text="after"))
    assert store.read("s-1").last_seq == 2


def test_a_fresh_session_is_listed_with_what_is_known(store: SessionArchive) -> None:
    """Before its first event a session has its place, its role and its time."""
    opened(store, workspace="/w")
    (info,) = store.list_sessions()
    assert info.as_dict() == {
        "session_id": "s-1",
        "parent_session_id": "",
        "role": "lead",
        "workspace": "/w",
        "created": 1000.0,
        "updated": 1000.0,
        "model": "",
        "title": "",
        "outcome": "",
        "turns": 0,
        "tokens": 0,
        "tree_tokens": 0,
    }


def test_a_summary_follows_its_events(store: SessionArchive) -> None:
    """Model, title, outcome, turns and tokens are those of the log."""
    opened(store)
    log(
        store,
        ev.SessionStarted(role="lead", model="big", workspace="/w"),
        ev.TurnStarted(turn=1),
        said("\n  Find the slowest test \nand say why"),
        ev.UsageEvent(input_tokens=100, output_tokens=20),
        ev.ContextAdded(source="loop", text="no title"),
        ev.UsageEvent(input_tokens=30, output_tokens=4),
        ev.TurnDone(outcome="denied", stop_reason="approval_denied", turn=1),
    )
    info = store.get_session("s-1")
    assert (info.model, info.title, info.outcome) == ("big", "Find the slowest test", "denied")
    assert (info.turns, info.tokens, info.updated) == (1, 154, 1007.0)


def test_a_running_turn_has_no_outcome_and_the_title_stays(store: SessionArchive) -> None:
    """A second turn empties the outcome of the first; its words are no new title."""
    opened(store)
    done = ev.TurnDone(outcome="done", stop_reason="completed")
    log(store, ev.TurnStarted(turn=1), said("first"), done)
    log(store, ev.TurnStarted(turn=2), said("second"))
    info = store.get_session("s-1")
    assert (info.outcome, info.turns, info.title) == ("", 2, "first")


def test_a_title_is_one_printable_line(store: SessionArchive) -> None:
    """A title cannot colour, clear or reorder the terminal of whoever lists it."""
    opened(store)
    log(store, said("\x1b[2J\u202egnp.exe " + "x" * 500))
    title = store.get_session("s-1").title
    assert title.startswith("\\x1b[2J\\u202egnp.exe")
    assert len(title) <= 80


def test_the_list_holds_the_latest_roots_of_a_workspace(store: SessionArchive) -> None:
    """Lists are sorted by use, cut at a limit, and narrowed by workspace and by level."""
    for number, workspace in enumerate(["/a", "/b", "/a", "/a"], 1):
        opened(store, f"s-{number}", workspace=workspace)
        log(store, ev.TurnStarted(turn=1), session=f"s-{number}", at=2000.0 + number)
    opened(store, "s-5", parent="s-1", workspace="/a")
    log(store, ev.TurnStarted(turn=2), session="s-1", at=3000.0)

    def ids(**more: Any) -> list[str]:
        return [info.id for info in store.list_sessions(**more)]

    assert ids() == ["s-1", "s-4", "s-3", "s-2"]
    assert ids(limit=2) == ["s-1", "s-4"]
    assert ids(workspace="/a") == ["s-1", "s-4", "s-3"]
    assert ids(workspace="/c") == []
    assert ids(roots_only=False) == ["s-1", "s-4", "s-3", "s-2", "s-5"]


def test_tokens_of_a_tree_are_those_of_all_below(store: SessionArchive) -> None:
    """A root says what it and its descendants used, children and grandchildren alike."""
    parents = {"s-1": "", "s-2": "s-1", "s-3": "s-1", "s-4": "s-3", "s-9": ""}
    for number, (session, parent) in enumerate(parents.items()):
        opened(store, session, parent=parent)
        usage = ev.UsageEvent(input_tokens=10**number, output_tokens=0)
        log(store, usage, session=session)
    assert store.get_session("s-1").tree_tokens == 1111
    assert store.get_session("s-3").tree_tokens == 1100
    assert store.get_session("s-3").tokens == 100
    listed = {info.id: info.tree_tokens for info in store.list_sessions()}
    assert listed == {"s-1": 1111, "s-9": 10000}


def test_children_are_listed_in_the_order_of_their_start(store: SessionArchive) -> None:
    """Only the sessions directly below are children."""
    for session, parent in [("s-1", ""), ("s-9", "s-1"), ("s-2", "s-1"), ("s-3", "s-9")]:
        opened(store, session, parent=parent)
    assert [info.id for info in store.children("s-1")] == ["s-9", "s-2"]
    assert [info.id for info in store.children("s-9")] == ["s-3"]
    assert store.children("s-2") == []
    assert store.children("") == []
    assert store.children("s-x") == []


def test_a_session_is_found_by_the_beginning_of_its_id(store: SessionArchive) -> None:
    """A prefix that fits one session names it, and a whole id beats longer ones."""
    for session in ["s-abc", "s-abd", "s-ab", "s-xyz"]:
        opened(store, session)
    assert store.get_session("s-x").id == "s-xyz"
    assert store.get_session("s-abc").id == "s-abc"
    assert store.get_session("s-ab").id == "s-ab"


def test_a_prefix_of_several_sessions_lists_them(store: SessionArchive) -> None:
    """The message names the candidates with their titles and what to do."""
    for number in range(3):
        opened(store, f"s-ab{number}")
        log(store, said(f"task {number}"), session=f"s-ab{number}")
    with pytest.raises(UsageError) as caught:
        store.get_session("s-a")
    for number in range(3):
        assert f"s-ab{number}  task {number}" in str(caught.value)
    assert "Type more" in caught.value.remedy


def test_a_prefix_of_many_sessions_lists_some(store: SessionArchive) -> None:
    """A message stays short when half the store fits, and does not hide that there are more."""
    for number in range(40):
        opened(store, f"s-{number:02}")
    with pytest.raises(UsageError) as caught:
        store.get_session("s-")
    assert caught.value.message.count("\n") == 9
    assert caught.value.message.endswith("…")


@pytest.mark.parametrize("typed", ["s-01k3v9x2q7f3kq2n", "", "%", "s_", "*", "\x1b[2J"])
def test_an_unknown_session_is_a_usage_error(store: SessionArchive, typed: str) -> None:
    """What is typed is no pattern, and is shown printable; the nearest id is named."""
    opened(store, "s-01k3v9x2q7f3kq2m")
    with pytest.raises(UsageError) as caught:
        store.get_session(typed)
    assert "hub sessions list" in caught.value.remedy
    assert "\x1b" not in str(caught.value)
    if typed.startswith("s-"):
        assert "s-01k3v9x2q7f3kq2m" in caught.value.remedy


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=())), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("make", [memory, sqlite])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(st.characters(exclude_categories=())), structured=anything)
def test_whatever_a_tool_returns_can_be_stored(
    make: Callable[[Path], SessionArchive],
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    structured: Any,
) -> None:
    """No text breaks the log: lone surrogates become U+FFFD, the rest is kept (A12)."""
    store = make(tmp_path_factory.mktemp("any"))
    opened(store)
    event = ev.ToolResultEvent(
        session="s-1", seq=1, call_id="c", name="t", text=text, structured=structured
    )
    store.append(event)
    log_read = store.read("s-1")
    store.close()
    assert log_read.skipped == ()
    (found,) = log_read.events
    assert isinstance(found, ev.ToolResultEvent)
    assert found.text == without_surrogates(text)


@pytest.mark.parametrize("depth", [150, 220, 300, 5000])
def test_deep_nesting_is_stored_and_read(store: SessionArchive, depth: int) -> None:
    """A result nested deeper than the parser goes is cut at depth, not lost."""
    nested: Any = "bottom"
    for _ in range(depth):
        nested = [nested]
    opened(store)
    event = ev.ToolResultEvent.model_construct(
        session="s-1", seq=1, call_id="c", name="t", text="all of it", structured=nested
    )
    store.append(event)
    read = store.read("s-1")
    assert read.skipped == ()
    assert isinstance(read.events[0], ev.ToolResultEvent)
    assert read.events[0].text == "all of it"
