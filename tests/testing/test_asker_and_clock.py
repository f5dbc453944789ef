"""The scripted asker and the fake clock."""

import anyio
import pytest

from hub.core.ports import Question
from hub.testing.asker import ScriptedAsker, UnexpectedQuestion
from hub.testing.clock import FakeClock

QUESTION = Question(agent="lead", call_id="c1", tool="shell__run", arguments="{}", reason="why")


async def test_a_scripted_asker_gives_its_answers_in_order_and_keeps_the_questions():
    """Answers are used up from the front."""
    asker = ScriptedAsker(["once", "deny"])
    assert [await asker.ask(QUESTION), await asker.ask(QUESTION)] == ["once", "deny"]
    assert asker.questions == [QUESTION, QUESTION]
    asker.assert_finished()


async def test_a_scripted_asker_fails_on_a_question_without_an_answer():
    """A surprise question fails the test where it is asked."""
    with pytest.raises(UnexpectedQuestion, match="shell__run"):
        await ScriptedAsker().ask(QUESTION)


def test_a_scripted_asker_names_answers_that_nobody_asked_for():
    """Left-over answers are an error."""
    with pytest.raises(AssertionError, match="once"):
        ScriptedAsker(["once"]).assert_finished()


async def test_a_sleeper_on_a_fake_clock_wakes_only_when_its_time_has_come():
    """Advancing by less than the sleep wakes nobody."""
    clock = FakeClock(start=100.0)
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(sleeper, "short", 1)
            group.start_soon(sleeper, "long", 10)
            await clock.wait_for_sleepers(2)
            clock.advance(0.5)
            await anyio.wait_all_tasks_blocked()
            assert woken == []
            clock.advance(0.5)
            await anyio.wait_all_tasks_blocked()
            assert woken == ["short"]
            clock.advance(9)
    assert woken == ["short", "long"]
    assert clock.now() == clock.monotonic() == 110.0


async def test_an_impatient_fake_clock_moves_by_itself():
    """Its sleeps return at once and are listed."""
    clock = FakeClock(start=0.0, patient=False)
    await clock.sleep(30)
    assert clock.now() == 30
    assert clock.slept == [30]
