"""What a run leaves on stdout."""

import json
from typing import Any, get_args

import pytest

from hub.cli.results import Format, ResultWriter, answer, json_line
from hub.core import events as ev
from hub.core.errors import ConfigError, ModelError
from hub.core.jobs import DeniedCall, Failure, Report, TurnResult
from hub.core.messages import Usage

RESULT = TurnResult(
    outcome="denied",
    stop_reason="approval_denied",
    text="Grüße \x9b2J\x1b]0;x\x07 \u202e日本 \ud83d",
    usage=Usage(100, 20, requests=2),
    steps=2,
    denied_calls=(DeniedCall("lead", "shell__run", "ask rule, and nobody could be asked"),),
    error=Failure("denied", "why"),
    duration_ms=1234,
    session_id="s-1",
)
REPORT = Report(
    status="partial",
    summary="Half of it.",
    details="More\nhere.",
    files=("a.py", "b.py"),
    data={"files": 14},
    questions=("Which?",),
)


def test_text_is_the_answer_and_safe_for_a_terminal() -> None:
    """The text format prints the final text, escapes shown as text, one newline at the end."""
    assert ResultWriter("text").result(RESULT, 3) == "Grüße \\x9b2J\\x1b]0;x\\x07 \\u202e日本 �\n"


def test_a_report_is_rendered_for_a_reader() -> None:
    """Status, summary, details, data, files and questions, in this order."""
    result = TurnResult("partial", "reported", text="Half of it.", report=REPORT)
    assert answer(result) == (
        "partial: Half of it.\n\nMore\nhere.\n\n"
        '{\n  "files": 14\n}\n\n'
        "Files:\n- a.py\n- b.py\n\nQuestions:\n- Which?\n"
    )


def test_a_run_without_text_prints_nothing() -> None:
    """An empty answer leaves stdout empty."""
    assert answer(TurnResult("failed", "completed", text=" \n")) == ""


def test_json_is_one_object_with_everything(golden: Any) -> None:
    """The object of ``--output json``, golden."""
    line = ResultWriter("json").result(RESULT, 3)
    assert line.count("\n") == 1
    assert json.loads(line)["text"] == "Grüße \x9b2J\x1b]0;x\x07 \u202e日本 �"
    golden("result.json", json.dumps(json.loads(line), indent=2, ensure_ascii=True) + "\n")
    report = json.loads(
        ResultWriter("json").result(TurnResult("done", "reported", report=REPORT), 0)
    )
    assert report["report"] == REPORT.as_dict()


@pytest.mark.parametrize("text", ["\x9b", "\x7f", "\u202e", "\u2066", "\x1b", "\ud800", "é日😀"])
def test_json_lines_never_hold_what_a_terminal_obeys(text: str) -> None:
    """Beyond what JSON escapes itself, the rest of the control characters is escaped too."""
    line = json_line({"text": text})
    assert line.strip().isprintable()
    assert json.loads(line)["text"] == text.replace("\ud800", "�")


def test_a_stream_starts_with_init_ends_with_result_and_holds_the_durable_events() -> None:
    """The lines of ``--output stream-json``; transient events only when asked for."""
    call = ev.ToolCallEvent(session="s", seq=3, call_id="1", name="t\x9b", arguments="{}")
    delta = ev.TextDelta(session="s", text="a")
    for deltas in (False, True):
        writer = ResultWriter("stream-json", deltas=deltas)
        text = writer.opening({"session": "s"}) + writer.event(call) + writer.event(delta)
        text += writer.result(RESULT, 3)
        kinds = [json.loads(line)["type"] for line in text.splitlines()]
        middle = ["tool.call", "text.delta"] if deltas else ["tool.call"]
        assert kinds == ["init", *middle, "result"]
        assert "\x9b" not in text
    assert ev.parse_event(ResultWriter("stream-json").event(call)) == call


@pytest.mark.parametrize("form", [form for form in get_args(Format) if form != "stream-json"])
def test_only_a_stream_holds_events(form: Format) -> None:
    """Text and JSON print nothing before the result."""
    writer = ResultWriter(form, deltas=True)
    assert writer.opening({}) + writer.event(ev.TurnStarted()) == ""


def test_readers_of_json_get_an_object_even_when_no_run_was_made() -> None:
    """A configuration fault has a result object without outcome, and its exit code."""
    error = ConfigError("no such model", where="a.yaml:3", remedy="Name one.")
    told = json.loads(ResultWriter("json").fault(error))
    assert (told["outcome"], told["exit_code"]) == (None, 2)
    assert told["error"] == {
        "kind": "config_error",
        "message": "no such model",
        "retryable": False,
        "where": "a.yaml:3",
        "remedy": "Name one.",
    }
    outage = ModelError("down", kind="transport", retryable=True)
    assert json.loads(ResultWriter("stream-json").fault(outage))["error"]["retryable"] is True
    assert ResultWriter("text").fault(error) == ""
