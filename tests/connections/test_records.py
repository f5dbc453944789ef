"""Records of servers: written whole, read without a start, and no way to break a run."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hub.connections.records import (
    LOG_LIMIT,
    FileRecords,
    Record,
    log_paths,
    read_record,
    record_path,
    request_restart,
)
from hub.core.servers import ServerSpec

SPEC = ServerSpec("a", "stdio", command="server")


def test_a_record_is_read_as_it_was_written(tmp_path: Path):
    """With the fingerprint, the process that wrote it, and for its owner alone."""
    FileRecords(tmp_path).write(SPEC, Record("a", state="connected", tools=3, exit_code=None))
    record = read_record(tmp_path, SPEC)
    assert record is not None
    assert (record.state, record.tools, record.pid) == ("connected", 3, os.getpid())
    assert record.fingerprint == SPEC.fingerprint()
    assert record.written > 0
    assert stat.S_IMODE(record_path(tmp_path, SPEC).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "servers").iterdir()] == [
        f"{SPEC.fingerprint()}.json"
    ]


def test_a_server_that_never_ran_has_no_record(tmp_path: Path):
    """Nor has one whose file is rubbish."""
    assert read_record(tmp_path, SPEC) is None
    for rubbish in (b"", b"[]", b'{"name": 3}', b"\xff\xfe", b"[" * 100_000):
        record_path(tmp_path, SPEC).parent.mkdir(exist_ok=True)
        record_path(tmp_path, SPEC).write_bytes(rubbish)
        assert read_record(tmp_path, SPEC) is None


def test_a_record_of_another_launch_is_not_taken_for_this_one(tmp_path: Path):
    """It is bound to the fingerprint; the name may be another one."""
    FileRecords(tmp_path).write(SPEC, Record("a", state="failed"))
    assert read_record(tmp_path, replace(SPEC, args=("-v",))) is None
    renamed = read_record(tmp_path, replace(SPEC, name="b"))
    assert renamed is not None
    assert renamed.name == "b"


def test_a_state_outlives_a_killed_hub_only_as_stopped():
    """What a hub that was killed left behind says ``connected``, and is not (H9)."""
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True, text=True, check=True)  # fmt: skip
    assert Record("a", state="connected", pid=os.getpid()).current == "connected"
    assert Record("a", state="connected", pid=int(gone.stdout)).current == "stopped"
    assert Record("a", state="crash-loop", pid=int(gone.stdout)).current == "crash-loop"
    assert Record("a", state="idle").current == "stopped"


def test_a_request_for_a_restart_is_seen_once_by_each_hub(tmp_path: Path):
    """The mark changes with each request, and not by itself."""
    records = FileRecords(tmp_path)
    assert records.asked(SPEC) == 0
    request_restart(tmp_path, SPEC)
    mark = records.asked(SPEC)
    assert mark != 0
    assert FileRecords(tmp_path).asked(SPEC) == mark
    os.utime(record_path(tmp_path, SPEC).with_suffix(".restart"), ns=(1, 1))
    request_restart(tmp_path, SPEC)
    assert records.asked(SPEC) not in (1, 0)


def test_a_log_is_kept_in_two_files_of_a_megabyte(tmp_path: Path):
    """A server that floods its standard error does not fill the disk (H17)."""
    records, line = FileRecords(tmp_path), "x" * 99_999 + "\n"
    for number in range(35):
        records.hear(SPEC, f"{number}:{line}")
    older, newer = log_paths(tmp_path, SPEC)
    for path in (older, newer):
        assert path.stat().st_size <= LOG_LIMIT + 2 * len(line)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "34:x" in newer.read_text(encoding="utf-8")
    assert "22:x" in older.read_text(encoding="utf-8")
    assert len(list((tmp_path / "servers").iterdir())) == 2


def test_a_folder_that_cannot_be_written_costs_nobody_anything(tmp_path: Path):
    """Records are lost, servers are not."""
    (tmp_path / "servers").write_text("in the way", encoding="utf-8")
    records = FileRecords(tmp_path)
    records.write(SPEC, Record("a", state="failed"))
    records.hear(SPEC, "last words\n")
    assert records.asked(SPEC) == 0
    assert read_record(tmp_path, SPEC) is None


def test_a_short_command_does_not_hide_a_hub_that_still_runs_the_server(tmp_path: Path):
    """When it stops its own process, the record of the other one is back."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        theirs = Record("a", state="connected", pid=other.pid, tools=3)
        path = record_path(tmp_path, SPEC)
        path.parent.mkdir()
        path.write_bytes(msgspec.json.encode(theirs))
        ours = FileRecords(tmp_path)
        ours.write(SPEC, Record("a", state="connected", tools=4))
        ours.write(SPEC, Record("a", state="stopped", tools=4))
        assert read_record(tmp_path, SPEC) == theirs
        other.communicate(b"\n")
    ours.write(SPEC, Record("a", state="stopped", tools=4))
    record = read_record(tmp_path, SPEC)
    assert record is not None
    assert (record.state, record.tools, record.pid) == ("stopped", 4, os.getpid())
