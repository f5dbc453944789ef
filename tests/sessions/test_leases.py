"""One writer for each session: who holds it, who is refused, and when it is free again."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.core.errors import SessionBusyError
from hub.sessions.owner import Owner
from hub.sessions.store import SqliteStore

HOLD = """
import sys
from pathlib import Path
from hub.sessions.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
store.hold("s-1")
print("held", flush=True)
sys.stdin.read()
store.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a root and a child, held by nobody."""
    path = tmp_path / "hub.db"
    with closing(SqliteStore(path)) as store:
        store.create("s-1", parent="", role="lead", workspace="/w")
        store.create("s-2", parent="s-1", role="worker", workspace="/w")
    return path


@contextmanager
def another_process(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds the session until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def put(path: Path, owner: Owner) -> None:
    """Leave the lease of some process behind."""
    row = ("s-1", owner.pid, owner.started, owner.boot, owner.host, time.time(), "l-gone")
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)", row)


@pytest.mark.parametrize("session", ["s-1", "s-2"])
def test_a_session_in_work_is_refused_with_who_is_at_work(path: Path, session: str) -> None:
    """Neither the root nor a child of a tree has two writers (A45)."""
    with another_process(path) as process, closing(SqliteStore(path)) as store:
        with pytest.raises(SessionBusyError, match=f"process {process.pid} is at work") as caught:
            store.hold(session)
        assert "hub sessions show" in caught.value.remedy


def test_a_killed_process_holds_nothing(path: Path) -> None:
    """After ``kill -9`` the session is free at once (A45)."""
    with another_process(path) as process:
        process.kill()
        process.wait(10)
        with closing(SqliteStore(path)) as store:
            store.hold("s-1")


def test_a_closed_store_holds_nothing(path: Path) -> None:
    """The row is gone, so that not even the name of the process is left."""
    with another_process(path) as process:
        process.communicate("", timeout=10)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM leases").fetchone() == (0,)


def test_of_many_that_try_at_once_one_becomes_the_writer(path: Path) -> None:
    """Eight processes, one winner (A45)."""
    code = HOLD.replace("sys.stdin.read()", "").replace(
        'store.hold("s-1")', 'sys.stdin.readline(); store.hold("s-1")'
    )
    tries = [
        subprocess.Popen(
            [sys.executable, "-c", code.replace("store.close()", "sys.stdin.read()"), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    try:
        for process in tries:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        losers = 0
        winner = None
        for process in tries:
            assert process.stdout is not None
            if process.stdout.readline() == "held\n":
                assert winner is None
                winner = process
            else:
                assert process.stderr is not None
                assert "SessionBusyError" in process.stderr.read()
                losers += 1
        assert winner is not None
        assert losers == 7
    finally:
        for process in tries:
            process.kill()
            process.communicate()


def test_two_stores_of_one_process_are_two_writers(path: Path) -> None:
    """The second is refused; holding twice in one store is nothing new."""
    with closing(SqliteStore(path)) as first, closing(SqliteStore(path)) as second:
        first.hold("s-1")
        first.hold("s-2")
        with pytest.raises(SessionBusyError):
            second.hold("s-1")
        first.close()
        second.hold("s-1")


@pytest.mark.parametrize(
    "gone",
    [
        {"started": "1"},
        {"boot": "00000000-0000-0000-0000-000000000000"},
        {"pid": 2**22 - 1, "started": ""},
    ],
    ids=["the pid is used again", "the machine was started anew", "no such process"],
)
def test_a_lease_of_a_process_that_is_gone_is_taken_over(
    path: Path, gone: dict[str, str | int]
) -> None:
    """A pid alone says nothing: its start and the boot have to agree."""
    with another_process(path) as process:
        owner = replace(Owner.here(), pid=process.pid, started="5")
    put(path, replace(owner, **gone))
    with closing(SqliteStore(path)) as store:
        store.hold("s-1")


def test_a_process_of_another_machine_counts_as_running(path: Path) -> None:
    """Nothing can be known of it, so nothing is taken from it."""
    put(path, Owner(1, "5", "another-boot", "another-host"))
    with closing(SqliteStore(path)) as store:
        with pytest.raises(SessionBusyError, match="on another-host"):
            store.hold("s-1")


def test_a_new_root_is_held_from_its_first_event(path: Path) -> None:
    """Its children are too, since they belong to the tree."""
    with closing(SqliteStore(path)) as first, closing(SqliteStore(path)) as second:
        first.create("s-3", parent="", role="lead", workspace="/w")
        first.create("s-4", parent="s-3", role="lead", workspace="/w")
        for session in ("s-3", "s-4"):
            with pytest.raises(SessionBusyError):
                second.hold(session)
