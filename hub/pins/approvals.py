"""The user's record of approved servers, one private JSON file.

An approval speaks of one server of one project as it is launched now. It is never read from a
project, so that no project can approve itself.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from hub.config.layer_names import FOREIGN_LAYERS, PROJECT_LAYERS
from hub.config.paths import write_private
from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec

_VERSION = 1


class Approval(Struct, frozen=True):
    """One server that the user approved."""

    server: str
    fingerprint: str
    """Fingerprint of what was launched or reached."""
    project: str
    """Folder of the project in which it holds, absolute and without links; empty: everywhere."""
    at: float
    """Seconds since 1970."""
    launched: str
    """What was agreed to, in words."""
    beside: str = ""
    """Digest of what the project's file says of it beside the launch; empty for nothing."""


class Approvals:
    """Reads and writes the records; the file does not exist before the first one."""

    def __init__(self, state: Path) -> None:
        self.path = state / "approvals.json"
        """Where the records are."""

    def find(self, server: str, project: Path) -> Approval | None:
        """Return the record of a server that holds in a project, whatever it launches.

        Raises:
            ConfigError: the records cannot be read.
        """
        records = self._records()
        return records.get((server, _key(project))) or records.get((server, ""))

    def approves(self, spec: ServerSpec, project: Path, beside: str = "") -> bool:
        """Say whether a server is approved exactly as it is launched now.

        Raises:
            ConfigError: the records cannot be read.
        """
        found = self.find(spec.name, project)
        return (
            found is not None and found.fingerprint == spec.fingerprint() and found.beside == beside
        )

    def approve(
        self, spec: ServerSpec, project: Path | None, *, beside: str = "", at: float
    ) -> Approval:
        """Record that the user approves a server, in a project or (None) everywhere.

        Raises:
            ConfigError: the records cannot be read or written.
        """
        record = Approval(
            server=spec.name,
            fingerprint=spec.fingerprint(),
            project="" if project is None else _key(project),
            at=at,
            launched=launch_words(spec),
            beside=beside,
        )
        self._write({**self._records(), (record.server, record.project): record})
        return record

    def revoke(self, server: str, project: Path) -> bool:
        """Forget a server; say whether there was a record.

        Raises:
            ConfigError: the records cannot be read or written.
        """
        records = self._records()
        found = [key for key in ((server, _key(project)), (server, "")) if key in records]
        for key in found:
            del records[key]
        if found:
            self._write(records)
        return bool(found)

    def show(self) -> list[Approval]:
        """Return all records, by server and project.

        Raises:
            ConfigError: the records cannot be read.
        """
        return [record for _, record in sorted(self._records().items())]

    def _records(self) -> dict[tuple[str, str], Approval]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise self._unusable(f"it is of version {data['version']!r}")
            records = [_record(entry) for entry in data["servers"]]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._unusable(f"{type(error).__name__}: {error}") from None
        return {(record.server, record.project): record for record in records}

    def _write(self, records: dict[tuple[str, str], Approval]) -> None:
        ordered = [record for _, record in sorted(records.items())]
        data = {"version": _VERSION, "servers": to_builtins(ordered)}
        try:
            write_private(self.path, json.dumps(data, indent=2) + "\n")
        except OSError as error:
            raise ConfigError(
                f"cannot write the approvals: {error.strerror}", where=str(self.path)
            ) from None

    def _unusable(self, reason: str) -> ConfigError:
        return ConfigError(
            f"the approvals cannot be read: {reason}",
            where=str(self.path),
            remedy="Remove the file; servers then have to be approved anew.",
        )


def needs_record(spec: ServerSpec) -> bool:
    """Say whether somebody else than the user wrote the entry, so that it needs an approval."""
    return spec.origin.layer in FOREIGN_LAYERS


def of_project(spec: ServerSpec) -> bool:
    """Say whether the entry came with a project, so that it means something only there."""
    return spec.origin.layer in PROJECT_LAYERS


def launch_words(spec: ServerSpec) -> str:
    """Say what is started or reached, on one line; values of variables and headers are left out."""
    if spec.transport == "memory":
        return f"the hub's own server {spec.command}"
    words = [spec.url or json.dumps([spec.command, *spec.args], ensure_ascii=False)]
    if spec.cwd:
        words.append(f"in {spec.cwd}")
    if spec.env:
        words.append(f"with the variables {', '.join(sorted(spec.env))}")
    if spec.headers:
        words.append(f"with the headers {', '.join(sorted(spec.headers))}")
    return " ".join(words)


def digest_of(said: Any) -> str:
    """Return 16 hex digits over JSON values, empty for nothing."""
    if not said:
        return ""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _record(entry: Any) -> Approval:
    record = Approval(**{**entry, "at": float(entry["at"])})
    texts = (record.server, record.fingerprint, record.project, record.launched, record.beside)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a record holds something that is no text")
    return record


def _key(project: Path) -> str:
    return str(project.resolve())
