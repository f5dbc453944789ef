"""Permission questions at a terminal."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hub.cli.asker import MAX_LINES, worded
from hub.core.ports import Question

PROGRAM = """
import anyio, sys
from hub.cli.asker import asker_on_terminal
from hub.cli.views import view_on_stderr
from hub.core import events as ev
from hub.core.ports import Question

async def main() -> None:
    view = view_on_stderr()
    asker = asker_on_terminal(view)
    if asker is None:
        print("nobody")
        return

    async def ask(name):
        arguments = '{"path": "a.txt", "text": "\\x1b[2J"}'
        question = Question("lead/" + name, "c", "files__write", arguments, "mode default")
        print(name, await asker.ask(question), flush=True)

    async with anyio.create_task_group() as group:
        group.start_soon(view.run)
        view.show(ev.TurnStarted(agent="lead", at=1.0))
        async with anyio.create_task_group() as askers:
            for name in sys.argv[1:]:
                askers.start_soon(ask, name)
        view.finish()
        await view.drained()
        group.cancel_scope.cancel()

anyio.run(main)
"""
ASKED = rb"\[n\] no"


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (b"y", b"once"),
        (b"a", b"session"),
        (b"n", b"deny"),
        (b"\x04", b"deny"),
        (b"N", b"deny"),
    ],
)
@pytest.mark.parametrize("kind", ["xterm", "dumb"])
def test_one_key_answers_without_enter(
    terminal: Callable[..., Any], hostile: Any, keys: bytes, answer: bytes, kind: str
) -> None:
    """y is once, a is for the session, n and the end of the input are no."""
    screen = terminal("-c", PROGRAM, "one", env={"TERM": kind})
    screen.read_until(ASKED)
    screen.type(keys)
    screen.read_until(b"one " + answer)
    assert screen.end() == 0
    assert b"lead/one wants to use files__write" in screen.seen
    assert hostile(screen.seen) == ""


@pytest.mark.parametrize(
    "keys", [b"\x1b[A", b"\x1bOA", b"\x1b[1;5A", b"yes\n", b"\r", b" ", b"\xff"]
)
def test_what_is_no_answer_is_ignored(terminal: Callable[..., Any], keys: bytes) -> None:
    """An arrow key ends in an A and is no "always"; pasted text is no yes."""
    screen = terminal("-c", PROGRAM, "one")
    screen.read_until(ASKED)
    screen.type(keys)
    with pytest.raises(AssertionError, match="timed out"):
        screen.read_until(b"one (once|session|deny)", timeout=0.4)
    screen.type(b"y")
    assert screen.end() == 0
    assert b"one once" in screen.seen


def test_two_who_ask_at_once_are_answered_one_after_the_other(
    terminal: Callable[..., Any],
) -> None:
    """The second question appears when the first has its answer (A23)."""
    screen = terminal("-c", PROGRAM, "one", "two")
    screen.read_until(ASKED)
    assert screen.seen.count(b"wants to use") == 1
    screen.type(b"n")
    screen.read_until(ASKED + rb"(.|\n)*" + ASKED)
    screen.type(b"y")
    assert screen.end() == 0
    assert b"one deny" in screen.seen
    assert b"two once" in screen.seen


def test_keys_typed_before_the_question_answer_nothing(terminal: Callable[..., Any]) -> None:
    """A y that was typed ahead is thrown away."""
    program = "import sys; sys.stdin.readline(); print('go', flush=True)\n" + PROGRAM
    screen = terminal("-c", program, "one")
    screen.type(b"\ny\n")
    screen.read_until(b"go")
    screen.read_until(ASKED)
    screen.type(b"n")
    assert screen.end() == 0
    assert b"one deny" in screen.seen


def test_without_a_terminal_there_is_nobody_to_ask(terminal: Callable[..., Any]) -> None:
    """Input from elsewhere means nobody."""
    program = "import os; os.dup2(os.open(os.devnull, os.O_RDONLY), 0)\n" + PROGRAM
    screen = terminal("-c", program, "one")
    assert screen.end() == 0
    assert b"nobody" in screen.seen


def test_a_question_says_who_what_and_why_and_is_printable() -> None:
    """Arguments are shown as indented JSON; escapes are text."""
    arguments = json.dumps({"command": "rm \u202e\x9b -r x", "cwd": "."}, ensure_ascii=False)
    question = Question("lead/w\x1b#1", "c", "shell__run", arguments, "ask rule\x07")
    assert worded(question) == (
        "lead/w\\x1b#1 wants to use shell__run\n"
        "  {\n"
        '    "command": "rm \\u202e\\x9b -r x",\n'
        '    "cwd": "."\n'
        "  }\n"
        "  asked because ask rule\\x07\n"
        "[y] this call  [a] every call of shell__run by lead/w\\x1b#1 in this run  [n] no"
    )


def test_long_arguments_are_cut_and_say_by_how_much() -> None:
    """Neither a thousand lines nor a long one pushes the question off the screen."""
    many = worded(Question("lead", "c", "t", json.dumps(list(range(1000))), "r"))
    assert many.count("\n") < MAX_LINES + 10
    assert "more lines" in many
    long = worded(Question("lead", "c", "t", json.dumps({"a": "x" * 100_000}), "r"))
    assert len(long) < 2000
    assert "characters)" in long
    assert "not json" in worded(Question("lead", "c", "t", "not json", "r"))
