"""``hub jobs``: lists, patches, and what they do to a workspace."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app
from hub.core import events as ev
from hub.core.changes import Changes
from hub.sessions.store import SqliteStore
from hub.worktrees.making import Maker, Wanted
from hub.worktrees.records import Record
from hub.worktrees.saving import settle
from tests.repositories import ALONE, git, repository, untouched

Hub = Callable[..., Result]
TEXT = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and a state folder that the command line finds."""
    monkeypatch.setenv("HUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return repository(tmp_path / "work", a__txt=TEXT, b__txt="b\n")


@pytest.fixture
def hub() -> Hub:
    """The command line."""
    return lambda *arguments: CliRunner().invoke(app, ["jobs", *map(str, arguments)])


def changed(workspace: Path, job: str, **files: str) -> Record:
    """Let a job write files in a work tree of its own, and save them."""
    maker = Maker(workspace.parent / "state", ALONE)

    async def work() -> Record:
        with anyio.fail_after(30):
            record = await maker.make(Wanted(job, f"s-{job}", "lead/worker#1", workspace))
            for name, text in files.items():
                (Path(record.tree) / name.replace("__", ".")).write_text(text)
            changes: Changes = await settle(maker.records, record, ALONE)
        assert not changes.incomplete
        found = maker.records.read(job)
        assert found is not None
        return found

    return anyio.run(work)


def stored(workspace: Path) -> None:
    """Store a run with two jobs: j-1 is done, j-2 has no end."""
    store = SqliteStore(workspace.parent / "state" / "hub.db", now=lambda: 1_000_000.0)
    store.create("s-lead", parent="", role="lead", workspace=str(workspace))
    started = [
        ev.JobStarted(
            job=f"j-{number}", role="worker", task="Do\x1b[2J it", call_id="c", depth=1,
            child=f"s-j-{number}", child_agent=f"lead/worker#{number}",
        )
        for number in (1, 2)
    ]  # fmt: skip
    done = ev.JobDone(
        job="j-1", role="worker", outcome="done", stop_reason="reported", child="s-j-1",
        result={"report": {"status": "success", "summary": "It is\x9b2J done"}},
    )  # fmt: skip
    for seq, event in enumerate((*started, done), 1):
        given = {"session": "s-lead", "seq": seq, "at": 1_000_000.0 + seq, "agent": "lead"}
        store.append(event.model_copy(update=given))
    store.close()


def test_jobs_are_listed_with_their_outcome_and_changes(workspace: Path, hub: Hub) -> None:
    """Those of stored runs, and those of which only the changes are left (item 9)."""
    assert hub("list").stdout == "No job is stored yet.\n"
    stored(workspace)
    changed(workspace, "j-1", a__txt="x\n", new="n\n")
    changed(workspace, "j-0", b__txt="B\n")
    lines = hub("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["JOB", "j-2", "j-1", "j-0"]
    assert "not ended" in lines[1]
    assert "2 files +2 -5, saved" in lines[2]
    assert "Do\\x1b[2J it" in lines[2]
    assert "1 file +1 -1, saved" in lines[3]
    only = hub("list", "--changes", "--json").stdout.splitlines()
    assert [json.loads(line)["job"] for line in only] == ["j-1", "j-0"]
    assert json.loads(only[0])["outcome"] == "done"
    assert json.loads(only[1])["outcome"] is None
    assert hub("list", "-C", workspace.parent).stdout == "No job is stored yet.\n"
    shown = hub("show", "j-1").stdout
    assert "It is\\x9b2J done" in shown
    assert "  a.txt +1 -5\n  new +1 -0\n" in shown
    given = json.loads(hub("show", "j-1", "--json").stdout)
    assert given["changes"]["files"][1] == {
        "path": "new", "insertions": 1, "deletions": 0, "binary": False,
    }  # fmt: skip
    assert (given["changes"]["state"], given["changes"]["applied"]) == ("saved", None)
    assert hub("show", "j-2").exit_code == 0
    for job in ("j-9", "j-"):
        assert hub("show", job).exit_code == 2


def test_a_patch_is_printed_safely_and_written_exactly(
    workspace: Path, hub: Hub, tmp_path: Path
) -> None:
    """No control character reaches the screen; the file holds every byte."""
    changed(workspace, "j-1", a__txt="x\x1b]0;owned\x07\r\n")
    result = hub("diff", "j-1")
    assert result.exit_code == 0
    assert "+x\\x1b]0;owned\\x07" in result.stdout
    assert "\x1b" not in result.stdout
    assert "-o FILE writes the exact patch" in result.stderr
    assert hub("diff", "j-1", "-o", tmp_path / "p").exit_code == 0
    assert b"+x\x1b]0;owned\x07\r\n" in (tmp_path / "p").read_bytes()
    git(workspace, "apply", "--check", str(tmp_path / "p"))
    assert "+x\x1b" in json.loads(hub("diff", "j-1", "--json").stdout)["patch"]
    assert hub("diff", "j-1", "-o", tmp_path / "no" / "p").exit_code == 2
    assert hub("diff", "j-2").exit_code == 2


def test_changes_are_applied_or_refused_as_a_whole_and_dropped(workspace: Path, hub: Hub) -> None:
    """0: applied, or there already; 1: conflict, nothing changed; 2: no such changes."""
    changed(workspace, "j-1", a__txt=TEXT.replace("one", "FIRST"), new="n\n")
    changed(workspace, "j-2", a__txt=TEXT.replace("one", "SECOND"), b__txt="B\n")
    result = hub("apply", "j-1")
    assert result.exit_code == 0
    assert result.stdout == f"Applied j-1 to {workspace}: 2 files\n  a.txt\n  new\n"
    assert (workspace / "a.txt").read_text() == TEXT.replace("one", "FIRST")
    assert "has all changes of j-1 already" in hub("apply", "j-1").stdout
    assert json.loads(hub("list", "--json").stdout.splitlines()[1])["changes"]["state"] == "applied"
    before = untouched(workspace)
    result = hub("apply", "j-2", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"job": "j-2", "applied": False, "conflicts": ["a.txt"]}
    assert "a.txt" in result.stderr
    assert untouched(workspace) == before
    git(workspace, "checkout", "-q", "a.txt")
    done = json.loads(hub("apply", "j-2", "--json").stdout)
    assert (done["applied"], done["files"]) == (True, ["a.txt", "b.txt"])
    dropped = hub("drop", "j-1", "j-2")
    assert (
        dropped.stdout
        == "Dropped the changes of j-1: 2 files.\nDropped the changes of j-2: 2 files.\n"
    )
    for command in ("apply", "diff", "drop"):
        assert hub(command, "j-1").exit_code == 2
    assert not list((workspace.parent / "state" / "jobs").glob("j-*"))


def test_a_kept_work_tree_is_told_and_dropped_with_the_rest(workspace: Path, hub: Hub) -> None:
    """Until then its files stay."""
    maker = Maker(workspace.parent / "state", ALONE)

    async def work() -> Record:
        with anyio.fail_after(30):
            record = await maker.make(Wanted("j-1", "s-1", "lead/worker#1", workspace))
            repository(Path(record.tree) / "inner", x="x")
            (Path(record.tree) / "new").write_text("new\n")
            await settle(maker.records, record, ALONE)
        return record

    tree = Path(anyio.run(work).tree)
    assert ", kept" in hub("list").stdout
    assert str(tree) in hub("show", "j-1").stdout
    result = hub("diff", "j-1")
    assert "+new" in result.stdout
    assert f"see {tree}" in result.stderr
    assert hub("drop", "j-1").exit_code == 0
    assert not tree.exists()
    assert len(git(workspace, "worktree", "list").splitlines()) == 1
