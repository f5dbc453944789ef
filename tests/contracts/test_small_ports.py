"""One contract for every clock, one for every person who is asked, doubles included."""

from collections.abc import Callable

import anyio
import pytest

from hub.app.options import NobodyToAsk
from hub.core.clock import SystemClock
from hub.core.ports import Answer, Asker, Clock, Question
from hub.testing.asker import ScriptedAsker
from hub.testing.clock import FakeClock

CLOCKS: dict[str, Callable[[], Clock]] = {
    "system": SystemClock,
    "fake": lambda: FakeClock(patient=False),
}
ASKERS: dict[str, Callable[[], Asker]] = {
    "nobody": NobodyToAsk,
    "scripted": lambda: ScriptedAsker(["session", "once", "deny", "nobody"]),
}
ANSWERS: set[Answer] = {"once", "session", "deny", "nobody"}


@pytest.mark.parametrize("name", CLOCKS)
async def test_a_clock_never_goes_back_and_a_sleep_takes_its_time(name: str) -> None:
    """Both readings move by at least what was slept; zero is a sleep, too."""
    clock = CLOCKS[name]()
    with anyio.fail_after(5):
        for seconds in (0.0, 0.02):
            now, steady = clock.now(), clock.monotonic()
            await clock.sleep(seconds)
            assert clock.monotonic() - steady >= seconds * 0.9
            assert clock.now() >= now


@pytest.mark.parametrize("name", CLOCKS)
async def test_a_sleep_is_a_place_where_a_cancel_is_noticed(name: str) -> None:
    """Also a sleep of zero."""
    clock = CLOCKS[name]()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await clock.sleep(0)
        pytest.fail("the sleep went on")
    assert scope.cancelled_caught


@pytest.mark.parametrize("name", ASKERS)
async def test_whoever_is_asked_gives_one_of_the_answers(name: str) -> None:
    """In time, whatever the question."""
    asker = ASKERS[name]()
    question = Question("lead", "c1", "x__y", "{}", "why")
    with anyio.fail_after(5):
        given = {await asker.ask(question) for _ in range(4)}
    assert given <= ANSWERS
