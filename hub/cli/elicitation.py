"""Puts questions of servers to the person at the terminal: forms line by line, addresses to open.

What a person types goes to the server that asks and nowhere else. No address is opened from here.
"""

import os
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio

from hub.cli.asker import TerminalAsker
from hub.cli.views import View
from hub.core.asking import Elicitation, Elicited
from hub.core.forms import NO, YES, FormField, Value
from hub.core.text import one_line, printable

LINE = 64 * 1024
"""Bytes of one line."""
DECLINE = "/no"
"""What a person types at any field to decline the whole question."""
MOST_MESSAGE = 2000
"""Characters of a server's message that are shown."""
HIDDEN = "(hidden)"


class Left(Exception):
    """The person ended the input instead of answering."""


class Declined(Exception):
    """The person does not want to answer."""


class TerminalElicitor:
    """The Elicitor port at a terminal; it takes turns with permission questions."""

    def __init__(self, view: View, turn: anyio.Lock, descriptor: int = 0) -> None:
        self._view = view
        self._turn = turn
        self._descriptor = descriptor

    async def elicit(self, question: Elicitation) -> Elicited:
        """Show the question and wait for the answer; the end of the input leaves it."""
        async with self._turn:
            with self._view.aside():
                termios.tcflush(self._descriptor, termios.TCIFLUSH)
                self._view.say(heading(question))
                try:
                    content = await self._answer(question)
                except Declined:
                    self._view.say("  declined")
                    return Elicited("decline")
                except Left:
                    self._view.say("  left without an answer")
                    return Elicited("cancel")
                return Elicited("accept", content)

    async def _answer(self, question: Elicitation) -> Mapping[str, Value]:
        content: dict[str, Value] = {}
        for field in question.fields:
            value = await self._value(field)
            if value is not None:
                content[field.name] = value
        if question.fields:
            self._view.say(review(question, content))
        await self._agree(question)
        return content

    async def _value(self, field: FormField) -> Value | None:
        """Ask for one field until the answer fits; None leaves it out."""
        prompt = worded(field)
        while True:
            typed = (await self._line(prompt, hidden=field.secret)).strip()
            if typed == DECLINE:
                raise Declined
            if not typed and field.default is not None:
                return field.default
            if not typed and not field.required:
                return None
            try:
                if not typed and field.kind != "text":
                    raise ValueError("is needed")
                return field.read(typed)
            except ValueError as error:
                prompt = f"  it {error}; try again, or {DECLINE}"

    async def _agree(self, question: Elicitation) -> None:
        """Return when the person agrees.

        Raises:
            Declined: they do not.
        """
        act = "I will open it myself" if question.url else "send it"
        prompt = f"[y] {act}  [n] no"
        while True:
            typed = (await self._line(prompt)).strip().lower()
            if typed in YES:
                return
            if typed in NO or typed == DECLINE:
                raise Declined
            prompt = "  y or n?"

    async def _line(self, prompt: str, *, hidden: bool = False) -> str:
        """Show a prompt and return the line that follows; the terminal hides it from the start."""
        with _echo(self._descriptor, on=not hidden):
            self._view.say(prompt)
            await anyio.wait_readable(self._descriptor)
            try:
                typed = os.read(self._descriptor, LINE)
            except OSError:
                typed = b""
        if not typed:
            raise Left
        return typed.decode("utf-8", "replace")


def elicitor_on_terminal(view: View, asker: TerminalAsker | None) -> TerminalElicitor | None:
    """Return an elicitor where there is an asker, else None."""
    return None if asker is None else TerminalElicitor(view, asker.turn)


def heading(question: Elicitation) -> str:
    """Say which server asks what, for whom."""
    whom = f" for {one_line(question.agent)}" if question.agent else ""
    message = question.message
    if len(message) > MOST_MESSAGE:
        message = f"{message[:MOST_MESSAGE]}… ({len(message)} characters)"
    who = f"MCP server {one_line(question.server)} asks you{whom}:"
    lines = [who if question.server else f"{one_line(question.agent)} asks you:"]
    lines += [f"  {line}" for line in printable(message).split("\n")]
    if question.url:
        lines += [
            "It wants you to open this address. Look at the host before you do:",
            f"  {printable(question.url)}",
        ]
    elif question.fields:
        lines += [
            f"It gets what you type. Enter alone takes what is in brackets; {DECLINE} declines."
        ]
    return "\n".join(lines)


def worded(field: FormField) -> str:
    """Return the prompt of a field, with its choices."""
    about = " ".join(part for part in (field.title, field.description) if part)
    line = one_line(f"{field.name}: {about}" if about else field.name, 200)
    notes = ["required"] if field.required else []
    if field.kind == "switch":
        notes.append("yes or no")
    if field.kind == "choices":
        notes.append("several with commas between")
    if field.secret:
        notes.append("it looks like a secret: a form should not ask for one")
    line += f" ({'; '.join(notes)})" if notes else ""
    line += f" [{one_line(_shown(field.default))}]" if field.default is not None else ""
    lines = [f"- {line}"]
    for number, choice in enumerate(field.choices, start=1):
        lines.append(f"    {number} {one_line(choice.label or choice.value)}")
    return "\n".join(lines)


def review(question: Elicitation, content: Mapping[str, Value]) -> str:
    """Return what would be sent, for a last look."""
    lines = [f"{one_line(question.server)} would get:"]
    for field in question.fields:
        if field.name in content:
            shown = HIDDEN if field.secret else one_line(_shown(content[field.name]), 200)
            lines.append(f"  {one_line(field.name)} = {shown}")
    return "\n".join(lines if len(lines) > 1 else [*lines, "  an empty form"])


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _echo(descriptor: int, *, on: bool) -> Iterator[None]:
    """Read a line, and show it while it is typed or not."""
    before = termios.tcgetattr(descriptor)
    chosen = termios.tcgetattr(descriptor)
    chosen[3] = chosen[3] | termios.ICANON | termios.ECHO
    if not on:
        chosen[3] &= ~termios.ECHO
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, chosen)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
