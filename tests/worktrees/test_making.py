"""What a child finds in a work tree of its own, and what is refused."""

import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.core.errors import UsageError
from hub.worktrees import git as under_test
from hub.worktrees.repository import no_isolation
from tests.repositories import git, untouched
from tests.worktrees.conftest import Bench


async def test_it_holds_what_the_workspace_holds_and_changes_nothing_there(bench: Bench) -> None:
    """Edits, deletions, staged and named files; the index, branches and files stay (item 9)."""
    (bench.top / "a.txt").write_text("changed\n")
    (bench.top / "b.txt").unlink()
    (bench.top / "staged.txt").write_text("staged\n")
    git(bench.top, "add", "staged.txt")
    for name in ("named.txt", "secret.o", "other.txt"):
        (bench.top / name).write_text(name)
    before = untouched(bench.top)[:3]
    with anyio.fail_after(30):
        record = await bench.make("named.txt", "secret.o")
    tree = Path(record.tree)
    assert sorted(path.name for path in tree.iterdir() if path.name != ".git") == [
        ".gitignore", "a.txt", "named.txt", "secret.o", "staged.txt",
    ]  # fmt: skip
    assert (tree / "a.txt").read_text() == "changed\n"
    assert untouched(bench.top)[:3] == before
    assert git(tree, "status", "--porcelain") == ""
    assert not tree.is_relative_to(bench.top)
    assert record.state == "open"
    for folder in (tree.parent, bench.records.folder(record.job)):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_of_a_named_folder_all_is_copied_that_git_does_not_ignore(bench: Bench) -> None:
    """A folder that is ignored as a whole was named all the same, so all of it is copied."""
    for folder, ignored in (("data", "x.o"), ("out", "y")):
        (bench.top / folder).mkdir()
        (bench.top / folder / "a").write_text("a")
        (bench.top / folder / ignored).write_text("i")
    (bench.top / ".gitignore").write_text("*.o\nout/\n")
    with anyio.fail_after(30):
        record = await bench.make("data", "out")
    tree = Path(record.tree)
    assert [path.name for path in (tree / "data").iterdir()] == ["a"]
    assert sorted(path.name for path in (tree / "out").iterdir()) == ["a", "y"]


async def test_a_workspace_below_the_top_keeps_its_place(bench: Bench) -> None:
    """The child works in the folder that stands for the workspace."""
    (below := bench.top / "sub" / "dir").mkdir(parents=True)
    (below / "x.txt").write_text("x")
    with anyio.fail_after(30):
        record = await bench.make("x.txt", workspace=below)
    assert (record.prefix, (record.working_folder / "x.txt").read_text()) == ("sub/dir", "x")


async def test_a_repository_without_a_commit_will_do(bench: Bench, tmp_path: Path) -> None:
    """What was added is laid out."""
    (fresh := tmp_path / "fresh").mkdir()
    git(fresh, "init", "-q")
    with anyio.fail_after(30):
        empty = await bench.make(workspace=fresh)
        (fresh / "new.txt").write_text("new")
        git(fresh, "add", "new.txt")
        record = await bench.make(workspace=fresh)
    assert [path.name for path in Path(empty.tree).iterdir()] == [".git"]
    assert (Path(record.tree) / "new.txt").read_text() == "new"


async def test_nothing_of_the_repository_runs(bench: Bench, tmp_path: Path) -> None:
    """Hooks, watchers, filters and merge programs of its settings are passed over."""
    mark = tmp_path / "ran"
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        file = bench.top / ".git" / "hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {mark}\n")
        file.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external"):
        git(bench.top, "config", key, f"touch {mark}; cat")
    git(bench.top, "config", "core.attributesFile", str(tmp_path / "attributes"))
    (tmp_path / "attributes").write_text("* filter=x\n")
    with anyio.fail_after(30):
        record = await bench.make()
    assert (Path(record.tree) / "a.txt").is_file()
    assert not mark.exists()


@pytest.mark.parametrize("what", ["none", "bare", "modules", "lfs", "sparse", "state", "files"])
async def test_what_cannot_be_laid_out_is_refused_and_leaves_nothing(
    bench: Bench, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with a sentence that says what to do."""
    workspace, words = bench.top, ""
    match what:
        case "none":
            (workspace := tmp_path / "plain").mkdir()
            words = "not in the work tree of a git repository"
            assert words in no_isolation(workspace)
        case "bare":
            git(tmp_path, "clone", "-q", "--bare", str(bench.top), str(workspace := tmp_path / "b"))
            words = "not in the work tree of a git repository"
        case "modules":
            commit = git(bench.top, "rev-parse", "HEAD").strip()
            git(bench.top, "update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
            words = "submodules (lib)"
            (bench.top / ".gitmodules").write_text("")
            assert "submodules" in no_isolation(bench.top)
        case "lfs":
            (bench.top / ".gitattributes").write_text("*.bin filter=lfs\n")
            git(bench.top, "add", ".gitattributes")
            words = "content filter"
        case "sparse":
            git(bench.top, "config", "core.sparseCheckout", "true")
            words = "sparse"
        case "state":
            bench.maker.records = type(bench.records)(bench.top / "state")
            words = "inside of the repository"
        case "files":
            monkeypatch.setattr("hub.worktrees.repository.MOST_FILES", 2)
            words = "3 files"
    with anyio.fail_after(30), pytest.raises(UsageError) as error:
        await bench.make(workspace=workspace)
    assert words in str(error.value)
    assert error.value.remedy
    assert bench.maker.records.all() == []
    assert len(git(bench.top, "worktree", "list").splitlines()) == 1


async def test_what_fails_halfway_is_taken_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A work tree whose files cannot be laid out leaves neither folder nor entry."""
    ran = under_test._ran

    async def fails(command: list[str], *rest: Any) -> under_test.Done:
        stuck = "read-tree" in command
        return under_test.Done(128, b"", "disk full") if stuck else await ran(command, *rest)

    monkeypatch.setattr(under_test, "_ran", fails)
    with anyio.fail_after(30), pytest.raises(UsageError, match=r"could be made of .*disk full"):
        await bench.make()
    assert len(git(bench.top, "worktree", "list").splitlines()) == 1
    assert list((bench.records.state / "worktrees").iterdir()) == []
    assert not bench.records.folder("j-0").exists()
