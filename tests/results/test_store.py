"""The folder of large results."""

import os
import stat
import time
from pathlib import Path

import pytest

from hub.results.store import DAY, LARGEST, Missing, ResultStore

TEXT = {"part": "text", "media_type": "text/plain"}


def blobs(folder: Path) -> list[Path]:
    return sorted((folder / "blobs").iterdir())


def test_bytes_are_read_back_through_their_handle(tmp_path: Path):
    """What is kept is the same afterwards, with what it is."""
    store = ResultStore(tmp_path)
    handle, entry = store.put("s-1", b"hello", **TEXT)
    assert store.find("s-1", handle) == entry
    assert (entry.size, entry.part) == (5, "text")
    assert ResultStore(tmp_path).read(entry) == b"hello"


def test_a_handle_is_good_in_its_own_tree_alone(tmp_path: Path):
    """Another session that knows the handle, or the content, gets nothing by it."""
    store = ResultStore(tmp_path)
    handle, _ = store.put("s-1", b"hello", **TEXT)
    assert store.find("s-2", handle) is None
    assert store.put("s-2", b"hello", **TEXT)[0] != handle
    assert len(blobs(tmp_path)) == 1


@pytest.mark.parametrize(
    "name", ["", "res_", "res_0123456789abcdef", "../s-1/res_0123456789abcdef", "res_../../blobs"]
)
def test_what_is_no_handle_opens_nothing(tmp_path: Path, name: str):
    """Nothing outside of the tree's own folder is looked at."""
    store = ResultStore(tmp_path)
    store.put("s-1", b"hello", **TEXT)
    assert store.find("s-1", name) is None


def test_everything_belongs_to_the_user_alone(tmp_path: Path):
    """Folders are 0700 and files 0600, and no draft is left."""
    ResultStore(tmp_path / "results").put("s-1", b"hello", **TEXT)
    for folder, _, files in os.walk(tmp_path / "results"):
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
        for name in files:
            assert stat.S_IMODE((Path(folder) / name).stat().st_mode) == 0o600
            assert not name.startswith(".")


def test_what_was_not_read_for_long_goes(tmp_path: Path):
    """The next process that keeps something throws it away, its handles too; reading saves it."""
    store = ResultStore(tmp_path, keep_days=30)
    old, _ = store.put("s-1", b"old", **TEXT)
    used, entry = store.put("s-2", b"used", **TEXT)
    past = time.time() - 31 * DAY
    for path in [*blobs(tmp_path), tmp_path / "trees" / "s-1"]:
        os.utime(path, (past, past))
    store.read(entry)
    later = ResultStore(tmp_path, keep_days=30)
    later.put("s-3", b"new", **TEXT)
    assert later.find("s-1", old) is None
    assert later.find("s-2", used) == entry
    assert {path.read_bytes() for path in blobs(tmp_path)} == {b"used", b"new"}


def test_the_oldest_go_when_there_is_too_much(tmp_path: Path):
    """The quota holds, and the newest is never the one that goes."""
    store = ResultStore(tmp_path, quota=250)
    entries = []
    for number in range(4):
        _, entry = store.put("s-1", bytes([number]) * 100, **TEXT)
        entries.append(entry)
        moment = time.time() - 100 + number
        os.utime(tmp_path / "blobs" / entry.digest, (moment, moment))
    assert sum(path.stat().st_size for path in blobs(tmp_path)) <= 250
    assert store.read(entries[-1])
    with pytest.raises(Missing, match="make the call again"):
        store.read(entries[0])


def test_a_damaged_file_is_not_taken_for_the_result(tmp_path: Path):
    """Its digest tells."""
    store = ResultStore(tmp_path)
    _, entry = store.put("s-1", b"hello", **TEXT)
    (tmp_path / "blobs" / entry.digest).write_bytes(b"HELLO")
    with pytest.raises(Missing, match="damaged"):
        store.read(entry)


def test_what_is_larger_than_any_transport_carries_is_refused(tmp_path: Path):
    """It would only fill the disk."""
    with pytest.raises(OSError, match="larger than 64 MiB"):
        ResultStore(tmp_path).put("s-1", bytes(LARGEST + 1), **TEXT)
