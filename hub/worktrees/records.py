"""What is kept of a job with a work tree of its own: a record and a patch, in a private folder."""

import shutil
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from hub.config.paths import write_private
from hub.core.changes import ChangedFile, Changes
from hub.core.errors import UsageError
from hub.sessions.owner import Owner

JOBS = "jobs"
"""Folder of the records in the state folder."""
TREES = "worktrees"
"""Folder of the work trees in the state folder."""

State = Literal["making", "open", "saved"]
"""``making``: nothing worked there yet. ``open``: its changes are only in the work tree."""


class Record(Struct, frozen=True):
    """One job with a work tree of its own."""

    job: str
    session: str
    """The child's session."""
    agent: str
    workspace: str
    """The folder from which the work tree was made."""
    top: str
    """The top of its repository's work tree."""
    common: str
    """The repository itself, its folder ``.git``."""
    prefix: str
    """The workspace as seen from the top; empty when it is the top."""
    tree: str
    """Where the work tree is, or was."""
    owner: Owner
    """The process that works there."""
    base: str = ""
    """The commit that holds what the child found."""
    state: State = "making"
    result: str = ""
    """The tree of what the child left, once it is saved."""
    files: tuple[ChangedFile, ...] = ()
    """What was changed, once it is saved."""
    incomplete: str = ""
    """Why the patch does not hold everything; the work tree is kept then."""
    applied: float = 0.0
    """When the changes were applied, in seconds since 1970; 0 when they were not."""

    @property
    def changes(self) -> Changes:
        """What was changed, as its parent is told."""
        return Changes(self.job, self.files, incomplete=self.incomplete)

    @property
    def missing(self) -> str:
        """What the patch lacks and where that is; empty when it has everything."""
        return self.incomplete and f"the patch lacks something: {self.incomplete}; see {self.tree}"

    @property
    def working_folder(self) -> Path:
        """The folder of the work tree that stands for the workspace."""
        return Path(self.tree) / self.prefix


class Records(Struct, frozen=True):
    """The records in one state folder."""

    state: Path

    def folder(self, job: str) -> Path:
        """Return the folder of a job; it need not exist."""
        return self.state / JOBS / job

    def patch(self, job: str) -> Path:
        """Return the file with a job's changes."""
        return self.folder(job) / "changes.patch"

    def index(self, job: str) -> Path:
        """Return the file by which the work tree of a job is compared with its base."""
        return self.folder(job) / "index"

    def tree(self, job: str) -> Path:
        """Return where the work tree of a job belongs."""
        return self.state / TREES / job

    @property
    def lock(self) -> Path:
        """The file that stands for the right to settle what dead processes left."""
        return self.state / JOBS / ".lock"

    def write(self, record: Record) -> Record:
        """Store a record in one step."""
        write_private(self.folder(record.job) / "job.json", msgspec.json.encode(record).decode())
        return record

    def read(self, job: str) -> Record | None:
        """Return a job's record; None when there is none, or it cannot be read."""
        try:
            return msgspec.json.decode((self.folder(job) / "job.json").read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError):
            return None

    def all(self) -> list[Record]:
        """Return every record, the oldest first."""
        try:
            names = sorted(entry.name for entry in (self.state / JOBS).iterdir())
        except OSError:
            return []
        found = (self.read(name) for name in names if not name.startswith("."))
        return [record for record in found if record is not None]

    def find(self, job: str) -> Record:
        """Return the record that an id, or the beginning of one, names.

        Raises:
            UsageError: none fits, or several do.
        """
        fitting = [record for record in self.all() if job and record.job.startswith(job)]
        exact = [record for record in fitting if record.job == job]
        if len(exact or fitting) == 1:
            return (exact or fitting)[0]
        if not fitting:
            raise UsageError(
                f"no changes of a job {job!r} are kept",
                remedy="hub jobs list shows the jobs and which of them have changes.",
            )
        raise UsageError(
            f"several jobs begin with {job!r}: {', '.join(r.job for r in fitting[:5])}",
            remedy="Give more of the id.",
        )

    def drop(self, job: str) -> None:
        """Delete all that is kept of a job."""
        shutil.rmtree(self.folder(job), ignore_errors=True)
