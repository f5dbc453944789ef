"""What is known of each server's last life, for whoever looks without starting anything.

One JSON file for each launch spec in ``servers/`` of the state folder, written by whatever process
runs the server; beside it a log of the server's standard error, and the request for a restart.
Nothing here needs the MCP library.
"""

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from hub.core.servers import ServerSpec

FOLDER = "servers"
LOG_LIMIT = 1024 * 1024
"""Bytes of a log after which it becomes the older of two."""
A_WHILE = 2.0
"""Seconds after which a start that came to nothing says something of the server."""
ALIVE = ("starting", "warming", "connected", "idle")
"""States in which a hub has, or would have, a process or session of the server."""


class Record(Struct, frozen=True):
    """One server as the process that ran it last knew it; times are seconds since 1970, 0 never."""

    name: str
    fingerprint: str = ""
    transport: str = ""
    state: str = ""
    """discovered, starting, warming, connected, idle, stopped, failed or crash-loop."""
    error: str = ""
    """Why the latest start failed or the connection ended; values of secrets are masked."""
    stderr: str = ""
    """The last lines that it wrote to standard error, masked."""
    exit_code: int | None = None
    noise: int = 0
    """Lines of its standard output that were no messages."""
    first_noise: str = ""
    """The first of them, masked."""
    protocol: str = ""
    """Protocol version that was spoken the last time."""
    greeting: str = ""
    """Protocol version to greet it with the next time; empty when it has to be asked."""
    version: str = ""
    """Version that the server gave itself."""
    tools: int = 0
    prompts: int = 0
    resources: int = 0
    started: float = 0.0
    connected: float = 0.0
    ended: float = 0.0
    used: float = 0.0
    """When a call last ended, as far as it was known when the record was written."""
    starts: int = 0
    """Starts in the minute before the record was written."""
    retry_at: float = 0.0
    """In a crash loop, when the next try is possible."""
    pid: int = 0
    """Process of the hub that wrote the record."""
    written: float = 0.0

    @property
    def current(self) -> str:
        """The state, unless the hub that wrote it has ended without a word: then ``stopped``."""
        gone = self.state in ALIVE and not _is_running(self.pid)
        return "stopped" if gone else self.state

    @property
    def came_to_nothing(self) -> bool:
        """Whether the latest start failed, or was given up after a while."""
        tried = bool(self.error) or self.ended - self.started > A_WHILE
        return tried and self.started > self.connected


class Records(Protocol):
    """What a pool keeps of its servers, and what others ask of it meanwhile."""

    def write(self, spec: ServerSpec, record: Record) -> None:
        """Replace a server's record; a failure to write is no fault of the server."""
        ...

    def read(self, spec: ServerSpec) -> Record | None:
        """Return what is known of a server; None when it was never started."""
        ...

    def asked(self, spec: ServerSpec) -> int:
        """Return a mark that changes whenever somebody asks for a restart of the server."""
        ...

    def hear(self, spec: ServerSpec, text: str) -> None:
        """Append what the server wrote to standard error, masked, to its log."""
        ...


class FileRecords:
    """Keeps everything in the state folder, readable by its owner only."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._paths: dict[tuple[str, str], Path] = {}
        self._others: dict[str, Record | None] = {}
        """What other hubs had written when we first wrote, by fingerprint."""

    def write(self, spec: ServerSpec, record: Record) -> None:
        """Replace a server's record in one step.

        When we stop a server that another hub still runs, that hub's record comes back.
        """
        fingerprint = spec.fingerprint()
        whole = msgspec.structs.replace(
            record, fingerprint=fingerprint, pid=os.getpid(), written=time.time()
        )
        if fingerprint not in self._others:
            self._others[fingerprint] = read_record(self._state, spec)
        other = self._others[fingerprint]
        if record.state == "stopped" and other is not None and other.pid != os.getpid():
            whole = other if other.current in ALIVE else whole
        with suppress(OSError):
            _replace(record_path(self._state, spec), msgspec.json.encode(whole))

    def read(self, spec: ServerSpec) -> Record | None:
        """Return what is known of a server; None when it was never started."""
        return read_record(self._state, spec)

    def asked(self, spec: ServerSpec) -> int:
        """Return a mark that changes whenever somebody asks for a restart of the server."""
        try:
            return self._path(spec, "restart").stat().st_mtime_ns
        except OSError:
            return 0

    def hear(self, spec: ServerSpec, text: str) -> None:
        """Append to the server's log; of two files of 1 MB, the older is given up."""
        path = self._path(spec, "log")
        with suppress(OSError):
            file = _open_log(path)
            try:
                if os.fstat(file).st_size > LOG_LIMIT:
                    path.replace(path.with_name(f"{path.name}.1"))
                    os.close(file)
                    file = _open_log(path)
                os.write(file, text.encode("utf-8", "replace"))
            finally:
                os.close(file)

    def _path(self, spec: ServerSpec, ending: str) -> Path:
        path = self._paths.get((spec.name, ending))
        if path is None:
            path = record_path(self._state, spec).with_suffix(f".{ending}")
            self._paths[spec.name, ending] = path
        return path


def record_path(state: Path, spec: ServerSpec) -> Path:
    """Return where the record of a server is kept."""
    return state / FOLDER / f"{spec.fingerprint()}.json"


def log_paths(state: Path, spec: ServerSpec) -> tuple[Path, Path]:
    """Return where a server's standard error is kept: the older part, then the newer one."""
    log = record_path(state, spec).with_suffix(".log")
    return log.with_name(f"{log.name}.1"), log


def read_record(state: Path, spec: ServerSpec) -> Record | None:
    """Return what is known of a server of this launch spec; None when it was never started."""
    try:
        record = msgspec.json.decode(record_path(state, spec).read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return msgspec.structs.replace(record, name=spec.name)


def request_restart(state: Path, spec: ServerSpec) -> None:
    """Ask every running hub to start a server anew, and to forget how often it has failed.

    Raises:
        OSError: the request cannot be left.
    """
    path = record_path(state, spec).with_suffix(".restart")
    _replace(path, f"{time.time():.3f}\n".encode())


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _open_log(path: Path) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, flags, 0o600)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return pid > 0
