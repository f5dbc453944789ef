"""Which process a lease belongs to, and whether that process is still there.

A pid alone is not enough: it is used again. With the time at which the process started and the
boot of the machine it names one process for ever. Where the system does not tell them (elsewhere
than on Linux), the pid alone decides.
"""

import os
from pathlib import Path

from msgspec import Struct

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19
"""Place of the start time in ``/proc/PID/stat``, counted behind the command's name (proc(5))."""


class Owner(Struct, frozen=True):
    """One process of one machine."""

    pid: int
    started: str = ""
    """Clock ticks between the boot and its start; empty where the system does not tell."""
    boot: str = ""
    """Changes with every boot; empty where the system does not tell."""
    host: str = ""

    @classmethod
    def here(cls) -> "Owner":
        """Return this process."""
        pid = os.getpid()
        return cls(pid, _started(pid) or "", _boot(), _host())

    @property
    def elsewhere(self) -> bool:
        """Whether it is a process of another machine, of which nothing can be known."""
        return self.host != _host() and self.boot != _boot()

    def is_running(self) -> bool:
        """Say whether the process is still there; one of another machine counts as there."""
        if self.elsewhere:
            return True
        if self.boot != _boot():
            return False
        if self.started:
            return _started(self.pid) == self.started
        return _exists(self.pid)


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _boot() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """Return when a process started; None when there is none, or it is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[_START_FIELD]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
