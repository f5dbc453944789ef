"""Collects real tool lists for the search benchmark: ``python -m bench.collect_tools [NAME…]``.

Each public server of ``tool_servers.json`` is installed at its pinned version into a folder of its
own below ``.third-party/``, started without credentials, asked for its tools by the hub's own pool,
and ended. What they say goes to ``.third-party/tool-lists/``, which git ignores: descriptions are
their authors' text. A server that is there already is passed over; one that fails is named, and
the others go on.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
from msgspec import to_builtins

from hub.connections.pool import ServerPool
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.core.servers import ServerSpec

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
INSTALLED = ROOT / ".third-party" / "tool-servers"
LISTS = ROOT / ".third-party" / "tool-lists"
SERVERS: Mapping[str, Mapping[str, Any]] = json.loads(
    (HERE / "tool_servers.json").read_text(encoding="utf-8")
)
PATIENCE = 600
"""Seconds for one installation."""
_QUIET_NPM = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_QUIET_PIP = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-compile")


def install(name: str) -> list[str]:
    """Install a server if need be and return the command that starts it.

    Raises:
        RuntimeError: it cannot be installed, or has no such program.
    """
    entry = SERVERS[name]
    folder = INSTALLED / name
    folder.mkdir(parents=True, exist_ok=True)
    return [*(_node(entry, folder) if "npm" in entry else _python(entry, folder))]


def _node(entry: Mapping[str, Any], folder: Path) -> Iterator[str]:
    package = entry["npm"]
    at = folder / "node_modules" / package[: package.rindex("@")]
    if not at.is_dir():
        (folder / "package.json").write_text("{}", encoding="utf-8")
        _run(["npm", "install", *_QUIET_NPM, package], folder)
    programs = json.loads((at / "package.json").read_text(encoding="utf-8")).get("bin", {})
    if isinstance(programs, str):
        programs = {package: programs}
    wanted = entry.get("bin") or next(iter(programs), "")
    if wanted not in programs:
        raise RuntimeError(f"{package} has no program {wanted!r}; it has {', '.join(programs)}")
    yield str(shutil.which("node"))
    yield str(at / programs[wanted])


def _python(entry: Mapping[str, Any], folder: Path) -> Iterator[str]:
    package = entry["pypi"]
    programs = folder / "bin"
    done = folder / "installed"
    if not done.exists():
        _run([sys.executable, "-m", "venv", str(folder)], folder)
        _run([str(programs / "pip"), "install", *_QUIET_PIP, package], folder)
        done.write_text(package, encoding="utf-8")
    wanted = programs / entry.get("bin", package.partition("==")[0])
    if not wanted.exists():
        raise RuntimeError(f"{package} has no program {wanted.name!r}")
    yield str(wanted)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} …: {(done.stderr or done.stdout)[-400:]}")


async def collect(name: str, command: list[str]) -> int:
    """Start a server, keep what it lists, and return how many tools there are.

    Raises:
        RuntimeError: it does not start or does not list.
    """
    entry = SERVERS[name]
    spec = ServerSpec(
        name,
        "stdio",
        command=command[0],
        args=(*command[1:], *entry.get("args", ())),
        env=entry.get("env", {}),
        start_timeout=120,
    )
    home = INSTALLED / name / "home"
    home.mkdir(exist_ok=True)
    failure = ""
    async with ServerPool(
        [spec],
        workspace=home,
        env={**os.environ, "HOME": str(home)},
        resolve=lambda spec: spec,
        emit=lambda event: None,
        clock=SystemClock(),
    ) as pool:
        try:
            listing = await pool.listing(name)
        except ServerError as error:
            failure = str(error)
    if failure:
        raise RuntimeError(failure)
    LISTS.mkdir(parents=True, exist_ok=True)
    kept = {"version": listing.version, "tools": [to_builtins(tool) for tool in listing.tools]}
    text = json.dumps(kept, ensure_ascii=False, indent=1)
    (LISTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return len(listing.tools)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.collect_tools", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these, and again")
    given = parser.parse_args()
    failed = 0
    for name in given.names or SERVERS:
        if not given.names and (LISTS / f"{name}.json").exists():
            continue
        try:
            count = anyio.run(collect, name, install(name))
            print(f"{name}: {count} tools", flush=True)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
