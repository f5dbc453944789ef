"""How a patch comes into the workspace: merged, whole, or not at all."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.core.errors import UsageError
from hub.worktrees import git as under_test
from hub.worktrees.applying import Applied, Conflict, apply, require_patch
from hub.worktrees.records import Record
from hub.worktrees.saving import settle
from tests.repositories import git, untouched
from tests.worktrees.conftest import Bench


async def saved(bench: Bench, record: Record) -> Record:
    """Save what a child did."""
    with anyio.fail_after(30):
        await settle(bench.records, record, bench.environ)
    found = bench.records.read(record.job)
    assert found is not None
    return found


async def applied(bench: Bench, record: Record, workspace: Path | None = None) -> Applied:
    """Apply what a child did."""
    with anyio.fail_after(30):
        return await apply(bench.records, record, workspace or bench.top, bench.environ)


async def test_changes_at_other_places_are_merged_and_the_index_stays(bench: Bench) -> None:
    """A dirty workspace, a staged file, new and deleted files, modes and bytes."""
    (bench.top / "a.txt").write_text("ONE\ntwo\nthree\nfour\nfive\n")
    record = await bench.make()
    tree = Path(record.tree)
    (tree / "a.txt").write_text("ONE\ntwo\nthree\nfour\nFIVE\n")
    (tree / "b.txt").unlink()
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "bin").write_bytes(b"\0\1")
    (tree / "link").symlink_to("a.txt")
    record = await saved(bench, record)
    (bench.top / "a.txt").write_text("zero\nONE\ntwo\nthree\nfour\nfive\n")
    (bench.top / "c.txt").write_text("staged")
    git(bench.top, "add", "c.txt")
    (bench.top / "c.txt").write_text("staged and edited")
    cached = git(bench.top, "diff", "--cached")
    done = await applied(bench, record)
    assert done.files == ("a.txt", "b.txt", "bin", "link", "run.sh")
    assert (bench.top / "a.txt").read_text() == "zero\nONE\ntwo\nthree\nfour\nFIVE\n"
    assert not (bench.top / "b.txt").exists()
    assert (bench.top / "run.sh").stat().st_mode & 0o111
    assert (bench.top / "bin").read_bytes() == b"\0\1"
    assert (bench.top / "link").is_symlink()
    assert (bench.top / "c.txt").read_text() == "staged and edited"
    assert git(bench.top, "diff", "--cached") == cached
    assert (await applied(bench, record)).files == ()
    assert sorted(path.name for path in bench.records.folder("j-0").iterdir()) == [
        "changes.patch", "job.json",
    ]  # fmt: skip


async def test_a_conflict_names_its_files_and_changes_nothing(bench: Bench) -> None:
    """Edits of one line, a new file that is there already, an edit of what was deleted."""
    record = await bench.make()
    tree = Path(record.tree)
    (tree / "a.txt").write_text("child\ntwo\nthree\nfour\nfive\n")
    (tree / "b.txt").write_text("child")
    (tree / "clean.txt").write_text("clean")
    (tree / "new.txt").write_text("child")
    record = await saved(bench, record)
    (bench.top / "a.txt").write_text("user\ntwo\nthree\nfour\nfive\n")
    (bench.top / "b.txt").unlink()
    (bench.top / "new.txt").write_text("user")
    before = untouched(bench.top)
    with pytest.raises(Conflict) as error:
        await applied(bench, record)
    assert untouched(bench.top) == before
    assert error.value.files == ["a.txt", "b.txt", "new.txt"]
    assert "a.txt" in str(error.value)
    assert error.value.exit_code == 1


async def test_two_children_over_one_file_cannot_lose_a_write(bench: Bench) -> None:
    """Different lines are merged; for the same line the second one is refused and kept (item 9)."""
    first, second, third = [await bench.make() for _ in range(3)]
    (Path(first.tree) / "a.txt").write_text("FIRST\ntwo\nthree\nfour\nfive\n")
    (Path(second.tree) / "a.txt").write_text("one\ntwo\nthree\nfour\nSECOND\n")
    (Path(third.tree) / "a.txt").write_text("THIRD\ntwo\nthree\nfour\nfive\n")
    records = [await saved(bench, record) for record in (first, second, third)]
    await applied(bench, records[0])
    await applied(bench, records[1])
    with pytest.raises(Conflict):
        await applied(bench, records[2])
    assert (bench.top / "a.txt").read_text() == "FIRST\ntwo\nthree\nfour\nSECOND\n"
    assert "+THIRD" in bench.records.patch(records[2].job).read_text()


async def test_what_stops_halfway_is_put_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be written to stops the writing; what was written before goes back."""
    (bench.top / "z").mkdir()
    (bench.top / "z" / "z.txt").write_text("z\n")
    git(bench.top, "add", "-A")
    record = await bench.make()
    tree = Path(record.tree)
    (tree / "a.txt").write_text("child\n")
    (tree / "c.txt").write_text("child\n")
    (tree / "z" / "z.txt").write_text("child\n")
    record = await saved(bench, record)
    before = untouched(bench.top)
    ran = under_test._ran

    async def fails(command: list[str], *rest: Any) -> under_test.Done:
        done = await ran(command, *rest)
        writes = "apply" in command and not {"--check", "--cached"} & set(command)
        return under_test.Done(1, b"", "no space left") if writes else done

    monkeypatch.setattr(under_test, "_ran", fails)
    with pytest.raises(Conflict, match="no space left"):
        await applied(bench, record)
    monkeypatch.undo()
    assert untouched(bench.top) == before
    assert len((await applied(bench, record)).files) == 3


async def test_a_patch_goes_into_another_clone(bench: Bench, tmp_path: Path) -> None:
    """Where the repository lacks what the child found, the patch alone is merged or refused."""
    git(tmp_path, "clone", "-q", str(bench.top), str(other := tmp_path / "other"))
    (bench.top / "a.txt").write_text("dirty\ntwo\nthree\nfour\nfive\n")
    record = await bench.make()
    (Path(record.tree) / "b.txt").write_text("child\n")
    (Path(record.tree) / "c.txt").write_text("child\n")
    record = await saved(bench, record)
    (other / "b.txt").write_text("other\n")
    before = untouched(other)
    with pytest.raises(Conflict) as error:
        await applied(bench, record, other)
    assert (error.value.files, untouched(other)) == (["b.txt"], before)
    git(other, "checkout", "-q", "b.txt")
    assert (await applied(bench, record, other)).files == ("b.txt", "c.txt")
    assert (other / "c.txt").read_text() == "child\n"


async def test_only_a_saved_patch_can_be_had(bench: Bench) -> None:
    """A job that works, or whose work tree was kept, says so."""
    record = await bench.make()
    with pytest.raises(UsageError, match="still at work"):
        require_patch(bench.records, record)
    with pytest.raises(UsageError, match="no changes of a job 'j-9'"):
        bench.records.find("j-9")
    await bench.make()
    with pytest.raises(UsageError, match="several jobs begin"):
        bench.records.find("j-")
    assert bench.records.find("j-0").job == "j-0"
