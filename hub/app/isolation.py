"""Jobs in git work trees of their own: made before the child starts, saved when it has ended."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from hub.config.paths import find_paths
from hub.connections.locking import file_lock
from hub.core.changes import Changes
from hub.core.errors import UsageError
from hub.core.jobs import Failure, Job, TurnResult
from hub.worktrees.making import Maker, Wanted
from hub.worktrees.records import TREES, Record, Records
from hub.worktrees.repository import no_isolation
from hub.worktrees.saving import recover, settle

SAVE_LIMIT = 120.0
"""Seconds that saving may take; what takes longer is saved when hub is opened the next time."""
LEAVE_LIMIT = 10.0
"""Seconds that the servers over a work tree have to end."""
LOCK_LIMIT = 60.0
"""Seconds that another process may take to save what dead ones left."""
LATER = "saving took too long; it is done when hub is opened the next time"
PLACE = (
    "You work in a git work tree of your own: {place}\n"
    "It began as a copy of what your parent sees, without files that git does not know. Your "
    "parent's files stay as they are; what you change here is handed over as a diff when you end. "
    "A file that git ignores is handed over only if your report names it."
)
"""What a child is told of its work tree."""


class Homes(Protocol):
    """The servers of a run, as far as they work in folders."""

    def enter(self, agent: str, workspace: Path) -> None:
        """Let an agent, and everybody below it, work in a folder of its own."""
        ...

    async def leave(self, agent: str) -> None:
        """End the servers over the folder of an agent."""
        ...


class Isolation(Struct):
    """The work trees of one run."""

    maker: Maker
    homes: Homes
    saved: dict[str, Changes] = field(default_factory=dict)
    """What jobs have changed that have ended, by their ids."""

    def refusal(self, workspace: Path) -> str:
        """Say why a child cannot have a work tree of its own; empty when it may."""
        return no_isolation(workspace)

    async def run(
        self, job: Job, workspace: Path, work: Callable[[Path], Awaitable[TurnResult]]
    ) -> TurnResult:
        """Run a job in the workspace of its parent, or in a work tree if it is to have one."""
        if not job.isolated:
            return await work(workspace)
        made = await self._made(job, workspace)
        if isinstance(made, TurnResult):
            return made
        self.homes.enter(job.agent, made.working_folder)
        result: TurnResult | None = None
        try:
            result = await work(made.working_folder)
        finally:
            with anyio.CancelScope(shield=True):
                self.saved[job.id] = await self._saved(made, result)
        return replace(result, changes=self.saved.pop(job.id))

    async def _made(self, job: Job, workspace: Path) -> Record | TurnResult:
        """Make the work tree of a job, or say how the job ended without one."""
        failure = Failure("cancelled", "it was stopped before it began")
        made: Record | TurnResult = TurnResult("cancelled", "parent_cancelled", error=failure)
        wanted = Wanted(job.id, job.session, job.agent, workspace, job.files)
        with job.cancel.scope():
            try:
                made = await self.maker.make(wanted)
            except UsageError as error:
                made = TurnResult("failed", "interrupted", error=Failure("isolation", str(error)))
        return made

    async def _saved(self, record: Record, result: TurnResult | None) -> Changes:
        """Save what was changed, once nothing writes there any more."""
        report = None if result is None else result.report
        with anyio.move_on_after(LEAVE_LIMIT):
            await self.homes.leave(record.agent)
        with anyio.move_on_after(SAVE_LIMIT):
            return await settle(
                self.maker.records,
                record,
                self.maker.environ,
                also=() if report is None else report.files,
            )
        return Changes(record.job, incomplete=LATER)


def place_of(job: Job, workspace: Path) -> str:
    """Return what a child is told of the folder in which it works; empty in the common one."""
    return PLACE.format(place=workspace) if job.isolated else ""


async def recovered(environ: Mapping[str, str] | None = None) -> Records:
    """Save what processes that have died left in work trees; return the records."""
    given = os.environ if environ is None else environ
    records = Records(find_paths(given).state)
    if not any((records.state / TREES).glob("*")):
        return records
    try:
        async with file_lock(records.lock, limit=LOCK_LIMIT):
            await recover(records, given)
    except (TimeoutError, OSError):
        return records
    return records


def changes_of(records: Records) -> Callable[[str], Changes | None]:
    """Return a look-up of what is kept of a job's changes."""

    def look(job: str) -> Changes | None:
        record = records.read(job)
        if record is None or not (record.state == "saved" or record.incomplete):
            return None
        return record.changes

    return look
