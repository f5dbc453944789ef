"""How the work of a child is accepted, and what the host found when it looked at a report."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

AcceptanceKind = Literal["none", "attested", "command"]

KINDS: tuple[AcceptanceKind, ...] = ("none", "attested", "command")
"""From the one that asks least."""


class Acceptance(Struct, frozen=True):
    """What has to hold before the report of a child counts."""

    kind: AcceptanceKind = "none"
    command: str = ""
    """Shell command that the host runs in the workspace; its exit code 0 accepts the work. Empty
    where the kind is ``command``: it is withheld until the workspace is trusted."""
    timeout: float = 120.0
    """Seconds that the command may take."""


class Verdict(Struct, frozen=True):
    """What was checked of a report, and how that ended."""

    kind: AcceptanceKind
    passed: bool | None = None
    """None where nothing was checked; ``reason`` says why."""
    exit_code: int | None = None
    """Of the command; None where none ran to its end."""
    output_tail: str = ""
    """The end of what the command wrote."""
    reason: str = ""
    """Why the command did not run, or did not come to its end."""

    def as_dict(self) -> dict[str, Any]:
        """Return what is known, for JSON; ``passed`` is always there."""
        full = {
            "exit_code": self.exit_code,
            "output_tail": self.output_tail,
            "reason": self.reason,
        }
        given = {key: value for key, value in full.items() if value not in (None, "")}
        return {"kind": self.kind, "passed": self.passed, **given}


class FileVersion(Struct, frozen=True):
    """One file of a report as it was when the report came."""

    path: str
    """As the child wrote it."""
    size: int
    """In bytes."""
    mtime: float
    """Seconds since 1970."""
    sha256: str = ""
    """Of the content; empty for a folder and for a file that is too large to read."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        known = {"path": self.path, "size": self.size, "mtime": self.mtime}
        return known | ({"sha256": self.sha256} if self.sha256 else {})


class Checked(Struct, frozen=True):
    """What the host found when it looked at a report."""

    verdict: Verdict | None = None
    """None where the role asks for no acceptance."""
    files: tuple[FileVersion, ...] = ()
    """The files that the report names and that are there."""
    missing: tuple[str, ...] = ()
    """Those that are not there, or not inside of the workspace."""

    @property
    def accepted(self) -> bool:
        """Whether nothing that was checked speaks against the report."""
        return self.verdict is None or self.verdict.passed is not False

    def as_dict(self) -> dict[str, Any]:
        """Return what a parent is told beside the report, for JSON."""
        told: dict[str, Any] = {}
        if self.verdict is not None:
            told |= {"accepted": self.verdict.passed, "acceptance": self.verdict.as_dict()}
        if self.missing:
            told["files_missing"] = list(self.missing)
        if self.files:
            told["file_versions"] = [file.as_dict() for file in self.files]
        return told


UNCHECKED = Checked()
"""Of a report that nobody looked at."""

RunCommand = Callable[[Acceptance, Path], Awaitable[Verdict]]
"""Runs the command of an acceptance in a folder, and says how that ended."""


class Duty(Struct, frozen=True):
    """What a child owes beside its report, and where its files are looked for."""

    workspace: Path
    acceptance: Acceptance = field(default_factory=Acceptance)
    run: RunCommand | None = None
    """None where no command may run; the verdict then says so."""
