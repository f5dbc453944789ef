"""Start-up: how long until help is shown, and until the first model request has arrived."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import scripts
from bench.figures import Figure, Goal, from_runs
from bench.processes import Place, Server, place, seconds, serving

HUB = (sys.executable, "-c", "from hub.cli.main import main; main()")
"""What the console script does."""
REFERENCES = {
    "import typer, rich": (sys.executable, "-c", "import typer, rich"),
    "import openai": (sys.executable, "-c", "import openai"),
    "import mcp, openai": (sys.executable, "-c", "import mcp, openai"),
}


def measure(runs: int) -> Iterator[Figure]:
    """Time `hub --help` and `hub run` up to its first request, and look at its memory then."""
    helps: dict[str, list[float]] = {"import typer, rich": [], "hub --help": []}
    firsts: dict[str, list[float]] = {
        name: []
        for name in ("import openai", "import mcp, openai", "bare httpx2", "hub, warm", "hub, cold")
    }
    memory: dict[str, list[float]] = {"bare httpx2": [], "hub, warm": []}
    with place() as where, serving(scripts.waiting(), where) as server:
        first_request(where, server, HUB_RUN)
        for _ in range(runs):
            for name in ("import typer, rich",):
                helps[name].append(seconds(REFERENCES[name], where))
            helps["hub --help"].append(seconds((*HUB, "--help"), where))
            for name in ("import openai", "import mcp, openai"):
                firsts[name].append(seconds(REFERENCES[name], where))
            forget_caches(where)
            firsts["hub, cold"].append(first_request(where, server, HUB_RUN)[0])
            warm, resident = first_request(where, server, HUB_RUN)
            firsts["hub, warm"].append(warm)
            memory["hub, warm"].append(resident)
            bare, resident = first_request(where, server, bare_httpx(where, server))
            firsts["bare httpx2"].append(bare)
            memory["bare httpx2"].append(resident)
    yield from_runs("help", "s", helps, [Goal("hub --help", 3.0, "import typer, rich")])
    yield from_runs(
        "process start to first request",
        "s",
        firsts,
        [
            Goal("hub, warm", 1.2, "import openai"),
            Goal("hub, cold", 1.3, "import mcp, openai"),
        ],
    )
    yield from_runs("resident memory at the first request", "MB", memory)


HUB_RUN = (*HUB, "run", "--model", "scripted", "Say hello.")


def bare_httpx(where: Place, server: Server) -> tuple[str, ...]:
    arguments = (server.base_url, "scripted", str(where.workspace))
    return (sys.executable, "-m", "bench.programs.bare_httpx", *arguments)


def first_request(where: Place, server: Server, command: tuple[str, ...]) -> tuple[float, float]:
    """Start a command and return the seconds until its request arrives, and its memory in MB."""
    server.tell("reset")
    started = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=where.workspace,
        env={**where.env, "OPENAI_BASE_URL": server.base_url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            arrivals = server.tell("wait 1")
            if not arrivals:
                raise RuntimeError(f"no request came from: {' '.join(command)}")
            return arrivals[0] - started, resident_memory(process.pid)
        finally:
            process.kill()


def resident_memory(pid: int) -> float:
    """Return the resident memory of a process in MB; 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    lines = status.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def forget_caches(where: Place) -> None:
    """Delete what earlier runs have kept of the servers' tools."""
    shutil.rmtree(where.folder / "hub" / "catalog", ignore_errors=True)
