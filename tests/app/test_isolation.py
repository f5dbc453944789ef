"""Children in git work trees of their own, through the whole house."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.app.inspect import list_sessions
from hub.app.isolation import recovered
from hub.testing.serving import serve_model
from hub.worktrees.records import Record, Records
from tests.repositories import git, repository, untouched
from tests.teams import (
    LIMIT,
    agents,
    ask,
    cancel_when,
    dispatch,
    environment,
    imbalance,
    lead_to,
    of_type,
    report,
    team,
    team_folder,
    whole_log,
)

WORKER = {"isolation": "worktree", "tools": ["*"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a repository of two files."""
    return repository(tmp_path / "work", a__txt="one\ntwo\nthree\nfour\nfive\n", b__txt="b\n")


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """Return the call that changes a file."""
    return {"tool": "files__edit", "args": {"path": path, "old": old, "new": new}}


def shell(command: str) -> dict[str, Any]:
    """Return the call that runs a command."""
    return {"calls": [{"tool": "shell__run", "args": {"command": command}}]}


def records(tmp_path: Path) -> list[Record]:
    """Return what is kept of the jobs."""
    return Records(tmp_path / "state").all()


def results(events: list[Any]) -> list[Any]:
    """Return what dispatching came to."""
    return [event.result for event in of_type(events, "job.done")]


async def test_a_child_works_in_a_copy_and_its_parent_gets_the_diff(
    tmp_path: Path, workspace: Path
) -> None:
    """Its files, shell and own server work there; uncommitted and named files are there (9)."""
    (workspace / "a.txt").write_text("ONE\ntwo\nthree\nfour\nfive\n")
    (workspace / "named.txt").write_text("named")
    before = untouched(workspace)
    script = agents(
        lead=[
            {"calls": [dispatch("worker", files=["named.txt"])]},
            shell("pwd"),
            {"text": "{{ last[0].text }}"},
        ],
        worker=[
            shell("pwd; cat a.txt named.txt; echo new > made.txt"),
            {"calls": [edit("b.txt", "b", "child")]},
            {"calls": [report(files=["made.txt"])]},
        ],
    )
    folder = team_folder(tmp_path, lead=lead_to("worker"), worker=WORKER)
    async with (
        serve_model(script) as server,
        team(server, workspace, tmp_path, team=folder, role="lead") as hub,
    ):
        result, events = await ask(hub, "go")
        asked = [r for r in server.requests if "I am worker." in json.dumps(r.body)]
    assert result.outcome == "done"
    (job,) = of_type(events, "job.started")
    tree = str(tmp_path / "state" / "worktrees" / job.job)
    said = [e.text for e in of_type(events, "tool.result", "lead/worker#1") if "shell" in e.name]
    assert tree in said[0]
    assert "ONE" in said[0]
    assert "named" in said[0]
    assert str(workspace) in result.text
    assert tree not in result.text
    first = asked[0].body["messages"][-1]["content"]
    assert f"<workspace>\nYou work in a git work tree of your own: {tree}\n" in first
    (done,) = results(events)
    changes = done["changes"]
    assert (changes["files"], changes["insertions"], changes["deletions"]) == (2, 2, 1)
    assert (changes["job"], changes["hint"]) == (job.job, f"hub jobs diff {job.job}")
    assert changes["paths"] == ["b.txt", "made.txt"]
    assert "+child" in changes["diff"]
    (told,) = [e for e in of_type(events, "tool.result", "lead") if e.name == "dispatch"]
    assert '"changes"' in told.text
    assert done["file_versions"][0]["path"] == "made.txt"
    assert untouched(workspace) == before
    assert not Path(tree).exists()
    assert [record.state for record in records(tmp_path)] == ["saved"]
    assert not imbalance(whole_log(tmp_path, hub.session_id))
    (child,) = [e for e in of_type(events, "session.started") if e.parent]
    assert child.workspace == tree


async def test_two_children_over_one_file_lose_no_write(tmp_path: Path, workspace: Path) -> None:
    """Each has the file as it was, and both diffs are kept; an edge and a dispatch ask for it."""
    before = untouched(workspace)
    both = {"calls": [dispatch("first"), dispatch("second", isolation="worktree")]}
    script = agents(
        lead=[both, {"text": "ok"}],
        first=[{"calls": [edit("a.txt", "one", "FIRST")]}, {"calls": [report()]}],
        second=[{"calls": [edit("a.txt", "one", "SECOND")]}, {"calls": [report()]}],
    )
    edge = {"role": "first", "isolation": "worktree"}
    folder = team_folder(
        tmp_path, lead=lead_to(edge, "second"), first={"tools": ["*"]}, second={"tools": ["*"]}
    )
    async with (
        serve_model(script) as server,
        team(server, workspace, tmp_path, team=folder, role="lead") as hub,
    ):
        _, events = await ask(hub, "go")
    diffs = [result["changes"]["diff"] for result in results(events)]
    assert sorted("FIRST" in diff for diff in diffs) == [False, True]
    assert sorted("SECOND" in diff for diff in diffs) == [False, True]
    assert untouched(workspace) == before
    assert len(records(tmp_path)) == 2


async def test_those_below_work_where_their_parent_works(tmp_path: Path, workspace: Path) -> None:
    """A grandchild without isolation shares the work tree; one with it gets a copy of that."""
    script = agents(
        lead=[{"calls": [dispatch("worker")]}, {"text": "ok"}],
        worker=[
            shell("echo new > new.txt"),
            {"calls": [dispatch("helper", files=["new.txt"])]},
            {"calls": [dispatch("copier", files=["new.txt"])]},
            shell("cat b.txt new.txt"),
            {"calls": [report("{{ last[0].text }}")]},
        ],
        helper=[{"calls": [edit("b.txt", "b", "helper")]}, {"calls": [report()]}],
        copier=[
            shell("cat b.txt; echo more >> new.txt"),
            {"calls": [report("{{ last[0].text }}")]},
        ],
    )
    folder = team_folder(
        tmp_path,
        lead=lead_to("worker"),
        worker={**WORKER, "dispatch": ["helper", "copier"]},
        helper={"tools": ["*"]},
        copier=WORKER,
    )
    async with (
        serve_model(script) as server,
        team(server, workspace, tmp_path, team=folder, role="lead") as hub,
    ):
        _, events = await ask(hub, "go")
    done = {result["role"]: result for result in results(events)}
    assert "changes" not in done["helper"]
    assert "helper" in done["copier"]["report"]["summary"]
    assert done["copier"]["changes"]["paths"] == ["new.txt"]
    assert "helper\nnew\n" in done["worker"]["report"]["summary"]
    assert done["worker"]["changes"]["paths"] == ["b.txt", "new.txt"]
    assert (workspace / "b.txt").read_text() == "b\n"


async def test_what_cannot_be_isolated_is_refused_or_fails_and_does_not_run(
    tmp_path: Path, workspace: Path
) -> None:
    """No repository: the dispatch is refused; filters: the job fails and says why."""
    (plain := tmp_path / "plain").mkdir()
    (workspace / ".gitattributes").write_text("*.bin filter=lfs\n")
    git(workspace, "add", ".gitattributes")
    script = agents(
        lead=[{"calls": [dispatch("worker")]}, {"text": "ok"}] * 2,
        worker=[{"calls": [report()]}],
    )
    folder = team_folder(tmp_path, lead=lead_to("worker"), worker=WORKER)
    async with serve_model(script) as server:
        async with team(server, plain, tmp_path, team=folder, role="lead") as hub:
            _, events = await ask(hub, "go")
        (told,) = [e for e in of_type(events, "tool.result", "lead") if e.name == "dispatch"]
        assert told.kind == "dispatch_refused"
        assert "not in the work tree of a git repository" in told.text
        assert not of_type(events, "job.started")
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            _, events = await ask(hub, "go")
    (done,) = results(events)
    assert (done["outcome"], done["error"]["kind"]) == ("failed", "isolation")
    assert "content filter" in done["error"]["message"]
    assert not of_type(events, "session.started", "lead/worker#1")


async def test_a_cancelled_child_leaves_its_diff(tmp_path: Path, workspace: Path) -> None:
    """What its command wrote is saved once the command has ended; nothing else is left (item 6)."""
    before = untouched(workspace)
    script = agents(
        lead=[{"calls": [dispatch("worker")]}],
        worker=[shell("echo half > half.txt; echo started; sleep 60")],
    )
    folder = team_folder(tmp_path, lead=lead_to("worker"), worker=WORKER)
    tree = tmp_path / "state" / "worktrees"

    def begun(event: Any) -> bool:
        return bool(event.agent == "lead/worker#1" and event.type == "tool.progress")

    async with (
        serve_model(script) as server,
        team(server, workspace, tmp_path, team=folder, role="lead") as hub,
    ):
        result, events = await cancel_when(hub, "go", begun)
    assert result.outcome == "cancelled"
    (done,) = results(events)
    assert done["outcome"] == "cancelled"
    assert done["changes"]["paths"] == ["half.txt"]
    assert untouched(workspace) == before
    assert not any(tree.iterdir())


async def test_a_child_that_is_cancelled_before_its_work_tree_is_made_leaves_nothing(
    tmp_path: Path, workspace: Path
) -> None:
    """Its job ends all the same, once."""
    before = untouched(workspace)
    script = agents(lead=[{"calls": [dispatch("worker")]}], worker=[{"calls": [report()]}])
    folder = team_folder(tmp_path, lead=lead_to("worker"), worker=WORKER)
    async with (
        serve_model(script) as server,
        team(server, workspace, tmp_path, team=folder, role="lead") as hub,
    ):
        result, events = await cancel_when(hub, "go", lambda event: event.type == "job.started")
    assert result.outcome == "cancelled"
    assert [done["outcome"] for done in results(events)] == ["cancelled"]
    assert untouched(workspace) == before
    assert records(tmp_path) == []
    assert not any((tmp_path / "state").glob("worktrees/*"))
    assert not imbalance(whole_log(tmp_path, hub.session_id))


async def test_servers_of_an_isolated_child_work_in_its_work_tree(
    tmp_path: Path, workspace: Path
) -> None:
    """A process of its own there, ended with it; one that is given the workspace is refused."""
    program = (
        "import os\nfrom mcp.server import MCPServer\nserver = MCPServer('where')\n"
        "@server.tool()\ndef where() -> str:\n"
        "    'Say where it runs.'\n    return f'{os.getpid()} {os.getcwd()}'\n"
        "server.run('stdio')\n"
    )
    script = agents(
        lead=[
            {"calls": [{"tool": "own__where", "args": {}}]},
            {"calls": [dispatch("worker")]},
            {"calls": [{"tool": "own__where", "args": {}}]},
            {"text": "ok"},
        ],
        worker=[
            {"calls": [{"tool": "own__where", "args": {}}, {"tool": "given__where", "args": {}}]},
            {"calls": [report()]},
        ],
    )
    folder = team_folder(tmp_path, lead=lead_to("worker", tools=["*"]), worker=WORKER)
    chosen = [
        text
        for name, more in (("own", []), ("given", [str(workspace)]))
        for text in (
            f"servers.{name}.command={sys.executable}",
            f"servers.{name}.args={json.dumps(['-c', program, *more])}",
        )
    ]
    async with (
        serve_model(script) as server,
        team(server, workspace, tmp_path, team=folder, role="lead", assignments=chosen) as hub,
    ):
        _, events = await ask(hub, "go")
    (job,) = of_type(events, "job.started")
    said = [e for e in of_type(events, "tool.result") if e.name.endswith("where")]
    first, own, given, last = said
    tree = str(tmp_path / "state" / "worktrees" / job.job)
    assert str(workspace) in first.text
    assert first.text == last.text
    assert own.text.endswith(tree)
    with pytest.raises(ProcessLookupError):
        os.kill(int(own.text.split()[0]), 0)
    assert given.is_error
    assert "cannot work in a work tree. The call did not run." in given.text


async def test_after_kill_nine_the_work_is_there_and_the_workspace_untouched(
    tmp_path: Path, workspace: Path
) -> None:
    """The next look saves the diff; the session, gone on with, tells of it (item 7)."""
    before = untouched(workspace)
    script = agents(
        lead=[{"calls": [dispatch("worker")]}, {"text": "ok"}],
        worker=[{"calls": [edit("a.txt", "one", "SAVED")]}, shell("touch ready; sleep 60")],
    )
    folder = team_folder(tmp_path, lead=lead_to("worker"), worker=WORKER)
    tree = tmp_path / "state" / "worktrees"
    async with serve_model(script) as server:
        env = environment(server, tmp_path)
        line = [sys.executable, "-m", "hub", "run", "go", "--mode", "bypass", "--role", "lead"]
        process = await anyio.open_process(
            [*line, "--team", str(folder), "-C", str(workspace)],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with anyio.fail_after(LIMIT):
            while not any(tree.glob("*/ready")):  # noqa: ASYNC110 - another process makes the file
                await anyio.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        assert untouched(workspace)[:3] == before[:3]
        with anyio.fail_after(LIMIT):
            await recovered(env)
        (record,) = records(tmp_path)
        assert [file.path for file in record.files] == ["a.txt", "ready"]
        assert untouched(workspace) == before
        (session,) = list_sessions(5, environ=env)
        async with team(server, workspace, tmp_path, team=folder, resume=session.id) as hub:
            _, _ = await ask(hub, "go on")
    log = whole_log(tmp_path, session.id)
    (done,) = results(log)
    assert done["outcome"] == "lost"
    assert done["changes"]["paths"] == ["a.txt", "ready"]
    assert not imbalance(log)
