"""The jobs of stored sessions and what each changed in a work tree of its own."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from time import time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.app.isolation import LOCK_LIMIT, recovered
from hub.app.setup import store_path
from hub.config.paths import tidied
from hub.connections.locking import file_lock
from hub.core import events as ev
from hub.core.errors import UsageError
from hub.sessions.archive import SessionArchive
from hub.sessions.store import SqliteStore
from hub.worktrees.applying import Applied, apply, require_patch
from hub.worktrees.records import Record, Records
from hub.worktrees.removing import remove_tree

LOOKED_AT = 200
"""Sessions among which a job is looked for."""


class StoredJob(Struct, frozen=True):
    """One job that a session dispatched."""

    id: str
    role: str = ""
    agent: str = ""
    task: str = ""
    session: str = ""
    """The child's."""
    parent: str = ""
    """The session that dispatched it."""
    started: float = 0.0
    """Seconds since 1970."""
    outcome: str = ""
    """Empty while it has no end."""
    stop_reason: str = ""
    summary: str = ""
    """Of its report."""
    record: Record | None = None
    """What is kept of its changes; None where it had no work tree, or changed nothing."""

    @property
    def state(self) -> str:
        """Say what has become of the changes in one word; empty where there are none."""
        if self.record is None:
            return ""
        if self.record.incomplete:
            return "kept"
        if self.record.state != "saved":
            return "at work"
        return "applied" if self.record.applied else "saved"

    def as_dict(self) -> dict[str, Any]:
        """Return the job for JSON; ``changes`` is null where nothing is kept."""
        record = self.record
        changes: dict[str, Any] | None = None
        if record is not None:
            files = [
                {"path": f.path, "insertions": f.insertions, "deletions": f.deletions,
                 "binary": f.binary}
                for f in record.files
            ]  # fmt: skip
            changes = {
                "state": self.state,
                "files": files,
                "insertions": record.changes.insertions,
                "deletions": record.changes.deletions,
                "workspace": record.workspace,
                "top": record.top,
                "incomplete": record.incomplete,
                "tree": record.tree if record.incomplete or record.state != "saved" else "",
                "applied": record.applied or None,
            }
        return {
            "job": self.id,
            "role": self.role,
            "agent": self.agent,
            "task": self.task,
            "session": self.session,
            "parent": self.parent,
            "started": self.started,
            "outcome": self.outcome or None,
            "stop_reason": self.stop_reason or None,
            "summary": self.summary,
            "changes": changes,
        }


async def list_jobs(
    limit: int,
    *,
    workspace: Path | None = None,
    changed_only: bool = False,
    environ: Mapping[str, str] | None = None,
) -> list[StoredJob]:
    """Return the jobs of the sessions that were used last, and all whose changes are kept.

    The latest is first.

    Raises:
        StoreError: the store cannot be read.
    """
    records = await recovered(environ)
    kept = {record.job: record for record in records.all()}
    folder = None if workspace is None else str(tidied(workspace))
    found: dict[str, StoredJob] = {}
    with closing(SqliteStore(store_path(environ))) as store:
        for root in store.list_sessions(limit, workspace=folder):
            found |= {job.id: job for job in _jobs_below(store, root.id)}
        for record in kept.values():
            if record.job not in found and folder in (None, record.workspace):
                found[record.job] = _job_of(store, record)
    jobs = [replace(job, record=kept.get(job.id)) for job in found.values()]
    wanted = (job for job in jobs if job.record is not None or not changed_only)
    return sorted(wanted, key=lambda job: job.id, reverse=True)


def _jobs_below(store: SessionArchive, session: str) -> Iterator[StoredJob]:
    """Yield the jobs of a session and of everything below it."""
    log = store.read(session).events
    ends = {event.job: event for event in log if isinstance(event, ev.JobDone)}
    for event in log:
        if not isinstance(event, ev.JobStarted):
            continue
        end = ends.get(event.job)
        report = (end.result.get("report") or {}) if end else {}
        yield StoredJob(
            id=event.job,
            role=event.role,
            agent=event.child_agent,
            task=event.task,
            session=event.child,
            parent=session,
            started=event.at,
            outcome=end.outcome if end else "",
            stop_reason=end.stop_reason if end else "",
            summary=str(report.get("summary", "")),
        )
    for child in store.children(session):
        yield from _jobs_below(store, child.id)


def _job_of(store: SessionArchive, record: Record) -> StoredJob:
    """Return the job of a record, as far as its session is still stored."""
    with suppress(UsageError):
        parent = store.get_session(record.session).parent
        for job in _jobs_below(store, parent):
            if job.id == record.job:
                return job
    role = record.agent.rpartition("/")[2].partition("#")[0]
    return StoredJob(record.job, role=role, agent=record.agent, session=record.session)


async def find_job(job: str, *, environ: Mapping[str, str] | None = None) -> StoredJob:
    """Return the job that an id, or the beginning of one, names.

    Raises:
        UsageError: none fits, or several do.
    """
    jobs = [one for one in await list_jobs(LOOKED_AT, environ=environ) if one.id.startswith(job)]
    exact = [one for one in jobs if one.id == job] or jobs
    if len(exact) == 1:
        return exact[0]
    if exact:
        names = ", ".join(one.id for one in exact[:5])
        raise UsageError(f"several jobs begin with {job!r}: {names}", remedy="Give more of the id.")
    raise UsageError(f"there is no job {job!r}", remedy="hub jobs list shows the jobs.")


async def patch_of(job: str, *, environ: Mapping[str, str] | None = None) -> tuple[Record, Path]:
    """Return what is kept of a job's changes, and the file with the patch.

    Raises:
        UsageError: nothing is kept of such a job, or it is still at work.
    """
    records = await recovered(environ)
    record = records.find(job)
    return record, require_patch(records, record)


async def apply_changes(
    job: str, workspace: Path | None, *, environ: Mapping[str, str] | None = None
) -> tuple[Record, Applied]:
    """Merge a job's changes into the workspace that it came from, or into another one.

    Raises:
        Conflict: the workspace has other changes at the same places; nothing was written.
        UsageError: there is no patch, or no workspace for it.
    """
    records = await recovered(environ)
    record = records.find(job)
    require_patch(records, record)
    folder = Path(record.workspace) if workspace is None else tidied(workspace)
    if not folder.is_dir() and workspace is None:
        folder = Path(record.top)
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="Say with -C DIR where to apply it.")
    given = os.environ if environ is None else environ
    async with _alone(records):
        applied = await apply(records, record, folder, given)
        return records.write(replace(record, applied=time())), applied


async def drop_changes(job: str, *, environ: Mapping[str, str] | None = None) -> Record:
    """Delete what is kept of a job's changes, a kept work tree included.

    Raises:
        UsageError: nothing is kept of such a job, or it is still at work.
    """
    records: Records = await recovered(environ)
    record = records.find(job)
    if record.state != "saved" and not record.incomplete:
        require_patch(records, record)
    async with _alone(records):
        await remove_tree(record)
        records.drop(record.job)
    return record


@asynccontextmanager
async def _alone(records: Records) -> AsyncIterator[None]:
    """Keep other processes from the same records in the body.

    Raises:
        UsageError: another one is at it for too long.
    """
    try:
        async with file_lock(records.lock, limit=LOCK_LIMIT):
            yield
    except TimeoutError:
        raise UsageError(
            "another process is at work on the changes of jobs", remedy="Try again later."
        ) from None
