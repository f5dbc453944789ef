"""Versions of the store: newer ones are refused, older ones are copied and brought up to date."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from hub.core import events as ev
from hub.core.errors import StoreError
from hub.sessions.faults import store_error
from hub.sessions.schema import MIGRATIONS, create_private, prepare
from hub.sessions.store import SqliteStore

NEXT = (*MIGRATIONS, ("ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'",))
BROKEN = (*NEXT, ("CREATE TABLE half(x)", "CREATE TABLE half(x)"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of today with one session and one event."""
    made = tmp_path / "hub.db"
    store = SqliteStore(made)
    store.create("s-1", parent="", role="lead", workspace="/w")
    store.append(ev.UserMessageEvent(session="s-1", seq=1, text="hello"))
    store.close()
    return made


def opened(path: Path) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(path, isolation_level=None))


def version(path: Path) -> int:
    with opened(path) as raw:
        found: int = raw.execute("PRAGMA user_version").fetchone()[0]
    return found


def test_a_store_of_a_newer_version_is_refused_untouched(path: Path) -> None:
    """An older hub neither reads nor writes what it does not know, and says what to do."""
    with opened(path) as raw:
        raw.execute("PRAGMA journal_mode=DELETE")
        raw.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="Install a newer hub") as caught:
        SqliteStore(path).list_sessions()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["hub.db"]


def test_an_older_store_is_copied_and_then_migrated(path: Path) -> None:
    """What was stored is there under the new tables, and under the old ones in the copy."""
    with opened(path) as raw:
        prepare(raw, path, NEXT)
        assert raw.execute("SELECT id, colour FROM sessions").fetchall() == [("s-1", "red")]
    assert version(path) == len(NEXT)
    copy = path.with_name(f"hub.db.v{len(MIGRATIONS)}.bak")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert version(copy) == len(MIGRATIONS)
    assert SqliteStore(copy).get_session("s-1").title == "hello"


def test_a_copy_holds_what_another_process_has_just_stored(path: Path) -> None:
    """The copy is complete although the newest events are still in the write-ahead log."""
    store = SqliteStore(path)
    store.append(ev.UserMessageEvent(session="s-1", seq=2, text="latest"))
    with opened(path) as raw:
        prepare(raw, path, NEXT)
    store.close()
    copy = SqliteStore(path.with_name(f"hub.db.v{len(MIGRATIONS)}.bak"))
    assert copy.read("s-1").last_seq == 2
    copy.close()


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    """All steps happen or none; the next attempt starts from the same store."""
    with opened(path) as raw:
        with pytest.raises(sqlite3.OperationalError):
            prepare(raw, path, BROKEN)
        assert not raw.in_transaction
    assert version(path) == len(MIGRATIONS)
    assert SqliteStore(path).read("s-1").last_seq == 1
    with opened(path) as raw:
        prepare(raw, path, NEXT)
    assert version(path) == len(NEXT)


def test_the_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    """A file that happens to have our name is not filled with our tables."""
    path = tmp_path / "hub.db"
    with opened(path) as raw:
        raw.execute("CREATE TABLE cookies(name)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path).create("s-1", parent="", role="lead", workspace="/w")
    assert path.read_bytes() == before


def test_a_fresh_store_needs_no_copy(path: Path) -> None:
    """Only an older store leaves a copy beside itself."""
    assert [file.name for file in path.parent.iterdir()] == ["hub.db"]
    with opened(path) as raw:
        prepare(raw, path)
    assert [file.name for file in path.parent.iterdir()] == ["hub.db"]


def test_an_event_costs_no_wait_for_the_disk(path: Path) -> None:
    """A write-ahead log that is flushed at checkpoints: kill -9 loses nothing, and it is quick."""
    with opened(path) as raw:
        prepare(raw, path)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert raw.execute("PRAGMA synchronous").fetchone() == (1,)


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    """SQLite's own word for a full disk becomes a message with the file and the remedy."""
    path = tmp_path / "hub.db"
    create_private(path)
    with opened(path) as raw:
        prepare(raw, path)
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(sqlite3.OperationalError) as full:
            raw.execute("INSERT INTO events VALUES ('s', 1, 0.0, 't', ?)", ("x" * 100_000,))
    told = store_error(path, full.value)
    assert str(told).startswith(f"{path}: the disk is full")
    assert "Free some space" in told.remedy
