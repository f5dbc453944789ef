"""How a run is stopped from outside: Ctrl-C once and twice, SIGTERM, a terminal that goes away."""

import math
import os
import signal
import threading
from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus

from hub.core.cancel import CancelReason
from hub.core.outcomes import EXIT_CODES, EXIT_SIGTERM

TWICE_WITHIN = 2.0
"""Seconds in which a second Ctrl-C means: leave at once."""
DRAIN_SECONDS = 5.0
"""How long a run may take to end after SIGTERM."""
LEAVE_SECONDS = 3.0
"""How long the end of servers and children may take once the run is left at once."""


class Stopper:
    """Turns signals into a cancel of the run, and impatience into a cancel of everything."""

    def __init__(
        self, say: Callable[[str], None], leave_process: Callable[[int], None] = os._exit
    ) -> None:
        self._say = say
        self._leave_process = leave_process
        self._ended = threading.Event()
        self._last_interrupt = -math.inf
        self.scope = anyio.CancelScope()
        """Holds all work of the command; cancelled when nothing more is to be waited for."""
        self.cancel_run: Callable[[CancelReason], None] | None = None
        """Ends the run in good order; None while there is no run to end."""
        self.terminated = False
        """SIGTERM or SIGHUP came."""

    @property
    def exit_code(self) -> int:
        """The exit code of a command that was left before it had a result."""
        return EXIT_SIGTERM if self.terminated else EXIT_CODES["cancelled"]

    async def watch(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Obey signals until cancelled."""
        with anyio.open_signal_receiver(*_signals()) as received:
            task_status.started()
            async for number in received:
                if number == signal.SIGINT:
                    self.interrupt(anyio.current_time())
                else:
                    self.terminate(anyio.current_time())

    def interrupt(self, now: float) -> None:
        """Take a Ctrl-C: stop the run; when one came just before, or none runs, leave."""
        again = now - self._last_interrupt < TWICE_WITHIN
        self._last_interrupt = now
        if self.cancel_run is None or again:
            self._leave()
            return
        self._say("stopping; press Ctrl-C again to leave at once")
        self.cancel_run("user")

    def terminate(self, now: float) -> None:
        """Take a SIGTERM: stop the run, and leave when that takes too long."""
        self.terminated = True
        if self.cancel_run is None:
            self._leave()
            return
        self.scope.deadline = min(self.scope.deadline, now + DRAIN_SECONDS)
        self._leave_after(DRAIN_SECONDS + LEAVE_SECONDS)
        self.cancel_run("user")

    def _leave(self) -> None:
        self.scope.cancel()
        self._leave_after(LEAVE_SECONDS)

    def end(self) -> None:
        """Say that all work is over, so that nothing is left to be cut short."""
        self._ended.set()

    def _leave_after(self, seconds: float) -> None:
        """End the process after some time unless its work is over, however stuck that is.

        Child processes end with it: their stdin closes, and the kernel signals its death to them.
        """

        def watch() -> None:
            if not self._ended.wait(seconds):
                self._leave_process(self.exit_code)

        threading.Thread(target=watch, daemon=True).start()


def _signals() -> list[signal.Signals]:
    """Return the signals to obey; SIGHUP only where it is not ignored, as under nohup."""
    signals = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    return signals
