"""The picture of a run, as golden screens of 80 columns."""

from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, Group

from hub.cli.agents import RunAgents
from hub.cli.figures import short_count, short_time
from hub.cli.picture import picture
from hub.core import events as ev

START = 1_000_000.0
Check = Callable[[str, str], None]


def screen(events: list[Any], at: float, *, width: int = 80, height: int = 24) -> str:
    """Draw a story as text."""
    agents = RunAgents()
    for event in events:
        agents.apply(event)
    lines = picture(agents, START + at, width=width, height=height)
    assert all(cell_len(line.plain) <= width for line in lines)
    return "\n".join(line.plain.rstrip() for line in lines) + "\n"


@pytest.fixture
def team(story: Any) -> Any:
    """A lead with two children at work, one of them with a child of its own."""
    story.begin()
    calls = [ev.Call(id=f"d{n}", name="dispatch", arguments="{}") for n in (1, 2)]
    story.say(1.5, "lead", "Two of us will look at it.", *calls)
    for number, role in enumerate(("explorer", "reviewer"), 1):
        story.call(1.6, "lead", f"d{number}", "dispatch", f'{{"role":"{role}","task":"Survey"}}')
        child = story.dispatch(1.6, number, role, "Survey the folder and count the files")
        story.begin(1.7, child, role)
    first, second = "lead/explorer#1", "lead/reviewer#2"
    story.say(2.5, first, "", ev.Call(id="x", name="files__grep", arguments="{}"))
    story.call(2.6, first, "x", "files__grep", '{"pattern":"TODO","path":"src/パッケージ/глава"}')
    story.add(ev.TextDelta, 3.0, second, text="The tests pass.\nNow for the ")
    story.add(ev.TextDelta, 3.1, second, text="documentation, which is")
    return story


def test_a_team_at_work(team: Any, golden: Check) -> None:
    """Guides, states, current tools with arguments, streaming text, steps, tokens, times."""
    golden("team.txt", screen(team.events, 3.3))


def test_a_team_with_a_question_a_retry_and_a_broken_server(team: Any, golden: Check) -> None:
    """What needs attention is visible."""
    first, second = "lead/explorer#1", "lead/reviewer#2"
    team.add(
        ev.ToolRulingEvent, 4, first, call_id="x", name="files__grep", ruling="ask", reason="mode"
    )
    team.add(ev.ModelRetry, 4, second, attempt=2, delay_ms=8000, reason="429 slow down", status=429)
    team.add(ev.ServerFailed, 4, server="git", error="command not found: mcp-server-git")
    golden("trouble.txt", screen(team.events, 65.0))


def test_a_team_that_is_done(team: Any, golden: Check) -> None:
    """Outcomes take the place of states, summaries that of tools, and clocks stand still."""
    for number, (role, outcome) in enumerate((("explorer", "done"), ("reviewer", "blocked")), 1):
        report = {"status": "success", "summary": f"The {role} has looked at all 14 files."}
        team.finish(5, f"lead/{role}#{number}", outcome)
        team.add(
            ev.JobDone,
            5.1,
            job=f"j-{number}",
            role=role,
            outcome=outcome,
            stop_reason="reported",
            child="s",
            result={"report": report},
        )
    team.say(6, "lead", "Both have reported.")
    team.finish(6.2, text="There are 14 files.\nNothing is missing.")
    golden("done.txt", screen(team.events, 1000.0))


def test_a_narrow_terminal_keeps_names_and_states(team: Any, golden: Check) -> None:
    """At 40 columns the figures go, then the detail."""
    golden("narrow.txt", screen(team.events, 3.3, width=40))


def test_hostile_text_is_harmless(team: Any, golden: Check) -> None:
    """Escapes in tool names, arguments, roles and paths show as text."""
    team.add(ev.TurnStarted, 3, "lead/\x1b[31mred#3")
    team.call(3, "lead/\x1b[31mred#3", "e", "t\x9b2J", '{"a":"\x1b]52;c;cHduZWQ=\x07\u202eevil"}')
    golden("hostile.txt", screen(team.events, 3.3))


def test_what_does_not_fit_is_counted(story: Any, golden: Check) -> None:
    """Of forty children, those at work come first; the rest is one line."""
    story.begin()
    for number in range(1, 41):
        child = story.dispatch(1, number, "worker", f"Part {number}")
        if number % 4 == 0:
            story.begin(1.1, child, "worker")
            story.call(1.2, child, "c", "shell__run", f'{{"command":"make part-{number}"}}')
        elif number % 4 == 1:
            story.begin(1.1, child, "worker")
            story.finish(2, child)
    golden("crowd.txt", screen(story.events, 3.0, height=14))


@pytest.mark.parametrize("width", [1, 5, 10, 20, 59, 60, 61, 120, 300])
def test_the_picture_fits_any_width(team: Any, width: int) -> None:
    """No line is wider than the terminal, however narrow, and drawing never fails."""
    for height in (1, 2, 5, 50):
        screen(team.events, 3.3, width=width, height=height)


def test_colours_come_from_styles_alone(team: Any) -> None:
    """The picture prints the same text with colours and without."""
    agents = RunAgents()
    for event in team.events:
        agents.apply(event)
    lines = picture(agents, START + 3.3, width=80, height=24)
    text = "".join(f"{line.plain.rstrip()}\n" for line in lines)
    plain, coloured = Console(width=80, no_color=True), Console(width=80, force_terminal=True)
    with plain.capture() as without, coloured.capture() as with_colours:
        plain.print(Group(*lines))
        coloured.print(Group(*lines))
    assert "\n".join(line.rstrip() for line in without.get().split("\n")) == text
    assert "\x1b[" in with_colours.get()


def test_figures_are_short() -> None:
    """Counts and times at their borders."""
    counts = {0: "0", 999: "999", 1000: "1.0k", 99_949: "99.9k", 99_950: "100k"}
    counts |= {999_949: "1000k", 999_950: "1.0M", 123_456_789: "123.5M"}
    assert {count: short_count(count) for count in counts} == counts
    times = {0.0: "0.0s", 99.94: "99.9s", 99.95: "1m40s", 5999.4: "99m59s", 6000.0: "1h40m"}
    assert {seconds: short_time(seconds) for seconds in times} == times
