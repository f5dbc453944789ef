"""The user's record of trusted workspaces, one private JSON file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from hub.config.paths import write_private
from hub.core.errors import ConfigError

_VERSION = 1


class TrustRecord(Struct, frozen=True):
    """One workspace that the user trusts."""

    workspace: str
    """Absolute path without symbolic links."""
    digest: str
    """Digest of the parts that were agreed to."""
    at: float
    """Seconds since 1970."""
    parts: tuple[str, ...] = ()
    """What was agreed to, one line each."""


class TrustStore:
    """Reads and writes the records; the file does not exist before the first one."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "trust.json"
        """Where the records are."""

    def is_trusted(self, workspace: Path, digest: str) -> bool:
        """Say whether the user trusts a workspace with exactly these parts.

        Raises:
            ConfigError: the records cannot be read.
        """
        record = self._records().get(_key(workspace))
        return record is not None and record.digest == digest

    def trust(
        self, workspace: Path, digest: str, *, parts: Sequence[str] = (), at: float
    ) -> TrustRecord:
        """Record that the user trusts a workspace as it is now.

        Raises:
            ConfigError: the records cannot be read or written.
        """
        record = TrustRecord(_key(workspace), digest, at, tuple(parts))
        self._write({**self._records(), record.workspace: record})
        return record

    def revoke(self, workspace: Path) -> bool:
        """Forget a workspace; say whether it was trusted.

        Raises:
            ConfigError: the records cannot be read or written.
        """
        records = self._records()
        if records.pop(_key(workspace), None) is None:
            return False
        self._write(records)
        return True

    def show(self) -> list[TrustRecord]:
        """Return all records, by workspace.

        Raises:
            ConfigError: the records cannot be read.
        """
        return [record for _, record in sorted(self._records().items())]

    def _records(self) -> dict[str, TrustRecord]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise self._unusable(f"it is of version {data['version']!r}")
            return {record.workspace: record for record in map(_record, data["workspaces"])}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._unusable(f"{type(error).__name__}: {error}") from None

    def _write(self, records: dict[str, TrustRecord]) -> None:
        data = {"version": _VERSION, "workspaces": to_builtins(list(records.values()))}
        try:
            write_private(self.path, json.dumps(data, indent=2) + "\n")
        except OSError as error:
            raise ConfigError(
                f"cannot write the trust records: {error.strerror}", where=str(self.path)
            ) from None

    def _unusable(self, reason: str) -> ConfigError:
        return ConfigError(
            f"the trust records cannot be read: {reason}",
            where=str(self.path),
            remedy="Remove the file; workspaces then have to be trusted anew.",
        )


def _record(data: Any) -> TrustRecord:
    workspace, digest, at = data["workspace"], data["digest"], float(data["at"])
    if not isinstance(workspace, str) or not isinstance(digest, str):
        raise TypeError("a record has no workspace or digest")
    return TrustRecord(workspace, digest, at, tuple(map(str, data["parts"])))


def _key(workspace: Path) -> str:
    return str(workspace.resolve())
