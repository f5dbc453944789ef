"""Leftovers: how many processes are left of servers, and of all that they started, after a run.

The servers stand behind shells that ignore SIGTERM and the end of their input, and so does what
they start. Whatever belongs to the run carries a mark in its environment, so that nothing is
missed because it has another parent, group or session by now.
"""

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Figure, Goal
from bench.processes import Place, place, serving
from hub.testing.faulty.launch import faulty_command

MARK = "BENCH_RUN"
SECONDS = 20
"""Until everything has to be gone."""
PATIENCE = 60
LOOK = 0.02
SLOW = {"tool": "up__slow", "args": {"seconds": 600}}
ECHO = {"tool": "up__echo", "args": {"text": "hello"}}


@dataclass(frozen=True)
class Way:
    """One way in which a run ends."""

    signal: signal.Signals | None
    """What is sent to it; None lets it end by itself."""
    connecting: bool = False
    """Its only server never answers, so that it is still being connected."""


WAYS: Mapping[str, Way] = {
    "normal exit": Way(None),
    "SIGINT": Way(signal.SIGINT),
    "SIGTERM": Way(signal.SIGTERM),
    "SIGKILL": Way(signal.SIGKILL),
    "SIGINT while connecting": Way(signal.SIGINT, connecting=True),
    "SIGTERM while connecting": Way(signal.SIGTERM, connecting=True),
    "SIGKILL while connecting": Way(signal.SIGKILL, connecting=True),
}


@dataclass(frozen=True)
class Counts:
    """Processes that carried the mark of one run."""

    before: int
    """While it ran, the hub itself not counted."""
    left: int
    """Those that still ran, or were there as zombies of a living parent, when time was up."""
    seconds: float
    """Until the last one was gone."""


def measure(runs: int) -> Iterator[Figure]:
    """Count what is left after each way to end a run; the worst of all runs stands for it."""
    found: dict[str, list[Counts]] = {name: [] for name in WAYS}
    with place() as where:
        for _ in range(runs):
            for name, way in WAYS.items():
                found[name].append(count(where, way))
    left = {name: float(max(counts.left for counts in many)) for name, many in found.items()}
    took = {name: max(counts.seconds for counts in many) for name, many in found.items()}
    before = min(counts.before for many in found.values() for counts in many)
    title = f"processes left, of at least {before} that servers had started"
    yield Figure(title, "processes", left, [Goal(name, 0) for name in left])
    yield Figure("until the last of them is gone", "s", took)


def count(where: Place, way: Way) -> Counts:
    """Run a hub over two servers, or one that never answers, end it in one way, and count."""
    mark = f"{MARK}={secrets.token_hex(8)}"
    with serving(_script(way), where) as model:
        line = [sys.executable, "-m", "hub", "run", "go", "--mode", "bypass", *_servers(way, mark)]
        name, _, value = mark.partition("=")
        env = {**where.env, "OPENAI_BASE_URL": model.base_url, "HUB_MODEL": "scripted", name: value}
        with subprocess.Popen(
            line, cwd=where.workspace, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as hub:
            try:
                return _ended(hub, way, mark, where)
            finally:
                hub.kill()
                for pid in _marked(mark):
                    _kill(pid)


def _ended(hub: "subprocess.Popen[bytes]", way: Way, mark: str, where: Place) -> Counts:
    """End the hub once all its servers run, and wait for the last process of the run."""
    wanted = 1 if way.connecting else 2
    started = where.folder / f"started-{mark.partition('=')[2]}"
    seen: set[int] = set()

    def all_there() -> bool:
        seen.update(_marked(mark))
        lines = [
            path.read_text(encoding="utf-8") for path in where.folder.glob(f"{started.name}-*")
        ]
        called = way.connecting or way.signal is None or "call" in "".join(lines)
        ready = sum("spawned" in text for text in lines) == wanted
        return (ready and called) or hub.poll() is not None

    if not _until(all_there, PATIENCE) or (way.signal is not None and hub.poll() is not None):
        said = hub.stderr.read().decode() if hub.poll() is not None and hub.stderr else "too slow"
        raise RuntimeError(f"the servers did not come up: {said}")
    if way.signal is not None:
        hub.send_signal(way.signal)
    hub.wait(PATIENCE)
    began = time.perf_counter()
    seen.discard(hub.pid)
    _until(lambda: not _left(seen, mark), SECONDS)
    left = len(_left(seen, mark))
    return Counts(len(seen), left, time.perf_counter() - began)


def _script(way: Way) -> dict[str, Any]:
    call = ECHO if way.signal is None else SLOW
    return {"script": 1, "turns": [{"calls": [call]}, {"text": "Done."}]}


def _servers(way: Way, mark: str) -> Iterator[str]:
    """Yield the settings of the servers; each stands behind a shell that will not go."""
    name, _, value = mark.partition("=")
    for server in ("mute",) if way.connecting else ("up", "other"):
        knobs = ("ignore_eof", "ignore_term", "grandchild=session", *_more(server))
        command, arguments = faulty_command(*knobs, log=f"../started-{value}-{server}")
        program = shlex.join([command, *arguments])
        script = f"exec 3<&0; trap '' TERM INT HUP; {program} <&3 & sleep 600 & wait; wait"
        yield from ("--set", f"servers.{server}.command=sh")
        yield from ("--set", f"servers.{server}.args={json.dumps(['-c', script])}")
        yield from ("--set", f"servers.{server}.env.{name}={value}")


def _more(server: str) -> tuple[str, ...]:
    return ("mute",) if server == "mute" else ()


def _marked(mark: str) -> set[int]:
    """Return the processes that have the mark in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def _left(seen: set[int], mark: str) -> set[int]:
    """Return who is still there of those that were seen, and whoever else has the mark.

    A zombie counts unless it only waits for process 1, which is not ours.
    """
    return {pid for pid in seen if _is_there(pid)} | _marked(mark)


def _is_there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    state, parent = stat.rpartition(")")[2].split()[:2]
    return not (state in "ZX" and parent == "1")


def _until(condition: Callable[[], bool], limit: float) -> bool:
    end = time.perf_counter() + limit
    while not (held := condition()) and time.perf_counter() < end:
        time.sleep(LOOK)
    return held


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
