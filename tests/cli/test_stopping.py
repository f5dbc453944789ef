"""Signals: once is a cancel, twice is a leave."""

import os
import signal

import anyio
import pytest

from hub.cli.stopping import DRAIN_SECONDS, LEAVE_SECONDS, TWICE_WITHIN, Stopper


class Desk:
    """A stopper with a run, and what it did."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.cancels: list[str] = []
        self.ends: list[tuple[float, int]] = []
        self.stopper = Stopper(self.said.append, lambda *end: self.ends.append(end))
        self.stopper.cancel_run = self.cancels.append


@pytest.fixture
async def desk() -> Desk:
    """A fresh one."""
    return Desk()


async def test_one_interrupt_cancels_the_run_and_says_how_to_leave(desk: Desk) -> None:
    """The first Ctrl-C is a cancel in good order."""
    desk.stopper.interrupt(10.0)
    assert desk.cancels == ["user"]
    assert "again" in desk.said[0]
    assert not desk.stopper.scope.cancel_called
    assert desk.stopper.exit_code == 130


async def test_a_second_interrupt_soon_after_leaves_at_once(desk: Desk) -> None:
    """Impatience cancels everything, and a stuck clean-up is given three seconds."""
    desk.stopper.interrupt(10.0)
    desk.stopper.interrupt(10.0 + TWICE_WITHIN - 0.01)
    assert desk.stopper.scope.cancel_called
    assert desk.ends == [(LEAVE_SECONDS, 130)]


async def test_an_interrupt_much_later_counts_as_a_first_one(desk: Desk) -> None:
    """Only two within two seconds are impatience."""
    desk.stopper.interrupt(10.0)
    desk.stopper.interrupt(10.0 + TWICE_WITHIN)
    assert not desk.stopper.scope.cancel_called


async def test_an_interrupt_without_a_run_leaves_at_once(desk: Desk) -> None:
    """While the hub opens, or while a slow reader takes the result, there is nothing to cancel."""
    desk.stopper.cancel_run = None
    desk.stopper.interrupt(10.0)
    assert desk.stopper.scope.cancel_called


async def test_sigterm_cancels_and_waits_five_seconds_at_most(desk: Desk) -> None:
    """The run may drain, but not for long; the exit code is 143."""
    desk.stopper.terminate(10.0)
    assert desk.cancels == ["user"]
    assert desk.stopper.scope.deadline == 10.0 + DRAIN_SECONDS
    assert desk.ends == [(DRAIN_SECONDS + LEAVE_SECONDS, 143)]
    assert desk.stopper.exit_code == 143


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
async def test_signals_of_the_process_are_obeyed(
    desk: Desk, number: signal.Signals, code: int
) -> None:
    """A real signal reaches the run."""
    cancelled = anyio.Event()
    desk.stopper.cancel_run = lambda reason: cancelled.set()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(desk.stopper.watch)
            os.kill(os.getpid(), number)
            await cancelled.wait()
            group.cancel_scope.cancel()
    assert desk.stopper.exit_code == code
