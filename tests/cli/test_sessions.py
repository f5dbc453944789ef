"""``hub sessions``: lists and transcripts of a real store."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app
from hub.core import events as ev
from hub.sessions.store import SqliteStore

START = 1_000_000.0
BAD = "\x1b]0;x\x07\x9b2J\u202e"
Hub = Callable[..., Result]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are shown in the local zone; here that is UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """An empty store that the command line finds."""
    monkeypatch.setenv("HUB_STATE_DIR", str(tmp_path / "state"))
    return SqliteStore(tmp_path / "state" / "hub.db", now=lambda: START)


@pytest.fixture
def hub(store: SqliteStore) -> Hub:
    """The command line on that store."""
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def keep(store: SqliteStore, session: str, parent: str, role: str, *events: ev.Event) -> None:
    """Store a session."""
    store.create(session, parent=parent, role=role, workspace="/project")
    for seq, event in enumerate(events, 1):
        given = {"session": session, "seq": seq, "at": START + seq, "turn": 1}
        store.append(event.model_copy(update=given))


@pytest.fixture
def family(store: SqliteStore) -> None:
    """A lead with a child that did some work."""
    call = ev.Call(id="d", name="dispatch", arguments="{}")
    report = {"report": {"status": "success", "summary": "14 files"}}
    keep(
        store,
        "s-0lead",
        "",
        "lead",
        ev.SessionStarted(role="lead", model="script:team", workspace="/project", tools=["a", "b"]),
        ev.TurnStarted(),
        ev.UserMessageEvent(text="Count the files.\nAll of them."),
        ev.AssistantMessageEvent(text="The explorer will.", calls=[call], finish="tool_calls"),
        ev.UsageEvent(input_tokens=1000, output_tokens=20),
        ev.ToolCallEvent(call_id="d", name="dispatch", arguments='{"role":"explorer"}'),
        ev.JobStarted(
            job="j",
            role="explorer",
            task="Count",
            call_id="d",
            child="s-1child",
            child_agent="lead/explorer#1",
            depth=1,
        ),
        ev.JobDone(
            job="j",
            role="explorer",
            outcome="done",
            stop_reason="reported",
            child="s-1child",
            result=report,
        ),
        ev.ToolResultEvent(call_id="d", name="dispatch", text="14 files"),
        ev.AssistantMessageEvent(text="There are 14 files.", finish="stop"),
        ev.TurnDone(
            outcome="done",
            stop_reason="completed",
            text="There are 14 files.",
            steps=2,
            input_tokens=1000,
            output_tokens=20,
            duration_ms=2400,
        ),
    )
    keep(
        store,
        "s-1child",
        "s-0lead",
        "explorer",
        ev.SessionStarted(role="explorer", model="script:team", workspace="/project", depth=1),
        ev.UserMessageEvent(text="Count"),
        ev.ToolCallEvent(call_id="x", name="files__glob", arguments=f'{{"pattern":"{BAD}"}}'),
        ev.ToolRulingEvent(
            call_id="x", name="files__glob", ruling="ask", reason="rule", origin="a.yaml:3"
        ),
        ev.ToolResultEvent(
            call_id="x",
            name="files__glob",
            text="\n".join(f"file {n}" for n in range(14)),
            duration_ms=1200,
        ),
        ev.ToolResultEvent(
            call_id="y", name="files__read", text=f"no such file {BAD}", is_error=True
        ),
        ev.ReportSubmitted(valid=False, errors=["summary: missing"]),
        ev.TurnDone(outcome="done", stop_reason="reported", steps=1, error=None),
    )


def test_without_a_store_there_is_nothing_and_none_is_made(hub: Hub, tmp_path: Path) -> None:
    """Looking creates no file."""
    assert hub("sessions", "list").stdout == "No session is stored yet.\n"
    assert not (tmp_path / "state").exists()


@pytest.mark.usefixtures("family")
def test_the_list_shows_roots_with_task_outcome_and_tokens_of_the_tree(hub: Hub) -> None:
    """Children are listed when asked for; JSON is one object a line."""
    lines = hub("sessions", "list").stdout.splitlines()
    assert lines[0].split() == [
        "SESSION",
        "LAST",
        "USED",
        "ROLE",
        "OUTCOME",
        "TURNS",
        "TOKENS",
        "TASK",
    ]
    assert lines[1].split("  ")[0] == "s-0lead"
    assert lines[1].endswith("lead  done     1      1.0k    Count the files.")
    assert len(lines) == 2
    both = hub("sessions", "list", "--children", "--json").stdout.splitlines()
    assert {json.loads(line)["session_id"] for line in both} == {"s-0lead", "s-1child"}


@pytest.mark.usefixtures("family")
def test_only_runs_on_one_folder_are_listed_when_asked_for(hub: Hub) -> None:
    """``-C`` narrows the list."""
    assert "s-0lead" in hub("sessions", "list", "-C", "/project").stdout
    assert "No session" in hub("sessions", "list", "-C", "/elsewhere").stdout


@pytest.mark.usefixtures("family")
def test_a_transcript_holds_the_children_where_they_were_dispatched(
    hub: Hub, golden: Callable[[str, str], None]
) -> None:
    """Messages, calls, rulings, results, ends; a child inside of its parent; hostile text inert."""
    result = hub("sessions", "show", "s-0")
    assert result.exit_code == 0, result.output
    golden("transcript.txt", result.stdout)
    full = hub("sessions", "show", "s-0", "--full").stdout
    assert "more lines" not in full
    assert "file 13" in full


@pytest.mark.usefixtures("family")
def test_a_transcript_as_json_holds_every_event(hub: Hub) -> None:
    """One object: summary, events, children inside."""
    shown = json.loads(hub("sessions", "show", "s-0lead", "--json").stdout)
    assert (shown["session_id"], len(shown["events"])) == ("s-0lead", 11)
    [child] = shown["children"]
    assert (child["session_id"], child["parent_session_id"]) == ("s-1child", "s-0lead")
    assert (shown["parent_session_id"], "id" in shown) == ("", False)
    assert shown["children"][0]["events"][2]["arguments"] == f'{{"pattern":"{BAD}"}}'
    assert ev.parse_event(json.dumps(shown["events"][0])).session == "s-0lead"


@pytest.mark.usefixtures("family")
def test_an_unknown_session_is_an_error_with_the_nearest_ids(hub: Hub) -> None:
    """Exit code 2 and a hint, no traceback."""
    result = hub("sessions", "show", "s-0laed")
    assert result.exit_code == 2
    assert "s-0lead" in result.stderr
    ambiguous = hub("sessions", "show", "s-")
    assert ambiguous.exit_code == 2
    assert "sessions begin with" in ambiguous.stderr


def test_a_file_that_is_no_store_is_a_clear_error(hub: Hub, tmp_path: Path) -> None:
    """The path and what to do are named."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "hub.db").write_text("not a database, but long enough" * 100)
    Path(tmp_path / "state" / "hub.db").chmod(0o600)
    result = hub("sessions", "list")
    assert result.exit_code == 1
    assert "hub.db" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_transcript_into_a_pipe_that_nobody_reads_ends_quietly(
    store: SqliteStore, tmp_path: Path
) -> None:
    """``hub sessions show … | head`` prints neither traceback nor warning."""
    said = [ev.AssistantMessageEvent(text="word " * 5000, finish="stop") for _ in range(20)]
    keep(store, "s-long", "", "lead", *said)
    store.close()
    process = subprocess.Popen(
        [sys.executable, "-m", "hub.cli.main", "sessions", "show", "s-long"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, told = process.communicate(timeout=60)
    assert told == b""
