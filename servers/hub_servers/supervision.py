"""Keeps one reaper process per process, so that groups end even when we are killed.

The reaper (`hub_servers.reaper`) holds the reading end of a pipe; the kernel closes the writing
end when this process ends, however it ends. It is started with the first group, in a session of
its own, with no terminal and no other descriptor of ours.
"""

import atexit
import os
import secrets
import subprocess
import sys
import threading

import hub_servers.reaper as reaper


class Supervisor:
    """Tells the reaper which groups there are; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._groups: dict[int, str] = {}
        """Each with the token by which to find what has left it; empty for those that may."""
        self._starting: set[str] = set()

    @property
    def reaper(self) -> int | None:
        """The pid of the reaper, if it has been started."""
        return None if self._process is None else self._process.pid

    def announce(self) -> str:
        """Say that a group is about to start; return the token that marks it.

        Raises:
            OSError: the reaper cannot be started.
        """
        token = secrets.token_hex(8)
        with self._lock:
            self._starting.add(token)
            self._tell(f"*{token}")
        return token

    def started(self, token: str, group: int, *, strays: bool = False) -> None:
        """Say that the group has started; with ``strays``, what leaves it is to end as well.

        Raises:
            OSError: the reaper is gone and another one cannot be started.
        """
        with self._lock:
            self._starting.discard(token)
            self._groups[group] = token if strays else ""
            self._tell(f"+{group} {token}")
            if strays:
                self._tell(f"~{group} {token}")

    def failed(self, token: str) -> None:
        """Say that the group has not started after all."""
        with self._lock:
            self._starting.discard(token)
            self._try_to_tell(f"!{token}")

    def ended(self, group: int) -> None:
        """Say that the group is gone."""
        with self._lock:
            self._groups.pop(group, None)
            self._try_to_tell(f"-{group}")

    def close(self) -> None:
        """Let the reaper end what is left and exit."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return
            os.close(self._pipe)
            # It outlives us on purpose, so that it is still running is no fault.
            process.returncode = 0

    def forget(self) -> None:
        """Give up the reaper in a forked child: it belongs to the parent."""
        if self._process is not None:
            self._process.returncode = 0
            os.close(self._pipe)
        self.__init__()  # type: ignore[misc]

    def _tell(self, line: str) -> None:
        if not self._try_to_tell(line):
            self._start()
            known = [f"*{token}" for token in self._starting] + [f"+{one}" for one in self._groups]
            known += [f"~{one} {token}" for one, token in self._groups.items() if token]
            os.write(self._pipe, "".join(f"{one}\n" for one in known).encode())

    def _try_to_tell(self, line: str) -> bool:
        """Write to the reaper; one that was killed or is stuck is given up."""
        if self._process is None:
            return False
        try:
            os.write(self._pipe, f"{line}\n".encode())
        except OSError:
            os.close(self._pipe)
            self._process.kill()
            self._process.wait()
            self._process = None
            return False
        return True

    def _start(self) -> None:
        reading, writing = os.pipe()
        try:
            os.set_blocking(writing, False)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", reaper.__file__],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        self._pipe = writing


SUPERVISOR = Supervisor()
"""The one of this process."""

atexit.register(SUPERVISOR.close)
os.register_at_fork(after_in_child=SUPERVISOR.forget)
