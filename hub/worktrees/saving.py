"""Saves what a job changed in its work tree, before that is removed: no work is lost.

What cannot be put into the patch keeps the work tree where it is, and the record says why.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from msgspec.structs import replace

from hub.core.changes import ChangedFile, Changes
from hub.core.errors import UsageError
from hub.core.text import one_line
from hub.worktrees.git import Git, GitError, open_git
from hub.worktrees.records import Record, Records
from hub.worktrees.removing import remove_tree

SHORT = 10_000
"""Bytes of a patch that its parent is shown whole."""
COMPARE = ("diff-tree", "-r", "-z", "--no-renames")
PATCH = (
    "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
    "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


async def settle(
    records: Records, record: Record, environ: Mapping[str, str], *, also: Sequence[str] = ()
) -> Changes:
    """Save the changes of a job and remove its work tree; a job without changes leaves nothing.

    ``also`` are files that the child reports, which are saved even where git ignores them. The
    work tree stays when it cannot be saved, or not as a whole.
    """
    try:
        saved = await _saved(records, record, environ, also)
    except (GitError, UsageError, OSError) as error:
        why = f"the changes could not be saved: {one_line(str(error), 300)}"
        return records.write(replace(record, incomplete=why)).changes
    records.write(saved)
    if not saved.incomplete:
        await remove_tree(saved)
        if not saved.files:
            records.drop(saved.job)
    return replace(saved.changes, diff=_short(records.patch(saved.job)) if saved.files else "")


async def recover(records: Records, environ: Mapping[str, str]) -> list[Record]:
    """Save and remove the work trees of dead processes; return the records that were settled."""
    left = [record for record in records.all() if _is_left(record)]
    for record in left:
        if record.state == "open":
            await settle(records, record, environ)
            continue
        await remove_tree(record)
        if record.state == "making" or not record.files:
            records.drop(record.job)
    return left


def _is_left(record: Record) -> bool:
    if record.incomplete or record.owner.is_running():
        return False
    return record.state != "saved" or not record.files or Path(record.tree).exists()


async def _saved(
    records: Records, record: Record, environ: Mapping[str, str], also: Sequence[str]
) -> Record:
    git = await _comparing(record, environ)
    index = records.index(record.job)
    index.with_name("index.lock").unlink(missing_ok=True)
    if not index.exists():
        await git.run("read-tree", record.base, index=index)
    added = await git.run("add", "-A", "--ignore-errors", "--", ".", index=index, may=(1, 128))
    why = [f"some files could not be read: {added.said}"] if added.code else []
    for name in _reported(record, also):
        await git.run("add", "-f", "--ignore-errors", "--", name, index=index, may=(1, 128))
    result = (await git.run("write-tree", index=index)).line
    raw = await git.run(*COMPARE, "--raw", record.base, result)
    if nested := _nested(raw.out):
        why.append(f"it holds a repository of its own: {one_line(', '.join(nested), 200)}")
    patch = records.patch(record.job)
    await git.run(*PATCH, record.base, result, into=patch)
    numbers = await git.run(*COMPARE, "--numstat", record.base, result)
    await anyio.to_thread.run_sync(index.unlink)
    return replace(
        record,
        state="saved",
        result=result,
        files=tuple(_files(numbers.out)),
        incomplete="; ".join(why),
    )


async def _comparing(record: Record, environ: Mapping[str, str]) -> Git:
    """Return git over a work tree that relies on nothing that the child may have changed."""
    tree, common = Path(record.tree), Path(record.common)
    if not tree.is_dir():
        raise GitError(f"the work tree {tree} is gone")
    if not common.is_dir():
        raise GitError(f"the repository {common} is gone")
    git = await open_git(tree, environ)
    env = {**git.env, "GIT_DIR": record.common, "GIT_WORK_TREE": record.tree}
    return Git(tree, env, git.config)


def _reported(record: Record, names: Sequence[str]) -> list[str]:
    """Return the files of a report that are there, as seen from the top of the work tree."""
    tree = Path(record.tree)
    found = []
    for name in names:
        try:
            path = (record.working_folder / name).resolve()
            if path.is_relative_to(tree) and path.is_file():
                found.append(os.path.relpath(path, tree))
        except (OSError, RuntimeError, ValueError):  # too long, a circle of links, a NUL
            continue
    return found


def _nested(raw: bytes) -> list[str]:
    """Return the paths at which a work tree has gained a repository, of which git keeps no file."""
    parts = raw.split(b"\0")
    pairs = zip(parts[::2], parts[1::2], strict=False)
    return [os.fsdecode(path) for head, path in pairs if head.split(b" ")[1:2] == [b"160000"]]


def _files(numbers: bytes) -> list[ChangedFile]:
    found = []
    for line in numbers.split(b"\0")[:-1]:
        plus, minus, path = line.split(b"\t", 2)
        if plus == b"-":
            found.append(ChangedFile(os.fsdecode(path), binary=True))
        else:
            found.append(ChangedFile(os.fsdecode(path), int(plus), int(minus)))
    return found


def _short(patch: Path) -> str:
    """Return a patch that is short text; empty for any other."""
    try:
        if patch.stat().st_size > SHORT:
            return ""
        return patch.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
