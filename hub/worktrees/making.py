"""Makes the work tree of a job: what the workspace holds now, in a folder of its own."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from hub.config.paths import make_private_dir
from hub.core.errors import UsageError
from hub.sessions.owner import Owner
from hub.worktrees.git import Git, GitError
from hub.worktrees.records import Record, Records
from hub.worktrees.removing import remove_tree
from hub.worktrees.repository import INSTEAD, Repository, find_repository, require_simple


class Wanted(Struct, frozen=True):
    """A work tree that is to be made."""

    job: str
    session: str
    agent: str
    workspace: Path
    files: Sequence[str] = ()
    """Paths in the workspace that are copied although git does not know them."""


class Maker:
    """Makes work trees for one run."""

    def __init__(self, state: Path, environ: Mapping[str, str]) -> None:
        self.records = Records(state)
        """What is kept of them."""
        self.environ = environ
        """What git is handed on, by an allow-list."""
        self._adding: anyio.Lock | None = None

    async def make(self, wanted: Wanted) -> Record:
        """Lay out HEAD with the uncommitted changes of the workspace in a folder of its own.

        The workspace, its index and its branches stay as they are.

        Raises:
            UsageError: no work tree can be made of the workspace.
        """
        repository = await find_repository(wanted.workspace, self.environ)
        record: Record | None = None
        try:
            await require_simple(repository)
            self._require_outside(repository)
            record = self.records.write(self._record(wanted, repository))
            index = self.records.index(wanted.job)
            record = replace(record, base=await _snapshot(repository, wanted, index))
            self.records.write(record)
            await self._lay_out(repository, record, index)
            return self.records.write(replace(record, state="open"))
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                if record is not None:
                    await remove_tree(record)
                self.records.drop(wanted.job)
            if isinstance(error, GitError | OSError):
                raise UsageError(
                    f"no work tree could be made of {wanted.workspace}: {error}", remedy=INSTEAD
                ) from None
            raise

    def _require_outside(self, repository: Repository) -> None:
        if self.records.state.resolve().is_relative_to(repository.top.resolve()):
            raise UsageError(
                f"the state folder {self.records.state} is inside of the repository",
                remedy="Let HUB_STATE_DIR name a folder elsewhere.",
            )

    def _record(self, wanted: Wanted, repository: Repository) -> Record:
        return Record(
            job=wanted.job,
            session=wanted.session,
            agent=wanted.agent,
            workspace=str(wanted.workspace),
            top=str(repository.top),
            common=str(repository.common),
            prefix=repository.prefix,
            tree=str(self.records.tree(wanted.job).resolve()),
            owner=Owner.here(),
        )

    async def _lay_out(self, repository: Repository, record: Record, index: Path) -> None:
        tree = Path(record.tree)
        make_private_dir(tree.parent)
        # Two that are registered at once would look at each other half made.
        self._adding = self._adding or anyio.Lock()
        async with self._adding:
            await repository.git.run(
                "worktree", "add", "-q", "--lock", "--no-checkout", "--detach", record.tree,
                record.base,
            )  # fmt: skip
        inside = Git(tree, repository.git.env, repository.git.config)
        await inside.run("read-tree", "-u", "--reset", record.base)
        (tree / record.prefix).mkdir(parents=True, exist_ok=True)
        place = (await inside.run("rev-parse", "--absolute-git-dir")).line
        # With its time kept, git looks anew at files that changed as the index was written.
        shutil.copy2(Path(place) / "index", index)
        index.chmod(0o600)


async def _snapshot(repository: Repository, wanted: Wanted, index: Path) -> str:
    """Return a commit of what the workspace holds now, made beside its own index."""
    git = repository.git
    own = repository.top / (await git.run("rev-parse", "--git-path", "index")).line
    if own.exists():
        shutil.copy2(own, index)
        index.chmod(0o600)
    await git.run("add", "-u", "--", ".", index=index)
    if repository.head == "" and not own.exists():
        await git.run("read-tree", "--empty", index=index)
    for name in _inside(repository, wanted):
        # What git ignores in a folder is left out, unless all of the folder is ignored.
        folder = (repository.top / name).is_dir()
        if not folder or (await git.run("add", "--", name, index=index, may=(1,))).code:
            await git.run("add", "-f", "--", name, index=index)
    tree = (await git.run("write-tree", index=index)).line
    parent = ("-p", repository.head) if repository.head else ()
    return (await git.run("commit-tree", tree, *parent, "-m", f"what {wanted.job} found")).line


def _inside(repository: Repository, wanted: Wanted) -> list[str]:
    """Return the paths to be copied as seen from the top, behind all links."""
    top = repository.top.resolve()
    found = [(wanted.workspace / name).resolve() for name in wanted.files]
    return [os.path.relpath(path, top) for path in found if path.is_relative_to(top)]
