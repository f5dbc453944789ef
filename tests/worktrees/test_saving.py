"""What is kept of a work tree before it goes: everything, or the work tree itself."""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hub.core.changes import ChangedFile, Changes
from hub.sessions.owner import Owner
from hub.worktrees import git as under_test
from hub.worktrees.records import Record, Records
from hub.worktrees.removing import remove_tree
from hub.worktrees.saving import recover, settle
from tests.repositories import git, untouched
from tests.worktrees.conftest import Bench

GONE = Owner(pid=2**22 + 1, started="1", boot=Owner.here().boot, host=Owner.here().host)
"""A process that is not there."""


async def settled(bench: Bench, record: Record, *also: str) -> Changes:
    """Settle a job and look that its work tree is registered nowhere."""
    with anyio.fail_after(30):
        changes = await settle(bench.records, record, bench.environ, also=also)
    if not changes.incomplete:
        assert not Path(record.tree).exists()
        assert len(git(bench.top, "worktree", "list").splitlines()) == 1
    return changes


async def test_the_patch_holds_every_kind_of_change(bench: Bench) -> None:
    """Edits, deletions, new, binary, executable and reported files; ignored ones are left."""
    (bench.top / "dirty.txt").write_text("dirty")
    before = untouched(bench.top)
    record = await bench.make("dirty.txt")
    tree = Path(record.tree)
    (tree / "a.txt").write_text("one\nTWO\nthree\nfour\nfive\n")
    (tree / "b.txt").unlink()
    (tree / "new file.txt").write_text("new\n")
    (tree / "bin").write_bytes(b"\0\1\2")
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "kept.o").write_text("kept")
    (tree / "left.o").write_text("left")
    git(tree, "add", "a.txt")
    git(tree, "-c", "user.name=w", "-c", "user.email=w@x", "commit", "-q", "-m", "by the child")
    changes = await settled(bench, record, "kept.o", "../../etc/passwd", "nothing", "a\0b")
    assert [file.path for file in changes.files] == [
        "a.txt", "b.txt", "bin", "kept.o", "new file.txt", "run.sh",
    ]  # fmt: skip
    assert (changes.insertions, changes.deletions) == (4, 2)
    told = changes.as_dict()
    assert (told["files"], told["job"], told["hint"]) == (6, "j-0", "hub jobs diff j-0")
    patch = bench.records.patch("j-0")
    text = patch.read_text()
    assert changes.diff == text
    assert "new mode" not in text
    assert "new file mode 100755" in text
    assert "GIT binary patch" in text
    assert stat.S_IMODE(patch.stat().st_mode) == 0o600
    assert untouched(bench.top) == before


async def test_a_child_that_changed_nothing_leaves_nothing(bench: Bench) -> None:
    """No record, no patch, no work tree."""
    changes = await settled(bench, await bench.make())
    assert changes.as_dict() == {"files": 0, "insertions": 0, "deletions": 0, "job": "j-0"}
    assert bench.records.all() == []
    assert not bench.records.folder("j-0").exists()


async def test_what_a_child_does_to_git_itself_does_not_matter(bench: Bench) -> None:
    """Without its .git, with another one in its place, and with files it may not write."""
    for number, harm in enumerate(("gone", "other", "locked")):
        record = await bench.make()
        tree = Path(record.tree)
        (tree / "new.txt").write_text("new\n")
        if harm == "locked":
            (tree / "deep").mkdir()
            (tree / "deep" / "x").write_text("x")
            (tree / "deep").chmod(0o500)
        else:
            (tree / ".git").unlink()
        if harm == "other":
            git(tree, "init", "-q")
        changes = await settled(bench, record)
        assert "new.txt" in [file.path for file in changes.files], number


async def test_what_no_patch_can_hold_keeps_the_work_tree(bench: Bench) -> None:
    """A repository inside, and a repository that has gone: the record says where the files are."""
    record = await bench.make()
    (inner := Path(record.tree) / "inner").mkdir()
    git(inner, "init", "-q")
    (inner / "x").write_text("x")
    git(inner, "add", "x")
    git(inner, "commit", "-q", "-m", "x")
    changes = await settled(bench, record)
    assert "a repository of its own: inner" in changes.incomplete
    assert (inner / "x").exists()
    stuck = await bench.make()
    (Path(stuck.tree) / "y").write_text("y")
    shutil.move(bench.top / ".git", bench.top / "moved")
    changes = await settled(bench, stuck)
    assert "could not be saved" in changes.incomplete
    assert (Path(stuck.tree) / "y").exists()
    kept = bench.records.read(stuck.job)
    assert kept is not None
    assert kept.incomplete == changes.incomplete
    with anyio.fail_after(30):
        assert await recover(bench.records, bench.environ) == []


async def test_a_file_that_cannot_be_read_keeps_the_work_tree_and_saves_the_rest(
    bench: Bench,
) -> None:
    """Nothing is lost for one file."""
    record = await bench.make()
    tree = Path(record.tree)
    (tree / "new.txt").write_text("new")
    os.mkfifo(tree / "pipe")
    (tree / "shut").mkdir(mode=0o000)
    changes = await settled(bench, record)
    assert [file.path for file in changes.files] == ["new.txt"]


async def test_what_a_dead_process_left_is_settled_once(bench: Bench) -> None:
    """Half made is removed, worked on is saved, saved is removed; those at work stay (item 7)."""
    making, working, saved, living, empty = [await bench.make() for _ in range(5)]
    for record in (making, working, saved, living):
        (Path(record.tree) / "new.txt").write_text(record.job)
    bench.records.write(replace(making, owner=GONE, state="making"))
    bench.records.write(replace(working, owner=GONE))
    bench.records.index("j-1").with_name("index.lock").touch()
    files = (ChangedFile("new.txt", 1),)
    bench.records.write(replace(saved, owner=GONE, state="saved", files=files))
    bench.records.write(replace(empty, owner=GONE, state="saved"))
    with anyio.fail_after(30):
        done = await recover(bench.records, bench.environ)
        assert [record.job for record in done] == ["j-0", "j-1", "j-2", "j-4"]
        assert await recover(bench.records, bench.environ) == []
    assert [record.job for record in bench.records.all()] == ["j-1", "j-2", "j-3"]
    assert "+j-1" in bench.records.patch("j-1").read_text()
    assert Path(living.tree).is_dir()
    assert len(git(bench.top, "worktree", "list").splitlines()) == 2


class Cut(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(1, 13))
async def test_a_process_that_ends_at_any_step_of_saving_loses_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Whatever was done by then, the next one has the whole patch and no work tree is left."""
    record = bench.records.write(replace(await bench.make(), owner=GONE))
    (Path(record.tree) / "a.txt").write_text("child\n")
    (Path(record.tree) / "new.txt").write_text("new\n")
    steps = iter(range(1, 100))
    ran, write, remove = under_test._ran, type(bench.records).write, remove_tree

    def cut() -> None:
        if next(steps) == step:
            raise Cut

    async def runs(*given: Any) -> under_test.Done:
        done = await ran(*given)
        cut()
        return done

    def writes(records: Records, changed: Record) -> Record:
        written = write(records, changed)
        cut()
        return written

    async def removes(gone: Record) -> None:
        cut()
        await remove(gone)
        cut()

    monkeypatch.setattr(under_test, "_ran", runs)
    monkeypatch.setattr(Records, "write", writes)
    monkeypatch.setattr("hub.worktrees.saving.remove_tree", removes)
    with anyio.fail_after(30), suppress(Cut):
        await settle(bench.records, record, bench.environ)
        assert next(steps) <= step
    monkeypatch.undo()
    with anyio.fail_after(30):
        await recover(bench.records, bench.environ)
    (kept,) = bench.records.all()
    assert [file.path for file in kept.files] == ["a.txt", "new.txt"]
    assert "+child" in bench.records.patch(kept.job).read_text()
    assert not Path(record.tree).exists()
    assert len(git(bench.top, "worktree", "list").splitlines()) == 1
