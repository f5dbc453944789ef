"""Processes: the model server, and what is measured against it."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import scripts

ROOT = Path(__file__).parents[1]
PATIENCE = 300
"""Seconds that any one process may take."""


@dataclass(frozen=True)
class Place:
    """A workspace, and a home that holds nothing but what the measured programs put there."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """Folder with a few small files."""
        return self.folder / "work"


@contextmanager
def place() -> Iterator[Place]:
    """Make a workspace and an empty home; both go at the end."""
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        kept = {key: value for key, value in os.environ.items() if not _is_setting(key)}
        env = kept | {f"XDG_{kind}_HOME": name for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
        env |= {"HOME": name, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
        (folder / "work").mkdir()
        scripts.write_files(folder / "work")
        yield Place(folder, env)


def _is_setting(key: str) -> bool:
    return key.startswith(("HUB_", "OPENAI_", "XDG_", "PYTHON"))


class Server:
    """A model server in a process of its own, so that its CPU is not counted."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.base_url = str(self._read())

    def tell(self, command: str) -> Any:
        """Send a command of ``bench.serving`` and return its answer."""
        if self._process.stdin is None:
            raise RuntimeError("the server has no standard input")
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        if self._process.stdout is None:
            raise RuntimeError("the server has no standard output")
        return json.loads(self._process.stdout.readline())


@contextmanager
def serving(script: Mapping[str, Any], where: Place) -> Iterator[Server]:
    """Serve a script while the block runs."""
    path = where.folder / "script.yaml"
    path.write_text(json.dumps(script), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "bench.serving", str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def seconds(command: Sequence[str], where: Place) -> float:
    """Return the wall time of a command from its start to its end."""
    return run(command, where)[0]


def program(name: str, server: Server, where: Place, *more: str) -> dict[str, Any]:
    """Run one of ``bench.programs`` against a server and return what it says of itself."""
    arguments = [server.base_url, "scripted", str(where.workspace), *more]
    _, output = run([sys.executable, "-m", f"bench.programs.{name}", *arguments], where)
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def run(command: Sequence[str], where: Place) -> tuple[float, str]:
    """Run a command and return how long it took and what it printed.

    The wait has no timeout, because Python would then poll, up to 50 ms too late; a thread kills
    what takes too long.
    """
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=where.workspace,
        env=where.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        output, errors = process.communicate()
        took = time.perf_counter() - started
        watchdog.cancel()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{errors}")
    return took, output
