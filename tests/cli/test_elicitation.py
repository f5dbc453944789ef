"""Questions of servers at a terminal."""

from collections.abc import Callable
from typing import Any

import pytest

from hub.cli.elicitation import heading, review, worded
from hub.core.asking import Elicitation
from hub.core.forms import Choice, FormField

PROGRAM = """
import anyio, json, sys
from hub.cli.asker import asker_on_terminal
from hub.cli.elicitation import elicitor_on_terminal
from hub.cli.views import view_on_stderr
from hub.core import events as ev
from hub.core.asking import Elicitation
from hub.core.forms import Choice, FormField
from hub.core.ports import Question

SIZES = (Choice("s", "Small"), Choice("m", "Medium"))
FORM = (
    FormField("name", title="Your name", required=True, least=2),
    FormField("age", "integer", least=0),
    FormField("size", "choice", required=True, choices=SIZES),
    FormField("news", "switch", default=False),
    FormField("password"),
)
KINDS = {
    "form": Elicitation("pizza", "lead/a", "Your \\x1b[2Jorder?", FORM),
    "plain": Elicitation("pizza", "lead/a", "Really?"),
    "url": Elicitation("pizza", "lead/a", "Sign in.", url="https://pizza.example/in?x=1"),
}

async def main() -> None:
    view = view_on_stderr()
    asker = asker_on_terminal(view)
    elicitor = elicitor_on_terminal(view, asker)
    if elicitor is None:
        print("nobody")
        return

    async def ask(kind):
        if kind == "permission":
            print(kind, await asker.ask(Question("lead", "c", "t", "{}", "r")), flush=True)
            return
        done = await elicitor.elicit(KINDS[kind])
        print(kind, done.action, json.dumps(dict(done.content), sort_keys=True), flush=True)

    async with anyio.create_task_group() as group:
        group.start_soon(view.run)
        view.show(ev.TurnStarted(agent="lead", at=1.0))
        async with anyio.create_task_group() as askers:
            for kind in sys.argv[1:]:
                askers.start_soon(ask, kind)
        view.finish()
        await view.drained()
        group.cancel_scope.cancel()

anyio.run(main)
"""
SURE = rb"\[y\] send it"


def filled(screen: Any) -> None:
    """Type into each field, wrongly at first."""
    screen.read_until(b"name: Your name")
    screen.type(b"a\n")
    screen.read_until(b"at least 2 characters")
    screen.type(b"ada\n")
    screen.read_until(b"- age")
    screen.type(b"old\n")
    screen.read_until(b"whole number")
    screen.type(b"\n")
    screen.read_until(b"2 Medium")
    screen.type(b"\n")
    screen.read_until(b"it is needed")
    screen.type(b"2\n")
    screen.read_until(rb"- news \(yes or no\) \[no\]")
    screen.type(b"\n")
    screen.read_until(b"looks like a secret")
    screen.type(b"hunter2\n")
    screen.read_until(SURE)


@pytest.mark.parametrize("kind", ["xterm", "dumb"])
def test_a_form_is_filled_in_line_by_line(
    terminal: Callable[..., Any], hostile: Any, kind: str
) -> None:
    """What does not fit is asked for again, a secret is not echoed, and there is a last look."""
    screen = terminal("-c", PROGRAM, "form", env={"TERM": kind})
    filled(screen)
    assert b"hunter2" not in screen.seen
    assert b"MCP server pizza asks you for lead/a" in screen.seen
    screen.type(b"y\n")
    screen.read_until(b'form accept {"name": "ada", "news": false, "password": "hunter2", "size"')
    assert screen.end() == 0
    assert hostile(screen.seen) == ""


@pytest.mark.parametrize(
    ("keys", "answer"),
    [(b"/no\n", b"form decline"), (b"\x04", b"form cancel")],
)
def test_a_form_can_be_declined_or_left_at_any_field(
    terminal: Callable[..., Any], keys: bytes, answer: bytes
) -> None:
    """Nothing of what was typed goes out."""
    screen = terminal("-c", PROGRAM, "form")
    screen.read_until(b"name: Your name")
    screen.type(b"ada\n")
    screen.read_until(b"- age")
    screen.type(keys)
    screen.read_until(answer + rb" \{\}")
    assert screen.end() == 0


def test_a_last_look_can_end_in_no(terminal: Callable[..., Any]) -> None:
    """Also after all fields."""
    screen = terminal("-c", PROGRAM, "form")
    filled(screen)
    screen.type(b"n\n")
    screen.read_until(rb"form decline \{\}")
    assert screen.end() == 0


@pytest.mark.parametrize(("keys", "answer"), [(b"y\n", b"accept"), (b"n\n", b"decline")])
def test_an_address_is_shown_whole_and_not_opened(
    terminal: Callable[..., Any], keys: bytes, answer: bytes
) -> None:
    """The user consents and opens it."""
    screen = terminal("-c", PROGRAM, "url", env={"BROWSER": "false %s", "TERM": "dumb"})
    screen.read_until(b"I will open it myself")
    assert b"https://pizza.example/in?x=1" in screen.seen
    screen.type(keys)
    screen.read_until(b"url " + answer)
    assert screen.end() == 0


def test_questions_of_servers_and_for_permission_take_turns(terminal: Callable[..., Any]) -> None:
    """One is put when the other has its answer."""
    screen = terminal("-c", PROGRAM, "plain", "permission")
    screen.read_until(SURE)
    assert b"wants to use" not in screen.seen
    screen.type(b"y\n")
    screen.read_until(rb"\[n\] no(.|\n)*wants to use(.|\n)*\[n\] no")
    screen.type(b"y")
    assert screen.end() == 0
    assert b"plain accept" in screen.seen
    assert b"permission once" in screen.seen


def test_what_a_server_says_is_printable_and_bounded() -> None:
    """Escapes are text, and a long message is cut."""
    text = heading(Elicitation("a\x1bb", "lead\x07", "x" * 5000 + "\x1b[2J", url="https://\u202ee"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "characters)" in text
    field = FormField("n\x1b", "choice", title="t\x07", choices=(Choice("v", "l\x1b"),))
    assert "\x1b" not in worded(field) + review(
        Elicitation("s", "a", "m", (field,)), {"n\x1b": "v"}
    )


def test_a_secret_is_not_shown_at_the_last_look() -> None:
    """It is there, and hidden."""
    field = FormField("token")
    text = review(Elicitation("s", "a", "m", (field,)), {"token": "abc"})
    assert "abc" not in text
    assert "(hidden)" in text
