"""The process of the faulty MCP server: its log, its start, its signals, its end, its offspring."""

import json
import os
import signal
import sys
import threading
import time
from typing import Any, NoReturn

from hub.testing.faulty.knobs import Knobs

_OFFSPRING = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
ready, seconds, how = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
if how == "session":
    os.setsid()
os.write(ready, b".")
os.close(ready)
time.sleep(seconds)
"""


class EventLog:
    """Appends what happens to a file, one JSON object a line; without a path it keeps nothing."""

    def __init__(self, path: str | None) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._file = None if path is None else os.open(path, flags, 0o600)

    def write(self, event: str, **fields: Any) -> None:
        """Append one event in a single write, so that several processes can share the file."""
        if self._file is None:
            return
        record = {"event": event, "at": time.time(), "pid": os.getpid(), **fields}
        os.write(self._file, json.dumps(record).encode() + b"\n")


class Process:
    """What the server does as a process, apart from the protocol."""

    def __init__(self, knobs: Knobs, log: EventLog) -> None:
        self.knobs = knobs
        self.log = log

    def begin(self) -> None:
        """Carry out what is to happen before the first byte is read."""
        self.log.write("start", start=self.knobs.start)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        timer = threading.Timer(self.knobs.number("lifetime"), self.exit, (70, "lifetime"))
        timer.daemon = True
        timer.start()
        if self.knobs.on("exit_on_start"):
            self.crash(self.knobs.count("exit_on_start"), "cannot start: no licence file was found")
        if self.knobs.on("grandchild"):
            self.spawn(self.knobs.text("grandchild"))
        if self.knobs.on("stderr_flood"):
            self._flood_stderr(self.knobs.count("stderr_flood"))
        if self.knobs.on("slow_start"):
            time.sleep(self.knobs.number("slow_start"))

    def spawn(self, how: str) -> int:
        """Start a process that ignores SIGTERM and holds our pipes; returns its process id."""
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)  # noqa: FBT003 - the call takes no keywords
        arguments = [str(writer), str(self.knobs.number("lifetime")), how]
        command = [sys.executable, "-I", "-S", "-c", _OFFSPRING, *arguments]
        child = os.posix_spawn(sys.executable, command, os.environ)
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        self.log.write("spawned", child=child, how=how)
        return child

    def crash(self, code: int, reason: str) -> NoReturn:
        """Print the reason on stderr, as a dying server does, and exit at once."""
        os.write(2, f"faulty server: {reason}\n".encode())
        self.exit(code, reason)

    def exit(self, code: int, why: str) -> NoReturn:
        """Exit at once from whichever thread, with nothing but the log to tell of it."""
        self.log.write("exit", code=code, why=why)
        os._exit(code)

    def say(self, text: str) -> None:
        """Write to stdout at once."""
        os.write(1, text.encode())

    def linger(self) -> NoReturn:
        """Stay until the lifetime is over, deaf to everything but a signal."""
        while True:
            time.sleep(3600)

    def _signalled(self, number: int, _frame: object) -> None:
        ignored = number == signal.SIGTERM and self.knobs.on("ignore_term")
        self.log.write("signal", number=number, ignored=ignored)
        if not ignored:
            self.exit(128 + number, "signal")

    def _flood_stderr(self, size: int) -> None:
        line = b"faulty server: still warming up, please be patient with me\n"
        for _ in range(size // len(line) + 1):
            os.write(2, line)


def count_start(path: str) -> int:
    """Add this start to the file and return its number, counted from 1."""
    mark = f"{os.getpid()} {time.time_ns()}\n".encode()
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, mark)
        size = os.fstat(file).st_size
        return os.pread(file, size, 0).splitlines(keepends=True).index(mark) + 1
    finally:
        os.close(file)
