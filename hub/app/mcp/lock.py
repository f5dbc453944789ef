"""Writes ``hub.lock`` from servers that are live and approved, and checks them against it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.app.mcp.compare import Bench, Comparison, accept, compare_servers
from hub.config.layer_names import CLIENT_LAYERS
from hub.pins.lockfile import LOCK, Lock, Locked, locked, portable_launch, read_lock, write_lock
from hub.pins.packages import package_of, version_warning
from hub.pins.words import change_line

CHECK_CODES: Mapping[int, str] = MappingProxyType({
    0: "every server is as hub.lock says",
    1: "a server, or its launch, differs from hub.lock or from what was approved",
    3: "a server is not approved; it was not started",
    4: "hub.lock is missing, or does not speak of a server",
    5: "a server could not be reached",
})
"""Exit codes of ``hub mcp lock``; the first that applies of 3, 5, 4, 1 is taken."""
_ORDER = (3, 5, 4, 1)


class Finding(Struct, frozen=True):
    """What came of one server."""

    server: str
    code: int
    """As in ``CHECK_CODES``."""
    lines: tuple[str, ...] = ()
    """What is wrong, one line each."""
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return {
            "server": self.server,
            "code": self.code,
            "problems": list(self.lines),
            "warnings": list(self.warnings),
        }


class LockReport(Struct, frozen=True):
    """What came of writing or checking a lock."""

    path: str
    findings: tuple[Finding, ...]
    written: bool = False
    changed: bool = False
    """The file is another one than before."""

    @property
    def code(self) -> int:
        """The exit code."""
        codes = {finding.code for finding in self.findings}
        return next((code for code in _ORDER if code in codes), 0)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "path": self.path,
            "code": self.code,
            "written": self.written,
            "changed": self.changed,
            "servers": [finding.as_dict() for finding in self.findings],
        }


async def write(bench: Bench, servers: Sequence[str] = ()) -> LockReport:
    """Lock the servers, all or those named, as they are now; nothing unless all can be.

    A server that was never pinned is pinned with it. With names, entries of others stay.

    Raises:
        UsageError: there is no server of a name.
        ConfigError: the lock or pins cannot be written.
    """
    compared = await _compared(bench, servers)
    findings = tuple(_writable(found) for found in compared)
    before = bench.pins.lock
    report = LockReport(str(before.path), findings)
    if report.code:
        return report
    project = bench.setup.loaded.sources.project
    entries = dict(before.servers) if servers else {}
    for found in compared:
        if not found.pinned:
            accept(bench, found)
        entries[found.spec.name] = locked(found.spec, found.now, project)
    write_lock(replace(before, servers=entries))
    return replace(report, written=True, changed=read_lock(project).digest != before.digest)


async def check(bench: Bench, servers: Sequence[str] = ()) -> LockReport:
    """Compare the servers, all or those named, with the lock as it is; writes nothing.

    Raises:
        UsageError: there is no server of a name.
        ConfigError: the lock cannot be read.
    """
    project, lock = bench.setup.loaded.sources.project, bench.pins.lock
    compared = await _compared(bench, servers)
    findings = [_checked(found, lock, portable_launch(found.spec, project)) for found in compared]
    known = {found.spec.name for found in compared}
    if not servers:
        gone = (name for name in lock.servers if name not in known)
        findings += [Finding(name, 1, ("locked, and no source asks for it",)) for name in gone]
    return LockReport(str(lock.path), tuple(findings))


async def _compared(bench: Bench, servers: Sequence[str]) -> list[Comparison]:
    """Compare the named servers, or all but those of other clients' files in the user's home."""
    names = servers or [
        one.spec.name for one in bench.found if one.spec.origin.layer not in CLIENT_LAYERS
    ]
    return await compare_servers(bench, names) if names else []


def _writable(found: Comparison) -> Finding:
    """Say whether a server may be locked as it is."""
    name = found.spec.name
    if (blocked := _unasked(found)) is not None:
        return blocked
    lines = [change_line(change) for change in found.changes if change.held_back]
    lines += [f"tool {tool!r} cannot be compared" for tool in found.unreadable]
    if lines:
        lines.append(f"look at it and accept it first: hub mcp approve {name}")
    return Finding(name, 1 if lines else 0, tuple(lines), _warnings(found))


def _checked(found: Comparison, lock: Lock, launch: str) -> Finding:
    name = found.spec.name
    if (blocked := _unasked(found)) is not None:
        return blocked
    entry = lock.servers.get(name)
    if entry is None:
        text = "hub.lock does not speak of it" if lock.exists else f"there is no {LOCK}"
        return Finding(name, 4, (text,), _warnings(found))
    lines = _launch_lines(found, entry, launch)
    lines += [change_line(change) for change in found.lock_changes]
    lines += [f"tool {tool!r} cannot be compared" for tool in found.unreadable]
    return Finding(name, 1 if lines else 0, tuple(lines), _warnings(found))


def _unasked(found: Comparison) -> Finding | None:
    name = found.spec.name
    if not found.approved:
        return Finding(name, 3, (f"{found.approval}; see: hub mcp approve {name}", *found.launch))
    return Finding(name, 5, (found.error,)) if found.error else None


def _launch_lines(found: Comparison, entry: Locked, launch: str) -> list[str]:
    if entry.launch == launch:
        return []
    package = package_of(found.spec)
    now = package.as_dict() if package else None
    if now == entry.package:
        return ["it is launched otherwise than hub.lock says"]
    return [f"package {_package(entry.package)} → {_package(now)}"]


def _package(package: Mapping[str, Any] | None) -> str:
    if not package:
        return "(none)"
    return f"{package.get('name')}@{package.get('version') or 'latest'}"


def _warnings(found: Comparison) -> tuple[str, ...]:
    warning = version_warning(found.spec)
    return (warning,) if warning else ()
