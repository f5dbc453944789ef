"""Brings a job's patch into a workspace: merged with what is there, whole or not at all."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import anyio
from msgspec import Struct

from hub.core.errors import HubError, UsageError
from hub.core.text import one_line
from hub.worktrees.git import Git, GitError
from hub.worktrees.records import Record, Records
from hub.worktrees.repository import Repository, find_repository
from hub.worktrees.saving import COMPARE, PATCH

SHOWN = 20
"""Conflicting files that a message names."""


class Conflict(HubError):
    """The workspace has changes that a patch cannot be merged with; nothing was changed."""

    code = "conflict"

    def __init__(self, job: str, files: list[str], why: str = "") -> None:
        names = "\n".join(f"  {one_line(name, 200)}" for name in files[:SHOWN])
        more = f"\n  and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        what = f"conflicts with the workspace in:\n{names}{more}" if files else f"cannot be: {why}"
        super().__init__(
            f"nothing was applied: the changes of {job} {what}",
            remedy=f"Look at them with: hub jobs diff {job}",
        )
        self.files = files
        """All paths with a conflict, as seen from the top of the repository."""


class Applied(Struct, frozen=True):
    """What applying a patch came to."""

    files: tuple[str, ...]
    """Paths that changed in the workspace; empty when it had all of it already."""
    top: str
    """What the paths are relative to."""


async def apply(
    records: Records, record: Record, workspace: Path, environ: Mapping[str, str]
) -> Applied:
    """Merge the patch of a job into the files of a workspace; its index stays as it is.

    Everything is merged aside first; the files are written only when nothing conflicts.

    Raises:
        Conflict: the workspace has other changes at the same places; nothing was written.
        UsageError: the workspace is in no repository.
    """
    repository = await find_repository(workspace, environ)
    merging = _Merging(records.folder(record.job), records.patch(record.job), repository)
    try:
        return await merging.apply(record)
    except GitError as error:
        raise Conflict(record.job, [], str(error)) from None
    finally:
        merging.tidy()


class _Merging:
    """One patch on its way into one workspace."""

    def __init__(self, folder: Path, patch: Path, repository: Repository) -> None:
        self._patch = str(patch)
        self._repository = repository
        self._git: Git = repository.git
        self._now = folder / "now.index"
        self._merged = folder / "merged.index"
        self._step = folder / "step.patch"

    async def apply(self, record: Record) -> Applied:
        before = await self._present([file.path for file in record.files])
        after = await self._merge(record, before)
        changed = (await self._git.run(*COMPARE, "--name-only", before, after)).out
        files = [os.fsdecode(name) for name in changed.split(b"\0")[:-1]]
        if files:
            await self._write(before, after, files)
        return Applied(tuple(files), str(self._repository.top))

    async def _merge(self, record: Record, before: str) -> str:
        """Return the tree of what the workspace comes to with the changes."""
        git = self._git
        for thing in (f"{record.base}^{{commit}}", f"{record.result}^{{tree}}"):
            if (await git.run("cat-file", "-e", thing, may=(1, 128))).code:
                return await self._patched(record)
        sides = [
            (await git.run("commit-tree", tree, "-p", record.base, "-m", record.job)).line
            for tree in (before, record.result)
        ]
        merged = await git.run(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides, may=(1,)
        )
        tree, *names = [os.fsdecode(part) for part in merged.out.split(b"\0") if part]
        if merged.code:
            raise Conflict(record.job, list(dict.fromkeys(names)))
        return tree

    async def _patched(self, record: Record) -> str:
        """Merge by the patch alone, where the repository does not have what the child found."""
        shutil.copyfile(self._now, self._merged)
        tried = await self._git.run(
            "apply", "--3way", "--cached", "--whitespace=nowarn", self._patch,
            index=self._merged, may=(1,),
        )  # fmt: skip
        unmerged = await self._git.run("ls-files", "--unmerged", "-z", index=self._merged)
        paths = (entry.partition(b"\t")[2] for entry in unmerged.out.split(b"\0")[:-1])
        if conflicts := list(dict.fromkeys(os.fsdecode(path) for path in paths)):
            raise Conflict(record.job, conflicts)
        if tried.code:
            raise Conflict(record.job, [], tried.said)
        return (await self._git.run("write-tree", index=self._merged)).line

    async def _present(self, touched: list[str]) -> str:
        """Return the tree of what the workspace holds now, in an index aside."""
        git, top = self._git, self._repository.top
        own = top / (await git.run("rev-parse", "--git-path", "index")).line
        if own.exists():
            shutil.copyfile(own, self._now)
        else:
            await git.run("read-tree", "--empty", index=self._now)
        await git.run("add", "-u", "--", ".", index=self._now)
        for name in touched:
            if os.path.lexists(top / name):
                await git.run("add", "-f", "--", name, index=self._now)
        return (await git.run("write-tree", index=self._now)).line

    async def _write(self, before: str, after: str, files: list[str]) -> None:
        """Write the merged files; what stops halfway is put back."""
        step = str(self._step)
        await self._git.run(*PATCH, before, after, into=self._step)
        await self._git.run("apply", "--check", "--whitespace=nowarn", step)
        try:
            await self._git.run("apply", "--whitespace=nowarn", step)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._put_back(files)
            raise

    async def _put_back(self, files: list[str]) -> None:
        known = await self._git.run("ls-files", "-z", "--", *files, index=self._now)
        there = {os.fsdecode(name) for name in known.out.split(b"\0")[:-1]}
        for name in files:
            if name not in there:
                (self._repository.top / name).unlink(missing_ok=True)
        listed = b"".join(os.fsencode(name) + b"\0" for name in there)
        await self._git.run("checkout-index", "-f", "-z", "--stdin", index=self._now, stdin=listed)

    def tidy(self) -> None:
        """Delete what was only needed on the way."""
        for file in (self._now, self._merged, self._step):
            file.unlink(missing_ok=True)


def require_patch(records: Records, record: Record) -> Path:
    """Return the file with a job's patch.

    Raises:
        UsageError: its work tree was kept, or its process still works there.
    """
    if record.state == "saved":
        return records.patch(record.job)
    if record.incomplete:
        raise UsageError(
            f"there is no patch of {record.job}: {record.incomplete}",
            remedy=f"Its files are in {record.tree}",
        )
    raise UsageError(f"the job {record.job} is still at work", remedy="Wait for its end.")
