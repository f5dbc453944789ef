"""The live tree on a real pseudo-terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

PROGRAM = """
import anyio, sys
from hub.cli.views import view_on_stderr
from hub.core import events as ev

BAD = "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e\\rfake\\nline [bold red]markup[/] "

async def main() -> None:
    view = view_on_stderr()
    print(type(view).__name__, flush=True)
    async with anyio.create_task_group() as group:
        group.start_soon(view.run)
        for path in ("lead", "lead/worker#1", "lead/" + BAD):
            view.show(ev.TurnStarted(agent=path, at=1.0))
        view.show(ev.ToolCallEvent(agent="lead", at=2, call_id="1", name="t" + BAD, arguments=BAD))
        view.show(ev.ServerFailed(agent="lead", at=2, server=BAD, error=BAD))
        for number in range(3):
            for _ in range(200):
                view.show(ev.TextDelta(agent="lead/worker#1", at=2, text=BAD))
            view.show(ev.ToolResultEvent(agent="lead", at=2, call_id="1", name="t", text=BAD))
            view.say(f"message {number} {BAD}")
            await anyio.sleep(0.12)
        with view.aside():
            view.say("a question " + BAD)
            await anyio.sleep(0.25)
        await anyio.sleep(0.12)
        for path in ("lead/worker#1", "lead"):
            done = {"outcome": "done", "stop_reason": "reported", "text": BAD}
            view.show(ev.TurnDone(agent=path, at=3, **done))
        view.finish()
        view.finish()
        await view.drained()
        group.cancel_scope.cancel()
    sys.stdout.write("result\\n")

anyio.run(main)
"""


def test_hostile_text_never_reaches_the_terminal_and_the_last_tree_stays(
    terminal: Callable[..., Any], hostile: Callable[[bytes], str]
) -> None:
    """Whatever tools, models and servers say, the terminal obeys only the tree's own moves."""
    screen = terminal("-c", PROGRAM)
    assert screen.end() == 0
    output = screen.seen
    assert b"LiveView" in output
    assert hostile(output) == ""
    assert b"owned" in output
    assert b"[bold red]markup" in output
    assert output.endswith(b"result\r\n")
    assert output.rfind(b"\x1b[?25h") > output.rfind(b"\x1b[?25l") >= 0
    final = output[output.rfind(b"\x1b[?25h") :].decode()
    assert re.search(r"lead .*done", final)
    assert "3 agents" in final


def test_a_question_takes_the_tree_off_the_screen(terminal: Callable[..., Any]) -> None:
    """While somebody is asked, nothing is drawn over the question."""
    screen = terminal("-c", PROGRAM)
    screen.end()
    after = screen.seen.split(b"a question ", 1)[1]
    assert after.index(b"\r\n") < after.index(b"lead")
    before = screen.seen.split(b"a question ", 1)[0]
    assert before.endswith((b"\x1b[2K", b"\x1b[?25h")) or b"\x1b[2K" in before[-200:]


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(terminal: Callable[..., Any]) -> None:
    """TERM=dumb means plain lines."""
    screen = terminal("-c", PROGRAM, env={"TERM": "dumb"})
    assert screen.end() == 0
    assert b"LinesView" in screen.seen
    assert b"\x1b" not in screen.seen
    assert b"[  0.0s] lead" in screen.seen or b"lead: " in screen.seen


def test_no_color_means_no_colours(terminal: Callable[..., Any]) -> None:
    """NO_COLOR leaves the moves and drops colours; bold and dim are no colours."""
    screen = terminal("-c", PROGRAM, env={"NO_COLOR": "1"})
    assert screen.end() == 0
    assert not re.search(rb"\x1b\[[\d;]*3[0-7][\d;]*m", screen.seen)


def test_a_terminal_that_goes_away_ends_drawing_and_nothing_else() -> None:
    """Errors of the terminal are no faults of the run."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(slave)
    assert process.stdout is not None
    assert process.stdout.readline() == b"LiveView\n"
    os.close(master)
    assert process.stdout.read() == b"result\n"
    process.stdout.close()
    assert process.wait(timeout=20) == 0


def test_a_terminal_that_changes_its_size_gets_pictures_of_that_size(
    terminal: Callable[..., Any],
) -> None:
    """The next drawing fits, and so does the last one."""
    screen = terminal("-c", PROGRAM)
    screen.read_until(b"message 0")
    fcntl.ioctl(screen.master, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
    assert screen.end() == 0
    final = screen.seen[screen.seen.rfind(b"\x1b[?25h") :].decode()
    lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", final).split("\r\n")
    assert len(lines) > 3
    assert max(map(len, lines)) <= 40
