"""What a job changed in a work tree of its own, as values."""

from typing import Any

from msgspec import Struct

MAX_PATHS = 50
"""Paths that a parent is told; the patch has them all."""


class ChangedFile(Struct, frozen=True):
    """One file of a patch."""

    path: str
    """As seen from the top of the repository."""
    insertions: int = 0
    """Lines; 0 for a binary file."""
    deletions: int = 0
    binary: bool = False


class Changes(Struct, frozen=True):
    """What one job changed; the patch is kept by the host."""

    job: str
    files: tuple[ChangedFile, ...] = ()
    diff: str = ""
    """The patch itself, where it is short text."""
    incomplete: str = ""
    """Why the patch does not hold everything; empty when it does."""

    @property
    def insertions(self) -> int:
        """Lines that were added."""
        return sum(file.insertions for file in self.files)

    @property
    def deletions(self) -> int:
        """Lines that were taken away."""
        return sum(file.deletions for file in self.files)

    @property
    def hint(self) -> str:
        """The command that shows the patch; empty when there is none."""
        return f"hub jobs diff {self.job}" if self.files or self.incomplete else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the changes for JSON; parts without a value are left out."""
        full: dict[str, Any] = {
            "files": len(self.files),
            "insertions": self.insertions,
            "deletions": self.deletions,
            "job": self.job,
            "paths": [file.path for file in self.files[:MAX_PATHS]],
            "hint": self.hint,
            "diff": self.diff,
            "incomplete": self.incomplete,
        }
        return {key: value for key, value in full.items() if value not in ("", [])}
