"""The git repository around a workspace, and whether a work tree can be made from it."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hub.core.errors import UsageError
from hub.core.text import one_line
from hub.worktrees.git import Git, GitError, open_git

MOST_FILES = 100_000
"""Files that git knows; more take too long to lay out for a child."""
INSTEAD = "Dispatch it without isolation."
_ATTRIBUTES = ".gitattributes"


class Repository(Struct, frozen=True):
    """A repository with a work tree."""

    git: Git
    """Runs at the top of the work tree."""
    top: Path
    common: Path
    """The folder ``.git`` that all work trees of the repository share."""
    prefix: str
    """The workspace as seen from the top; empty when it is the top."""
    head: str
    """The commit that is checked out; empty before the first one."""


def no_isolation(workspace: Path) -> str:
    """Say why a workspace surely has no work trees, without running git; empty when it may."""
    folder = workspace.resolve()
    top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    if top is None:
        return "the workspace is not in the work tree of a git repository"
    if (top / ".gitmodules").exists():
        return "the repository has submodules, which a work tree of its own would not hold"
    return ""


async def find_repository(folder: Path, environ: Mapping[str, str]) -> Repository:
    """Return the repository whose work tree holds a folder.

    Raises:
        UsageError: there is none, or git cannot be used on it.
    """
    git = await open_git(folder, environ)
    try:
        top = await git.run("rev-parse", "--show-toplevel", "--git-common-dir", "--show-prefix")
        lines = os.fsdecode(top.out).split("\n")
        head = (await git.run("rev-parse", "-q", "--verify", "HEAD^{commit}", may=(1,))).line
    except GitError as error:
        raise UsageError(
            f"{folder} is not in the work tree of a git repository that can be used: {error}",
            remedy=INSTEAD,
        ) from None
    if len(lines) != 4:  # three lines, each with an end
        raise UsageError(f"{folder} has a line break in its path", remedy=INSTEAD)
    at_top = Git(Path(lines[0]), git.env, git.config)
    common = (folder / lines[1]).resolve()
    return Repository(at_top, Path(lines[0]), common, lines[2].rstrip("/"), head)


async def require_simple(repository: Repository) -> None:
    """Refuse what a work tree of its own would show otherwise than the workspace does.

    Raises:
        UsageError: there are submodules, content filters such as those of Git LFS, a sparse
            checkout, or too many files.
        GitError: git does not say.
    """
    git = repository.git
    sparse = await git.run("config", "--bool", "core.sparseCheckout", may=(1,))
    if sparse.line == "true":
        raise UsageError("the repository is checked out in part (sparse)", remedy=INSTEAD)
    listed = (await git.run("ls-files", "--stage", "-z")).out.split(b"\0")[:-1]
    if len(listed) > MOST_FILES:
        raise UsageError(
            f"the repository has {len(listed)} files; a work tree is made of up to {MOST_FILES}",
            remedy=INSTEAD,
        )
    entries = [entry.partition(b"\t") for entry in listed]
    modules = [path for head, _, path in entries if head.startswith(b"160000 ")]
    if modules:
        name = one_line(os.fsdecode(modules[0]), 200)
        raise UsageError(
            f"the repository has submodules ({name}), which a work tree of its own would not hold",
            remedy=INSTEAD,
        )
    names = (os.fsdecode(path) for _, _, path in entries)
    files = [repository.top / n for n in names if n.rpartition("/")[2] == _ATTRIBUTES]
    for file in (*files, repository.common / "info" / "attributes"):
        if _filters(file):
            raise UsageError(
                f"{file} has files go through a content filter, such as that of Git LFS",
                remedy=INSTEAD,
            )


def _filters(file: Path) -> bool:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    lines = (line.split() for line in text.splitlines() if not line.lstrip().startswith("#"))
    return any(word.startswith("filter=") for words in lines for word in words[1:])
