"""``hub mcp logs`` and ``hub mcp restart``: the last lives of a server, and the next one."""

import os
import subprocess
import sys
import time
from pathlib import Path

from hub.connections.records import FileRecords, log_paths
from tests.cli.mcp.desk import Desk


def state(desk: Desk) -> Path:
    """Return the state folder."""
    return desk.root / "state" / "hub"


def test_logs_show_the_last_lines_of_all_lives(desk: Desk) -> None:
    """The older of two files comes first, and nothing is printed raw."""
    desk.server("mine")
    older, newer = log_paths(state(desk), desk.spec("mine"))
    FileRecords(state(desk)).hear(desk.spec("mine"), "second\n\x1b[2Jthird\n")
    older.write_text("zeroth\nfirst\n", encoding="utf-8")
    assert desk.run("logs", "mine").stdout == "zeroth\nfirst\nsecond\n\\x1b[2Jthird\n"
    assert desk.run("logs", "mine", "-n", "2").stdout == "second\n\\x1b[2Jthird\n"
    assert newer.exists()


def test_a_server_that_said_nothing_says_so(desk: Desk) -> None:
    """An empty screen is no answer."""
    desk.server("mine")
    assert "has written nothing" in desk.run("logs", "mine").stdout


def test_what_a_call_makes_a_server_write_is_in_its_log(desk: Desk) -> None:
    """The log is written by whatever process ran the server."""
    desk.server("mine", "exit_on_start")
    desk.run("call", "mine/echo", "text=x")
    assert "no licence file was found" in desk.run("logs", "mine").stdout


def test_following_a_log_shows_what_comes(desk: Desk) -> None:
    """New lines appear as they are written."""
    desk.server("mine")
    spec, records = desk.spec("mine"), FileRecords(state(desk))
    records.hear(spec, "before\n")
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-m", "hub", "mcp", "logs", "mine", "-f"],
        cwd=desk.project, env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "before\n"
        records.hear(spec, "after\n")
        assert process.stdout.readline() == "after\n"
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_a_restart_leaves_a_request_and_says_whom_it_reaches(desk: Desk) -> None:
    """Running hubs look for it before the next call."""
    desk.server("mine")
    records = FileRecords(state(desk))
    before = records.asked(desk.spec("mine"))
    assert "No hub runs mine now" in desk.run("restart", "mine").stdout
    assert records.asked(desk.spec("mine")) != before
    desk.lived("mine", state="connected")
    assert f"process {os.getpid()}" in desk.run("restart", "mine").stdout
    desk.lived("mine", state="crash-loop", retry_at=time.time() + 30)
    assert "out of its crash loop" in desk.run("restart", "mine").stdout


def test_a_restart_of_what_is_not_approved_starts_nothing(desk: Desk) -> None:
    """It says what is missing."""
    desk.asked_for("theirs")
    assert "hub mcp approve theirs" in desk.run("restart", "theirs").stdout
    assert not desk.started()
