"""The fold from events to the rows of the live tree."""

import time
from typing import Any, get_args

from hub.cli import agents as under_test
from hub.cli.agents import AgentRow, RunAgents
from hub.core import events as ev


def folded(story: Any) -> RunAgents:
    """Fold a story."""
    agents = RunAgents()
    for event in story.events:
        agents.apply(event)
    return agents


def test_every_kind_of_event_is_either_handled_or_known_to_show_nothing() -> None:
    """A new event must be decided upon here."""
    kinds = {kind.model_fields["type"].default for kind in ev.EVENT_TYPES}
    assert set(under_test._HANDLERS) | under_test.UNSEEN == kinds
    assert not set(under_test._HANDLERS) & under_test.UNSEEN


def test_a_row_goes_through_the_states_of_its_agent(story: Any) -> None:
    """Thinking, streaming, a tool, thinking again, done; steps and tokens add up."""
    agents = RunAgents()
    states: list[str] = []

    def tell(kind: type[ev.Event], **fields: Any) -> AgentRow:
        story.add(kind, len(states), **fields)
        agents.apply(story.events[-1])
        states.append(agents.rows["lead"].state)
        return agents.rows["lead"]

    tell(ev.TurnStarted)
    tell(ev.TextDelta, text="I will\nlook ")
    row = tell(ev.TextDelta, text="around.")
    assert row.detail(80) == "look around."
    call = ev.Call(id="1", name="files__list", arguments="{}")
    tell(ev.AssistantMessageEvent, text="I will look", calls=[call], finish="tool_calls")
    tell(ev.UsageEvent, input_tokens=100, output_tokens=20)
    row = tell(ev.ToolCallEvent, call_id="1", name="files__list", arguments='{"path": "."}')
    assert row.detail(80) == 'files__list {"path": "."}'
    tell(ev.ToolResultEvent, call_id="1", name="files__list", text="a")
    tell(ev.AssistantMessageEvent, text="Done.", finish="stop")
    row = tell(ev.TurnDone, outcome="done", stop_reason="completed", text="All is well.")
    assert states == [
        "thinking",
        "streaming",
        "streaming",
        "tool",
        "tool",
        "tool",
        "thinking",
        "thinking",
        "done",
    ]
    assert (row.steps, row.tokens, row.outcome) == (2, 120, "done")
    assert row.detail(80) == "All is well."
    assert row.elapsed(now=10**9) == 8.0


def test_a_call_that_waits_for_a_person_is_shown_before_all_others(story: Any) -> None:
    """With several calls open, the one that is asked about is the one to see."""
    story.begin()
    story.call(1, "lead", "1", "shell__run", '{"command": "make"}')
    story.call(1, "lead", "2", "files__read", '{"path": "a"}')
    story.add(
        ev.ToolRulingEvent, 1, call_id="1", name="shell__run", ruling="ask", reason="ask rule"
    )
    agents = folded(story)
    row = agents.rows["lead"]
    assert (row.state, row.detail(80)) == ("waiting", 'shell__run {"command": "make"} (+1)')
    story.add(
        ev.ToolRulingEvent, 2, call_id="1", name="shell__run", ruling="allow", reason="answer"
    )
    agents.apply(story.events[-1])
    assert row.state == "tool"


def test_a_child_is_queued_then_runs_then_is_done_with_its_summary(story: Any) -> None:
    """The row of a child is born with its job and ends with it; A20: once."""
    story.begin()
    child = story.dispatch(1, 1, "explorer", "Survey")
    agents = folded(story)
    row = agents.rows[child]
    assert (row.state, row.role, row.detail(80)) == ("queued", "explorer", "Survey")
    story.add(ev.JobProgress, 2, job="j-1", role="explorer", state="queued", position=3)
    agents.apply(story.events[-1])
    assert row.detail(80) == "place 3 in the queue"
    story.begin(3, child, "explorer")
    for event in story.events[-2:]:
        agents.apply(event)
    assert row.state == "thinking"
    story.finish(5, child, "limit", error={"message": "steps limit of lead/explorer#1"})
    done = {"report": {"status": "partial", "summary": "Half of it"}, "error": None}
    story.add(
        ev.JobDone,
        6,
        job="j-1",
        role="explorer",
        outcome="partial",
        stop_reason="reported",
        child="s",
        result=done,
    )
    for event in story.events[-2:]:
        agents.apply(event)
    assert (row.state, row.outcome, row.detail(80)) == ("done", "partial", "Half of it")
    assert row.elapsed(now=10**9) == 2.0


def test_a_retry_is_shown_until_the_model_speaks_again(story: Any) -> None:
    """What came before a retry is void, so it leaves the screen."""
    story.begin()
    story.add(ev.TextDelta, 1, text="half an answer")
    story.add(ev.ModelRetry, 2, attempt=1, delay_ms=1500, reason="429 rate limit", status=429)
    agents = folded(story)
    row = agents.rows["lead"]
    assert row.detail(80) == "retry 1 in 1.5s: 429 rate limit"
    story.add(ev.TextDelta, 4, text="a new answer")
    agents.apply(story.events[-1])
    assert row.detail(80) == "a new answer"


def test_agents_come_in_tree_order_whatever_the_order_of_their_start(story: Any) -> None:
    """Each agent stands behind its parent and before its parent's next sibling."""
    for path in ("lead", "lead/a#1", "lead/b#2", "lead/a#1/c#1", "lead/b#2/d#1", "lead/a#1/e#2"):
        story.add(ev.TurnStarted, 0, path)
    assert [row.path for row in folded(story).in_order()] == [
        "lead",
        "lead/a#1",
        "lead/a#1/c#1",
        "lead/a#1/e#2",
        "lead/b#2",
        "lead/b#2/d#1",
    ]


def test_untrusted_text_is_printable_on_one_line_wherever_it_comes_from(story: Any) -> None:
    """No control character or bidirectional override reaches the screen."""
    bad = "\x1b]0;owned\x07\x9b2J\u202e\rnext\nline"
    story.begin()
    story.call(1, "lead", "1", f"t{bad}", bad)
    agents = folded(story)
    row = agents.rows["lead"]
    shown = [row.detail(300)]
    row.calls.clear()
    row.note = bad
    shown.append(row.detail(300))
    row.note, row.tail = "", bad
    shown.append(row.detail(300))
    for text in shown:
        assert text.isprintable(), text


def test_twenty_thousand_deltas_cost_little(story: Any) -> None:
    """Text that streams in costs a few microseconds a piece and keeps only its end."""
    story.begin()
    agents = folded(story)
    delta = ev.TextDelta(session="s", at=1.0, agent="lead", text="word ")
    start = time.process_time()
    for _ in range(20_000):
        agents.apply(delta)
    assert time.process_time() - start < 0.3
    assert len(agents.rows["lead"].tail) == under_test.TAIL


def test_the_states_are_the_ones_that_the_picture_has_styles_for() -> None:
    """The closed list of states."""
    assert set(get_args(under_test.State)) == {
        "queued",
        "thinking",
        "streaming",
        "tool",
        "waiting",
        "done",
    }
