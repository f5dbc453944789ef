"""What is special about the store over a file: the file itself, other processes, and damage."""

import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hub.core import events as ev
from hub.core.conversation import Conversation
from hub.core.errors import StoreError
from hub.core.messages import ToolMessage
from hub.sessions import store as store_module
from hub.sessions.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "hub" / "hub.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(path)
    yield made
    made.close()


def fill(store: SqliteStore, count: int, session: str = "s-1") -> None:
    """Register a session and give it some events."""
    store.create(session, parent="", role="lead", workspace="/w")
    for seq in range(1, count + 1):
        store.append(note(seq, session))


def note(seq: int, session: str = "s-1", text: str = "") -> ev.ContextAdded:
    return ev.ContextAdded(session=session, seq=seq, source="test", text=text or f"event {seq}")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_store_that_is_only_read_creates_nothing(tmp_path: Path, store: SqliteStore) -> None:
    """Looking for sessions on a fresh machine leaves no trace on the disk."""
    assert store.list_sessions() == []
    assert list(store.events("s-1")) == []
    assert store.children("s-1") == []
    assert list(tmp_path.iterdir()) == []


def test_files_and_folders_are_for_their_owner_alone(path: Path, store: SqliteStore) -> None:
    """The database, its log and the folders made for it are closed to others."""
    before = os.umask(0)
    try:
        fill(store, 3)
    finally:
        os.umask(before)
    assert [mode(file) for file in sorted(path.parent.iterdir())] == [0o600] * 3
    assert mode(path.parent) == mode(path.parent.parent) == 0o700


def test_each_event_is_there_for_others_at_once(path: Path, store: SqliteStore) -> None:
    """A second store over the same file sees what the first one has appended."""
    other = SqliteStore(path)
    fill(store, 2)
    assert other.read("s-1").last_seq == 2
    store.append(note(3))
    assert other.read("s-1").last_seq == 3
    other.close()


CRASH = """
import os, signal, sys
from pathlib import Path
from hub.core import events as ev
from hub.sessions.store import SqliteStore

store = SqliteStore(Path(sys.argv[1]))
store.create("s-1", parent="", role="lead", workspace="/w")
calls = [ev.Call(id=f"c{n}", name="files__read", arguments="{}") for n in range(4)]
log = [ev.UserMessageEvent(text="go"), ev.AssistantMessageEvent(calls=calls, finish="tool_calls")]
log += [ev.ToolCallEvent(call_id=f"c{n}", name="files__read", arguments="{}") for n in range(3)]
log += [ev.ToolResultEvent(call_id=f"c{n}", name="files__read", text=f"{n}") for n in (2, 0)]
for seq, event in enumerate(log, 1):
    store.append(event.model_copy(update={"session": "s-1", "seq": seq}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_keeps_every_call_and_result(path: Path) -> None:
    """Four parallel calls, two results out of order, then kill -9: all that was said is there (A4).

    The log tells which calls lack a result and which of them were started, and once they are
    settled the conversation has all four pairs in call order.
    """
    killed = subprocess.run([sys.executable, "-c", CRASH, str(path)], timeout=30)
    assert killed.returncode == -signal.SIGKILL
    store = SqliteStore(path)
    log = store.read("s-1")
    conversation = Conversation(log.events)
    assert (log.last_seq, log.skipped) == (7, ())
    open_calls = conversation.unsettled()
    assert [(call.id, started) for call, started in open_calls] == [("c1", True), ("c3", False)]
    for seq, (call, _) in enumerate(open_calls, log.last_seq + 1):
        settled = ev.ToolResultEvent(
            session="s-1", seq=seq, call_id=call.id, name=call.name, text="lost"
        )
        store.append(settled)
    messages = Conversation(store.events("s-1")).messages
    results = [message.call_id for message in messages if isinstance(message, ToolMessage)]
    assert results == ["c0", "c1", "c2", "c3"]
    store.close()


def test_a_second_writer_of_one_session_is_refused(path: Path, store: SqliteStore) -> None:
    """Two processes that go on with one session cannot interleave; the loser is told why."""
    fill(store, 2)
    other = SqliteStore(path)
    other.append(note(3, text="from the other"))
    with pytest.raises(StoreError, match="another process has stored event 3") as caught:
        store.append(note(3))
    assert str(path) in str(caught.value)
    other.append(note(4))
    texts = [event.text for event in store.events("s-1") if isinstance(event, ev.ContextAdded)]
    assert texts == ["event 1", "event 2", "from the other", "event 4"]
    other.close()


def test_a_writer_that_has_read_what_another_wrote_may_go_on(
    path: Path, store: SqliteStore
) -> None:
    """Whoever reads the log again and follows its last event is no rival."""
    fill(store, 2)
    other = SqliteStore(path)
    other.append(note(3))
    with pytest.raises(StoreError):
        store.append(note(3))
    other.append(note(4))
    other.close()
    store.append(note(store.read("s-1").last_seq + 1))
    assert store.read("s-1").last_seq == 5


def test_a_refused_event_leaves_the_summary_alone(path: Path, store: SqliteStore) -> None:
    """An event and what it changes in the list of sessions are one transaction."""
    fill(store, 1)
    other = SqliteStore(path)
    usage = ev.UsageEvent(session="s-1", seq=2, input_tokens=5, output_tokens=0)
    other.append(usage)
    with pytest.raises(StoreError):
        store.append(usage)
    assert store.get_session("s-1").tokens == 5
    fill(store, 2, session="s-2")
    other.close()


def test_a_long_log_is_read_page_by_page(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two pages the store is free, and no event is lost or doubled at an edge."""
    monkeypatch.setattr(store_module, "PAGE", 3)
    fill(store, 10)
    reading = store.events("s-1")
    first = next(reading)
    store.append(note(11))
    assert [event.seq for event in (first, *reading)] == list(range(1, 12))


def test_sessions_that_are_each_others_parents_do_not_hang(path: Path, store: SqliteStore) -> None:
    """A circle in a spoilt table costs nothing but its sense."""
    for session, parent in [("s-1", "s-2"), ("s-2", "s-1")]:
        store.create(session, parent=parent, role="lead", workspace="/w")
        store.append(ev.UsageEvent(session=session, seq=1, input_tokens=5, output_tokens=0))
    assert store.get_session("s-1").tree_tokens == 10


WRITER = """
import sys
from pathlib import Path
from hub.core import events as ev
from hub.sessions.store import SqliteStore

store, session = SqliteStore(Path(sys.argv[1])), sys.argv[2]
sys.stdin.read()
store.create(session, parent="", role="lead", workspace="/w")
for seq in range(1, 201):
    store.append(ev.UsageEvent(session=session, seq=seq, input_tokens=1, output_tokens=0))
"""


def test_several_processes_may_write_one_new_file(path: Path) -> None:
    """Processes that start at the same moment agree on the tables and lose no event."""
    names = [f"s-{number}" for number in range(4)]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE)
        for name in names
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    store = SqliteStore(path)
    assert {info.id: info.tokens for info in store.list_sessions()} == dict.fromkeys(names, 200)
    assert [store.read(name).last_seq for name in names] == [200] * 4
    store.close()


def test_a_store_that_stays_locked_is_an_error_in_time(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stuck process cannot hang the run; the event can be stored when it has gone."""
    fill(store, 1)
    store.close()
    monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as stuck:
        stuck.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process") as caught:
            store.append(note(2))
        assert str(path) in str(caught.value)
    store.append(note(2))


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more_loses_nothing_that_was_stored(
    path: Path, store: SqliteStore
) -> None:
    """An event that does not fit is an error; those before stay, and later ones fit again (A44)."""
    fill(store, 5)
    with file_limit(60_000), pytest.raises(StoreError) as caught:
        store.append(note(6, text="x" * 200_000))
    assert str(path) in str(caught.value)
    assert "kept" in caught.value.remedy
    assert store.read("s-1").last_seq == 5
    store.append(note(6))
    store.close()
    assert SqliteStore(path).read("s-1").last_seq == 6


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A folder of ours in which this process may write nothing."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    privileged = os.geteuid() == 0
    yield folder
    if privileged:
        os.seteuid(0)
    for inner in [folder, *folder.rglob("*")]:
        inner.chmod(0o700)
    shutil.rmtree(folder)


def give_up_rights(*paths: Path) -> None:
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_folder_that_cannot_be_written_is_named(nobody: Path) -> None:
    """The message says which file, and what to set instead."""
    store = SqliteStore(nobody / "state" / "hub.db")
    give_up_rights(nobody)
    with pytest.raises(StoreError) as caught:
        fill(store, 1)
    assert str(nobody) in str(caught.value)
    assert "HUB_STATE_DIR" in caught.value.remedy


def test_a_file_that_cannot_be_written_is_named(nobody: Path) -> None:
    """A store that belongs to somebody else is an error with its path, not a traceback."""
    path = nobody / "hub.db"
    first = SqliteStore(path)
    fill(first, 2)
    first.close()
    give_up_rights(path, nobody)
    store = SqliteStore(path)
    with pytest.raises(StoreError) as caught:
        store.append(note(3))
    assert str(path) in str(caught.value)
    assert caught.value.remedy


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    """A state folder that cannot be made is an error with its path."""
    (tmp_path / "state").write_text("", encoding="utf-8")
    store = SqliteStore(tmp_path / "state" / "hub.db")
    with pytest.raises(StoreError) as caught:
        fill(store, 1)
    assert str(tmp_path / "state") in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [b"not a database " * 100, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["text", "nulls", "broken-header"],
)
def test_a_file_that_is_no_database_is_refused_and_kept(
    path: Path, store: SqliteStore, content: bytes
) -> None:
    """Neither reading nor writing touches a file that is something else."""
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    for act in (store.list_sessions, lambda: fill(store, 1)):
        with pytest.raises(StoreError) as caught:
            act()
        assert str(path) in str(caught.value)
        assert "ove" in caught.value.remedy
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(path: Path, store: SqliteStore) -> None:
    """What a full disk may have left of a first attempt is no obstacle."""
    path.parent.mkdir(parents=True)
    path.touch()
    assert store.list_sessions() == []
    fill(store, 1)
    assert store.read("s-1").last_seq == 1


@pytest.fixture
def wrecked(path: Path) -> Path:
    """A store with twenty events, of which several lines were spoilt."""
    store = SqliteStore(path)
    fill(store, 20)
    store.close()
    spoilt = {
        3: "CAST(zeroblob(4) AS TEXT)",
        5: "substr(line, 1, length(line) - 4)",
        7: "replace(line, '\"seq\":7', '\"seq\":8')",
        9: "replace(line, 's-1', 's-2')",
        11: "CAST(X'FFFE00' AS TEXT)",
        13: "replace(line, 'context.added', 'no.such.event')",
        15: "''",
        20: "substr(line, 1, 10) || CAST(zeroblob(500) AS TEXT)",
    }
    with closing(sqlite3.connect(path)) as raw:
        for seq, value in spoilt.items():
            raw.execute(f"UPDATE events SET line = {value} WHERE seq = {seq}")
        raw.commit()
    return path


def test_lines_that_do_not_parse_are_skipped_and_counted(wrecked: Path) -> None:
    """Torn lines, NULs and lines of elsewhere cost themselves alone, and are named (A44)."""
    store = SqliteStore(wrecked)
    log = store.read("s-1")
    assert [skipped.seq for skipped in log.skipped] == [3, 5, 7, 9, 11, 13, 15, 20]
    assert len(log.events) == 12
    assert list(store.events("s-1")) == list(log.events)
    for skipped in log.skipped:
        assert skipped.why
        assert skipped.why.isprintable()
    store.close()


def test_a_log_with_spoilt_lines_goes_on_behind_the_last(wrecked: Path) -> None:
    """The next event follows the last line, readable or not, and is glued to nothing (A44)."""
    store = SqliteStore(wrecked)
    assert store.read("s-1").last_seq == 20
    store.append(note(21))
    assert store.read("s-1").events[-1].seq == 21
    store.close()


def test_a_torn_write_ahead_log_costs_at_most_its_tail(path: Path, tmp_path: Path) -> None:
    """Cut at any byte of the last records, a store opens with a prefix and goes on (A44)."""
    store = SqliteStore(path)
    fill(store, 12)
    copies = [(file, file.read_bytes()) for file in path.parent.iterdir()]
    store.close()
    whole = next(data for file, data in copies if file.name.endswith("-wal"))
    seen = set()
    for cut in [*range(len(whole) - 9000, len(whole), 501), len(whole) - 1]:
        folder = tmp_path / str(cut)
        folder.mkdir()
        for file, data in copies:
            kept = data[:cut] if file.name.endswith("-wal") else data
            if not file.name.endswith("-shm"):
                (folder / file.name).write_bytes(kept)
        torn = SqliteStore(folder / path.name)
        log = torn.read("s-1")
        assert [event.seq for event in log.events] == list(range(1, log.last_seq + 1))
        torn.append(note(log.last_seq + 1))
        torn.close()
        seen.add(log.last_seq)
    assert max(seen) == 11


def test_a_damaged_file_is_an_error_with_a_way_out(path: Path, tmp_path: Path) -> None:
    """500 NULs anywhere in the file: it reads, or says what is wrong and what to do (A44)."""
    store = SqliteStore(path)
    fill(store, 300)
    store.close()
    whole = path.read_bytes()
    faults: list[StoreError] = []
    for offset in range(0, len(whole), 3700):
        broken = tmp_path / "broken.db"
        broken.write_bytes(whole[:offset] + b"\0" * 500 + whole[offset + 500 :])
        torn = SqliteStore(broken)
        try:
            torn.list_sessions()
            torn.get_session("s-1")
            torn.read("s-1")
        except StoreError as error:
            faults.append(error)
        finally:
            torn.close()
    assert faults
    assert all(str(broken) in str(fault) and fault.remedy for fault in faults)
