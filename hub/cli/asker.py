"""Puts permission questions to the person at the terminal, one at a time."""

import json
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import anyio

from hub.cli.views import View
from hub.core.ports import Answer, Question
from hub.core.text import one_line, printable

KEYS: dict[bytes, Answer] = {b"y": "once", b"a": "session", b"n": "deny", b"\x04": "deny"}
"""What each key means; Ctrl-D ends the input, and that is a no."""
BURST = 1024
"""Bytes that are read at once; several of them are no answer."""
ESCAPE = b"\x1b"
ESCAPE_SECONDS = 0.05
WORDS: dict[Answer, str] = {
    "once": "yes, this call",
    "session": "yes, every call of it by this agent in this run",
    "deny": "no",
}
MAX_LINES = 40
"""Lines of arguments that are shown."""
MAX_LINE = 500
"""Characters of one line of arguments that are shown."""


class TerminalAsker:
    """The Asker port at a terminal: shows who wants what, and waits for a key."""

    def __init__(self, view: View, descriptor: int = 0) -> None:
        self._view = view
        self._descriptor = descriptor
        self.turn = anyio.Lock()
        """Held while the person is asked something, by whomever."""

    async def ask(self, question: Question) -> Answer:
        """Show the question and wait for y, a or n; the end of the input is a no."""
        async with self.turn:
            with self._view.aside(), _single_keys(self._descriptor):
                self._view.say(worded(question))
                answer = await self._key()
                self._view.say(f"  {WORDS[answer]}")
                return answer

    async def _key(self) -> Answer:
        while True:
            typed = await self._typed()
            if not typed:
                return "deny"
            if answer := KEYS.get(typed.lower()):
                return answer

    async def _typed(self) -> bytes:
        """Return what one key press, or one paste, sent; nothing at the end of the input.

        An arrow key sends an escape and letters, of which the last may be an A: whoever presses it
        has not said "always". So an escape takes along what follows it closely.
        """
        await anyio.wait_readable(self._descriptor)
        try:
            typed = os.read(self._descriptor, BURST)
            if typed.startswith(ESCAPE):
                with anyio.move_on_after(ESCAPE_SECONDS):
                    while True:
                        await anyio.wait_readable(self._descriptor)
                        typed += os.read(self._descriptor, BURST)
        except OSError:
            return b""
        return typed


def asker_on_terminal(view: View) -> TerminalAsker | None:
    """Return an asker where a person can read the question and type an answer, else None."""
    return TerminalAsker(view) if os.isatty(0) and os.isatty(2) and sys.stdin else None


def worded(question: Question) -> str:
    """Return a question as printable lines: who, what, with which arguments, why it is asked."""
    agent, tool = one_line(question.agent), one_line(question.tool)
    lines = [
        f"{agent} wants to use {tool}",
        *(f"  {line}" for line in _arguments(question.arguments)),
        f"  asked because {one_line(question.reason, 300)}",
        f"[y] this call  [a] every call of {tool} by {agent} in this run  [n] no",
    ]
    return printable("\n".join(lines))


def _arguments(text: str) -> list[str]:
    with suppress(ValueError):
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    lines = [
        line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line)} characters)"
        for line in text.split("\n")
    ]
    left_out = len(lines) - MAX_LINES
    return lines if left_out <= 0 else [*lines[:MAX_LINES], f"… {left_out} more lines"]


@contextmanager
def _single_keys(descriptor: int) -> Iterator[None]:
    """Read keys without Enter and echo; what was typed before the question is thrown away."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSAFLUSH)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
