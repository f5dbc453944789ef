"""What the tests of the command line share."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hub.core import events as ev

GOLDEN = Path(__file__).parent / "golden"
START = 1_000_000.0


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare text with a file of tests/cli/golden; HUB_UPDATE_GOLDEN=1 writes the files."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("HUB_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


@dataclass
class Story:
    """Events of an invented run, in order, with times in seconds from its start."""

    events: list[Any] = field(default_factory=list)

    def add(self, kind: type[ev.Event], at: float, agent: str = "lead", /, **fields: Any) -> None:
        """Add an event of an agent's session."""
        event = kind(session=f"s-{agent}", seq=1, at=START + at, agent=agent, turn=1, **fields)
        self.events.append(event)

    def begin(self, at: float = 0.0, agent: str = "lead", role: str = "lead") -> None:
        """Let an agent start its turn."""
        parent = "s-lead" if "/" in agent else ""
        self.add(
            ev.SessionStarted,
            at,
            agent,
            role=role,
            model="script:team",
            workspace="ws",
            parent=parent,
        )
        self.add(ev.TurnStarted, at, agent)

    def say(self, at: float, agent: str, text: str, *calls: ev.Call) -> None:
        """Let an agent answer, with calls or without, at the price of 1,200 tokens."""
        finish = "tool_calls" if calls else "stop"
        self.add(ev.AssistantMessageEvent, at, agent, text=text, calls=list(calls), finish=finish)
        self.add(ev.UsageEvent, at, agent, input_tokens=1000, output_tokens=200)

    def call(self, at: float, agent: str, call_id: str, name: str, arguments: str) -> None:
        """Let an agent's call begin."""
        self.add(ev.ToolCallEvent, at, agent, call_id=call_id, name=name, arguments=arguments)

    def dispatch(self, at: float, number: int, role: str, task: str) -> str:
        """Let the lead dispatch a child; returns the child's path."""
        child = f"lead/{role}#{number}"
        self.add(
            ev.JobStarted,
            at,
            job=f"j-{number}",
            role=role,
            task=task,
            call_id=f"d{number}",
            child=f"s-{child}",
            child_agent=child,
            depth=1,
        )
        return child

    def finish(self, at: float, agent: str = "lead", outcome: str = "done", **more: Any) -> None:
        """Let an agent's turn end."""
        fields = {"stop_reason": "completed", "steps": 2, "input_tokens": 2000, **more}
        self.add(ev.TurnDone, at, agent, outcome=outcome, **fields)


@pytest.fixture
def story() -> Story:
    """An empty story."""
    return Story()


@dataclass
class Terminal:
    """A program on a pseudo-terminal of 80 columns and 24 lines."""

    process: "subprocess.Popen[bytes]"
    master: int
    seen: bytes = b""

    def read_until(self, pattern: bytes, timeout: float = 20.0) -> bytes:
        """Read until the output matches; fails when it does not in time."""
        deadline = time.monotonic() + timeout
        while not re.search(pattern, self.seen):
            if not self._read_some(deadline):
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
        return self.seen

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.master, keys)

    def end(self, timeout: float = 20.0) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + timeout
        while self._read_some(deadline):
            pass
        return self.process.wait(timeout=timeout)

    def _read_some(self, deadline: float) -> bool:
        left = max(deadline - time.monotonic(), 0)
        if not select.select([self.master], [], [], left)[0]:
            raise AssertionError(f"timed out after {self.seen!r}")
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Start Python code, or a module with arguments, on a pseudo-terminal."""
    opened: list[Terminal] = []

    def start(
        *arguments: str,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdout: Any = None,
    ) -> Terminal:
        master, slave = pty.openpty()
        subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=slave, check=True)
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=slave,
            stdout=slave if stdout is None else stdout,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", **(env or {})},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)
        opened.append(Terminal(process, master))
        return opened[-1]

    yield start
    for one in opened:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        os.close(one.master)


CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HARMLESS = re.compile(
    rb"\x1b\[(\d+(;\d+)*)?m"  # colours
    rb"|\x1b\[\d*[AK]|\x1b\[2K"  # one line up, erase this line
    rb"|\x1b\[\?25[lh]"  # cursor off and on
)


@pytest.fixture
def hostile() -> Callable[[bytes], str]:
    """Find what a terminal would obey in some output beyond what the live tree needs."""

    def find(output: bytes) -> str:
        text = HARMLESS.sub(b"", output).decode("utf-8")
        return "".join(char for char in text if CONTROL.match(char))

    return find
