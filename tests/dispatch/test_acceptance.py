"""What has to hold before a child's report counts, and what a parent learns of it."""

import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hub.app.old_jobs import OldJobs, accepted_report
from hub.app.reporting import acceptance_commands
from hub.core import events as ev
from hub.core.acceptance import Acceptance
from hub.dispatch import claims
from hub.dispatch.commands import TAIL, Commands
from hub.testing.faulty.launch import wait_until_gone
from hub.testing.serving import serve_model
from tests.cases.test_kill import hub_run, until_written
from tests.repositories import repository
from tests.teams import (
    LIMIT,
    agents,
    ask,
    cancel_when,
    dispatch,
    imbalance,
    lead_to,
    of_type,
    report,
    store,
    team,
    team_folder,
    whole_log,
)

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    return folder


def say(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a turn with these calls."""
    return {"calls": list(calls), **more}


async def run(
    tmp_path: Path,
    workspace: Path,
    acceptance: Any,
    *helper: dict[str, Any],
    call: dict[str, Any] | None = None,
    fields: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[dict[str, Any], list[Any]]:
    """Run a lead with one child, and return the job's result and all events."""
    options.setdefault("mode", "bypass")
    given = {"tools": ["files__*", "shell__*"], **(fields or {})}
    if acceptance is not None:
        given["acceptance"] = acceptance
    folder = team_folder(tmp_path, lead=lead_to("helper", tools=[]), helper=given)
    lead = [say(call or dispatch("helper")), {"text": "ok"}]
    async with serve_model(agents(lead=lead, helper=list(helper))) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead", **options) as hub:
            _, events = await ask(hub, "go")
    assert not imbalance(whole_log(tmp_path, hub.session_id))
    [job] = of_type(events, "job.done")
    return job.result | {"outcome": job.outcome}, events


def told(events: list[Any]) -> dict[str, Any]:
    """Return the dispatch result as the parent's model reads it."""
    [result] = [e for e in of_type(events, "tool.result", "lead") if e.name == "dispatch"]
    body = result.text.removeprefix("<dispatch_result>\n").removesuffix("\n</dispatch_result>")
    found: dict[str, Any] = json.loads(body)
    return found


async def test_a_role_without_acceptance_is_taken_at_its_word(
    tmp_path: Path, workspace: Path
) -> None:
    """The default; the result says nothing of a check."""
    result, events = await run(tmp_path, workspace, None, say(report()))
    assert result["outcome"] == "done"
    assert "acceptance" not in told(events)


async def test_an_attested_report_has_to_say_what_was_checked(
    tmp_path: Path, workspace: Path
) -> None:
    """Without checks it is invalid, and the child is told so."""
    checks = [{"what": "the build", "how": "make", "result": "exit 0"}]
    result, events = await run(
        tmp_path, workspace, "attested", say(report()), say(report(checks=checks))
    )
    first, second = of_type(events, "report.submitted")
    assert (first.valid, second.valid) == (False, True)
    assert "checks" in first.errors[0]
    assert result["outcome"] == "done"
    assert told(events)["acceptance"] == {"kind": "attested", "passed": True}
    assert told(events)["report"]["checks"] == checks


async def test_work_that_does_not_pass_goes_back_to_the_child_with_the_output(
    tmp_path: Path, workspace: Path
) -> None:
    """It mends it, and the second report is accepted; parent and trace know what was run."""
    write = {"tool": "shell__run", "args": {"command": "echo done > done.txt"}}
    command = "cat done.txt"
    result, events = await run(
        tmp_path,
        workspace,
        {"command": command},
        say(report("early")),
        say(write),
        say(report("now")),
    )
    refused = of_type(events, "tool.result", "lead/helper#1")[0]
    assert refused.kind == "not_accepted"
    assert "exit code 1" in refused.text
    assert "No such file" in refused.text
    first, second = of_type(events, "report.submitted")
    assert (first.valid, first.accepted, first.acceptance["passed"]) == (True, False, False)
    assert second.accepted
    assert result["outcome"] == "done"
    assert result["report"]["summary"] == "now"
    accepted = {"kind": "command", "passed": True, "exit_code": 0, "output_tail": "done\n"}
    assert (told(events)["accepted"], told(events)["acceptance"]) == (True, accepted)


async def test_work_that_never_passes_ends_failed_after_three_tries(
    tmp_path: Path, workspace: Path
) -> None:
    """The parent gets the last report, and that it was not accepted."""
    helper = [say(report(f"try {n}")) for n in range(3)]
    result, events = await run(tmp_path, workspace, {"command": "echo no; exit 7"}, *helper)
    assert (result["outcome"], result["error"]["kind"]) == ("failed", "not_accepted")
    assert told(events)["accepted"] is False
    assert told(events)["report"]["summary"] == "try 2"
    assert told(events)["acceptance"]["exit_code"] == 7
    assert len(of_type(events, "report.submitted")) == 3


async def test_a_child_that_gives_up_after_a_refusal_has_failed(
    tmp_path: Path, workspace: Path
) -> None:
    """Words in place of another report leave the one that was refused."""
    words = [{"text": f"words {n}"} for n in range(4)]
    result, events = await run(
        tmp_path, workspace, {"command": "exit 1"}, say(report("early")), *words
    )
    assert (result["outcome"], result["error"]["kind"]) == ("failed", "not_accepted")
    assert told(events)["report"]["summary"] == "early"


@pytest.mark.parametrize("status", ["failed", "blocked"])
async def test_a_report_of_no_success_needs_no_command(
    tmp_path: Path, workspace: Path, status: str
) -> None:
    """There is nothing to accept, and the result says that nothing was run."""
    result, events = await run(
        tmp_path, workspace, {"command": "touch ran"}, say(report("no", status=status))
    )
    assert result["outcome"] == status
    assert told(events)["acceptance"] == {
        "kind": "command",
        "passed": None,
        "reason": f"not run: the report says {status}",
    }
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(
    ("chosen", "kind"), [("none", None), ("attested", "attested"), ("command", "command")]
)
async def test_a_dispatch_chooses_among_the_kinds(
    tmp_path: Path, workspace: Path, chosen: str, kind: str | None
) -> None:
    """The role's own command is the only one there is."""
    checks = [{"what": "a", "how": "b", "result": "c"}] if chosen == "attested" else None
    more = {"checks": checks} if checks else {}
    call = dispatch("helper", acceptance=chosen)
    _, events = await run(tmp_path, workspace, {"command": "true"}, say(report(**more)), call=call)
    assert told(events).get("acceptance", {}).get("kind") == kind


@pytest.mark.parametrize(
    ("chosen", "said"),
    [("command", "acceptance"), ({"command": "touch ran"}, "acceptance"), ("always", "acceptance")],
)
async def test_a_dispatch_cannot_bring_a_command(
    tmp_path: Path, workspace: Path, chosen: Any, said: str
) -> None:
    """Neither one of its own nor one that the role does not have; no job is started."""
    folder = team_folder(tmp_path, lead=lead_to("helper", tools=[]), helper={"tools": []})
    lead = [say(dispatch("helper", acceptance=chosen)), {"text": "ok"}]
    async with serve_model(agents(lead=lead)) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            _, events = await ask(hub, "go")
    [refused] = of_type(events, "tool.result")
    assert refused.is_error
    assert said in refused.text
    assert not of_type(events, "job.started")
    assert not (workspace / "ran").exists()


async def test_no_command_is_run_in_the_mode_plan(tmp_path: Path, workspace: Path) -> None:
    """It could change something."""
    _, events = await run(tmp_path, workspace, {"command": "touch ran"}, say(report()), mode="plan")
    assert told(events)["acceptance"]["reason"] == "not run: the mode plan runs no commands"
    assert not (workspace / "ran").exists()


async def test_the_last_word_of_a_child_at_its_limit_runs_nothing(
    tmp_path: Path, workspace: Path
) -> None:
    """The outcome stays ``limit``; the report is handed on unchecked and says so."""
    look = {"tool": "files__list"}
    result, events = await run(
        tmp_path,
        workspace,
        {"command": "touch ran"},
        say(look),
        say(report("half", status="partial")),
        fields={"limits": {"steps": 1}},
    )
    assert result["outcome"] == "limit"
    assert "limit" in told(events)["acceptance"]["reason"]
    assert not (workspace / "ran").exists()


async def test_a_cancel_ends_the_command_and_all_that_it_started(
    tmp_path: Path, workspace: Path
) -> None:
    """It runs in a group of its own, like a command of the shell server."""
    command = "sleep 600 & echo $! > pid; wait"
    folder = team_folder(
        tmp_path,
        lead=lead_to("helper", tools=[]),
        helper={"tools": [], "acceptance": {"command": command}},
    )
    lead = [say(dispatch("helper")), {"text": "ok"}]
    async with serve_model(agents(lead=lead, helper=[say(report())])) as server:
        async with team(server, workspace, tmp_path, team=folder, role="lead") as hub:
            async with anyio.create_task_group() as group:

                async def cancel() -> None:
                    with anyio.fail_after(LIMIT):
                        while not (workspace / "pid").exists() or not _pid(workspace):
                            await anyio.lowlevel.checkpoint()
                    hub.cancel("user")

                group.start_soon(cancel)
                result, events = await cancel_when(hub, "go", lambda event: False)
    assert result.outcome == "cancelled"
    [job] = of_type(events, "job.done")
    assert job.outcome == "cancelled"
    assert not _runs(_pid(workspace))


def _runs(pid: int) -> bool:
    """Say whether a process is there and is no zombie that waits for somebody to notice."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def _pid(workspace: Path) -> int:
    return int((workspace / "pid").read_text().strip() or 0)


async def test_a_command_that_takes_too_long_is_ended_and_does_not_accept(tmp_path: Path) -> None:
    """The verdict says so; there is no exit code."""
    with anyio.fail_after(LIMIT):
        verdict = await Commands(ENVIRON).run(
            Acceptance("command", "echo begun; sleep 600", 0.3), tmp_path
        )
    assert (verdict.passed, verdict.exit_code) == (False, None)
    assert verdict.output_tail == "begun\n"
    assert "0.3 s" in verdict.reason


async def test_output_is_cut_to_its_end_and_secrets_are_hidden(tmp_path: Path) -> None:
    """The end is where failures are told; bytes that are no text do no harm."""
    commands = acceptance_commands({**ENVIRON, "MY_TOKEN": "s3cr3t-value", "USER_NAME": "public"})
    command = "head -c 900000 /dev/zero | tr '\\0' x; printf '\\377'; echo s3cr3t-value public"
    verdict = await commands.run(Acceptance("command", command), tmp_path)
    assert verdict.passed
    assert verdict.output_tail.endswith("\ufffd${env:MY_TOKEN} public\n")
    assert TAIL < len(verdict.output_tail) < TAIL + 100
    assert "characters left out" in verdict.output_tail


async def test_the_command_sees_an_environment_from_an_allow_list(tmp_path: Path) -> None:
    """As a command of the shell server does."""
    commands = Commands({**ENVIRON, "OPENAI_API_KEY": "sk-secret", "LANG": "C"})
    verdict = await commands.run(Acceptance("command", "env"), tmp_path)
    assert "LANG=C" in verdict.output_tail
    assert "OPENAI" not in verdict.output_tail


async def test_a_folder_that_is_gone_does_not_accept(tmp_path: Path) -> None:
    """The verdict says what could not be started."""
    verdict = await Commands(ENVIRON).run(Acceptance("command", "true"), tmp_path / "gone")
    assert (verdict.passed, "does not exist" in verdict.reason) == (False, True)


async def test_files_of_a_report_are_looked_up_and_their_versions_recorded(
    tmp_path: Path, workspace: Path
) -> None:
    """In the event and in the result; what is not there, or not inside, is named."""
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    (workspace / "link").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(workspace / "pipe")
    (workspace / "sub").mkdir()
    claimed = ["a.txt", "gone.txt", "../outside.txt", "link", "sub", "pipe", "a\0b", "a.txt"]
    _, events = await run(tmp_path, workspace, None, say(report(files=claimed)))
    found = told(events)
    assert found["files_missing"] == ["gone.txt", "../outside.txt", "link", "a\0b"]
    status = (workspace / "a.txt").stat()
    assert found["file_versions"][0] == {
        "path": "a.txt",
        "size": 6,
        "mtime": status.st_mtime,
        "sha256": hashlib.sha256(b"alpha\n").hexdigest(),
    }
    assert [file["path"] for file in found["file_versions"]] == ["a.txt", "sub", "pipe"]
    [submitted] = of_type(events, "report.submitted")
    assert submitted.files == found["file_versions"]
    assert submitted.files_missing == found["files_missing"]
    [accepted] = of_type(events, "tool.result", "lead/helper#1")
    assert "gone.txt" in accepted.text


async def test_an_isolated_child_is_accepted_in_its_own_work_tree(tmp_path: Path) -> None:
    """Its command sees what it wrote, its files are looked up there, and no one else's folder."""
    workspace = repository(tmp_path / "work", a__txt="alpha\n")
    write = {"tool": "shell__run", "args": {"command": "echo new > made.txt"}}
    result, events = await run(
        tmp_path,
        workspace,
        {"command": "cat made.txt"},
        say(write),
        say(report(files=["made.txt"])),
        fields={"isolation": "worktree"},
    )
    assert result["outcome"] == "done"
    assert told(events)["acceptance"]["output_tail"] == "new\n"
    assert [file["path"] for file in told(events)["file_versions"]] == ["made.txt"]
    assert not (workspace / "made.txt").exists()


def test_a_stored_report_counts_only_if_it_was_accepted() -> None:
    """After a crash a refused one is not taken for the result; a job that failed keeps it."""
    given = {"status": "success", "summary": "early", "files": ["a"]}
    verdict = {"kind": "command", "passed": False, "exit_code": 1}
    refused = ev.ReportSubmitted(valid=True, report=given, accepted=False, acceptance=verdict)
    assert accepted_report([refused]) is None
    later = ev.ReportSubmitted(
        valid=True,
        report={**given, "summary": "now"},
        acceptance={"kind": "command", "passed": True, "exit_code": 0},
        files=[{"path": "a", "size": 1, "mtime": 2.0, "sha256": "x"}],
    )
    found = accepted_report([refused, later])
    assert found is not None
    assert found.summary == "now"
    assert found.checked.as_dict()["acceptance"]["passed"] is True
    assert found.checked.as_dict()["file_versions"][0]["sha256"] == "x"
    job = ev.JobStarted(
        job="j", role="r", task="t", call_id="c", child="s", child_agent="a/r#1", depth=1
    )
    end = ev.TurnDone(outcome="failed", stop_reason="reported", text="early")
    done = OldJobs([job]).settle(job, [refused, end])
    assert done.outcome == "failed"
    assert done.result["accepted"] is False
    assert done.result["report"]["summary"] == "early"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=str)
async def test_a47_an_acceptance_command_ends_with_the_run_and_its_job_is_settled(
    tmp_path: Path, workspace: Path, end: signal.Signals
) -> None:
    """To the last grandchild; on resume the job has one end, and its report did not count."""
    pids = tmp_path / "pids"
    command = f"sleep 300 & echo $! $$ >> {pids}; wait"
    given = {"tools": [], "acceptance": {"command": command}}
    folder = team_folder(tmp_path, lead=lead_to("helper", tools=[]), helper=given)
    script = agents(lead=[say(dispatch("helper")), {"text": "ok"}], helper=[say(report())])
    async with serve_model(script) as server:
        line = ("--team", str(folder), "--role", "lead")
        with hub_run(server, workspace, tmp_path, *line) as process:
            await until_written(pids, lines=1)
            process.send_signal(end)
            await anyio.to_thread.run_sync(process.wait)
        with anyio.fail_after(LIMIT):
            for pid in pids.read_text(encoding="utf-8").split():
                await wait_until_gone(int(pid))
        [root] = store(tmp_path).list_sessions()
        options: dict[str, Any] = {"team": folder, "role": "lead", "resume": root.id}
        async with team(server, workspace, tmp_path, **options):
            pass
    events = whole_log(tmp_path, root.id)
    assert not imbalance(events)
    [job] = of_type(events, "job.done")
    assert job.outcome == ("lost" if end is signal.SIGKILL else "cancelled")
    assert job.result["report"] is None


async def test_a_child_whose_time_is_over_in_its_command_reports_unchecked(
    tmp_path: Path, workspace: Path
) -> None:
    """The command ends with the time; the last word is taken, and runs none."""
    result, events = await run(
        tmp_path,
        workspace,
        {"command": "sleep 600"},
        say(report("first")),
        say(report("last", status="partial")),
        fields={"limits": {"seconds": 1.0}},
    )
    assert (result["outcome"], result["stop_reason"]) == ("limit", "deadline")
    assert told(events)["report"]["summary"] == "last"
    assert "limit" in told(events)["acceptance"]["reason"]


async def test_a_report_of_many_and_large_files_costs_a_bounded_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the bound size and time are told, no content is read; too many are missing."""
    monkeypatch.setattr(claims, "MAX_BYTES", 10)
    monkeypatch.setattr(claims, "MAX_CLAIMED", 4)
    for name, size in (("a", 8), ("b", 8), ("c", 2), ("d", 1), ("e", 1)):
        (tmp_path / name).write_bytes(b"x" * size)
    found, missing = await claims.looked_up(tmp_path, ["a", "b", "c", "d", "e"])
    assert [(file.path, file.size, bool(file.sha256)) for file in found] == [
        ("a", 8, True),
        ("b", 8, False),
        ("c", 2, True),
        ("d", 1, False),
    ]
    assert missing == ("e",)
