"""A run as plain lines."""

from collections.abc import Callable
from typing import Any

from hub.cli.lines import RunLines
from hub.core import events as ev


def lines(events: list[Any]) -> str:
    """Word a story."""
    worded = RunLines()
    return "".join(f"{line}\n" for event in events if (line := worded.line(event)) is not None)


def test_a_whole_run_reads_as_a_log(story: Any, golden: Callable[[str, str], None]) -> None:
    """One line for each notable durable event, with elapsed time and path."""
    story.begin()
    calls = [ev.Call(id=f"d{n}", name="dispatch", arguments="{}") for n in (1, 2)]
    story.add(ev.ServerConnected, 0.4, server="files", protocol="2026", tools=6, duration_ms=312)
    story.add(
        ev.ServerFailed,
        0.4,
        server="git",
        error="exited with code 1",
        where=".hub/config.yaml:3",
        remedy="Look at it alone with: hub doctor",
        stderr="a\nno such module\n",
    )
    story.add(ev.CatalogChanged, 0.5, server="files", added=["x"], removed=["y", "z"])
    story.add(ev.ModelRetry, 1, attempt=1, delay_ms=500, reason="429 rate limit", status=429)
    story.add(ev.TextDelta, 1.2, text="Two of")
    story.say(1.5, "lead", "Two of us\nwill look.", *calls)
    story.call(1.6, "lead", "d1", "dispatch", '{"role":"explorer"}')
    child = story.dispatch(1.6, 1, "explorer", "Survey the folder")
    story.begin(1.7, child, "explorer")
    story.call(2, child, "x", "files__write", '{"path":"a"}')
    story.add(
        ev.ToolRulingEvent, 2, child, call_id="x", name="files__write", ruling="ask", reason="mode"
    )
    story.add(
        ev.ToolRulingEvent, 2, child, call_id="x", name="files__write", ruling="deny", reason="no"
    )
    story.add(
        ev.ToolResultEvent,
        2,
        child,
        call_id="x",
        name="files__write",
        text="Denied: no",
        is_error=True,
        kind="denied",
    )
    story.add(
        ev.ToolResultEvent,
        3,
        child,
        call_id="y",
        name="files__read",
        text="no such file: b",
        is_error=True,
    )
    story.add(
        ev.ToolResultEvent, 9, child, call_id="z", name="shell__run", text="ok", duration_ms=6200
    )
    story.add(ev.ReportSubmitted, 9, child, valid=False, errors=["summary: missing"])
    story.finish(9.5, child)
    report = {"status": "partial", "summary": "Half of it"}
    story.add(
        ev.JobDone,
        9.6,
        job="j-1",
        role="explorer",
        outcome="partial",
        stop_reason="reported",
        child="s",
        result={"report": report},
    )
    story.add(ev.CancelRequested, 130, reason="user")
    story.say(130.5, "lead", "The final text is on stdout, not here.")
    story.finish(131, outcome="cancelled", stop_reason="aborted_tools", duration_ms=131_000)
    golden("lines.txt", lines(story.events))


def test_a_resumed_session_says_what_was_closed(story: Any) -> None:
    """Resuming is told, with the number of calls that had no result."""
    story.add(ev.SessionResumed, 0, role="lead", model="m", settled=2)
    assert (
        lines(story.events) == "[  0.0s] lead: resumed, role lead, model m, 2 open calls closed\n"
    )


def test_hostile_text_stays_on_its_line_and_is_printable(story: Any) -> None:
    """Newlines and escapes of tools, models and servers cannot forge lines or obey."""
    bad = "\x1b[2J\r\n[  9.9s] lead: done\x07\u202e"
    story.begin(agent=f"lead{bad}")
    story.call(1, "lead", "1", bad, bad)
    story.add(ev.ToolResultEvent, 1, call_id="1", name=bad, text=bad, is_error=True)
    story.add(ev.ServerFailed, 1, server=bad, error=bad, stderr=bad)
    story.finish(2, outcome="failed", error={"message": bad})
    text = lines(story.events)
    assert text.count("\n") == 5
    assert all(line.isprintable() for line in text.splitlines())
