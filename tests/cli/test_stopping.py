"""Signals: once is a cancel, twice is a leave."""

import os
import signal
import threading

import anyio
import anyio.to_thread
import pytest

from hub.cli import stopping
from hub.cli.stopping import DRAIN_SECONDS, TWICE_WITHIN, Stopper


class Desk:
    """A stopper with a run, and what it did."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.cancels: list[str] = []
        self.left = threading.Event()
        self.stopper = Stopper(self.said.append, lambda code: self.left.set())
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
    """Impatience cancels everything."""
    desk.stopper.interrupt(10.0)
    desk.stopper.interrupt(10.0 + TWICE_WITHIN - 0.01)
    assert desk.stopper.scope.cancel_called


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
    assert desk.stopper.exit_code == 143


@pytest.mark.parametrize("ends", [True, False])
async def test_a_clean_up_that_is_stuck_does_not_keep_the_process(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """After some seconds the process is left, unless its work was over before that."""
    monkeypatch.setattr(stopping, "LEAVE_SECONDS", 0.05)
    if ends:
        desk.stopper.end()
    desk.stopper.cancel_run = None
    desk.stopper.interrupt(10.0)
    assert await anyio.to_thread.run_sync(desk.left.wait, 0.3) is not ends


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
