"""The fold from a log to what a model may be sent; it is legal whatever the log holds."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub.core import events as ev
from hub.core.conversation import LOST_RESULT, Conversation
from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.core.legality import faults


def numbered(*events: ev.Event) -> list[ev.Event]:
    """Stamp events as the log of one session."""
    return [
        event.model_copy(update={"session": "s-1", "seq": seq})
        for seq, event in enumerate(events, 1)
    ]


def user(text: str) -> ev.UserMessageEvent:
    return ev.UserMessageEvent.model_construct(text=text)


def answer(text: str = "", *call_ids: str, **more: Any) -> ev.AssistantMessageEvent:
    calls = [
        ev.Call.model_construct(id=one, name="files__read", arguments="{}") for one in call_ids
    ]
    fields = {"text": text, "calls": calls, "finish": "stop", "reasoning": "", **more}
    return ev.AssistantMessageEvent.model_construct(**fields)


def begun(call_id: str) -> ev.ToolCallEvent:
    return ev.ToolCallEvent(call_id=call_id, name="files__read", arguments="{}")


def result(call_id: str, text: str = "ok", *, is_error: bool = False) -> ev.ToolResultEvent:
    return ev.ToolResultEvent.model_construct(
        call_id=call_id, name="files__read", text=text, is_error=is_error
    )


def shape(messages: Sequence[Message]) -> list[str]:
    """Return the conversation in words."""
    words = []
    for message in messages:
        match message:
            case UserMessage():
                words.append(f"user {message.text}")
            case AssistantMessage():
                words.append(" ".join(["assistant", message.text, *(c.id for c in message.calls)]))
            case ToolMessage():
                words.append(f"tool {message.call_id}: {message.text}")
    return words


def test_a_plain_log_is_the_conversation() -> None:
    """Users, answers, calls and results come out as they went in."""
    log = numbered(
        ev.TurnStarted(),
        user("read it"),
        answer("I look.", "c1", reasoning="hm"),
        begun("c1"),
        result("c1", "text"),
        ev.UsageEvent(input_tokens=1, output_tokens=1),
        answer("Done."),
    )
    conversation = Conversation(log)
    assert conversation.messages == [
        UserMessage("read it"),
        AssistantMessage("I look.", (ToolCall("c1", "files__read", "{}"),), "hm"),
        ToolMessage("c1", "files__read", "text"),
        AssistantMessage("Done."),
    ]
    assert conversation.ignored == []
    assert conversation.unsettled() == []


def test_a_result_keeps_whether_it_is_an_error() -> None:
    """What failed is not told as a success."""
    log = numbered(answer("", "a", "b"), result("a", "no", is_error=True), result("b"))
    assert Conversation(log).messages[1:] == [
        ToolMessage("a", "files__read", "no", is_error=True),
        ToolMessage("b", "files__read", "ok"),
    ]


def test_results_stand_in_call_order_however_they_arrive() -> None:
    """Parallel calls that end out of order are still answered in call order (A4)."""
    log = numbered(answer("", "a", "b", "c"), result("c", "3"), result("a", "1"), result("b", "2"))
    assert shape(Conversation(log).messages)[1:] == ["tool a: 1", "tool b: 2", "tool c: 3"]


def test_an_open_batch_is_not_sent_and_is_named() -> None:
    """After a crash in the middle of three calls, nothing illegal can be sent (A1)."""
    log = numbered(user("go"), answer("", "a", "b", "c"), begun("a"), begun("b"), result("a"))
    conversation = Conversation(log)
    assert shape(conversation.messages) == ["user go"]
    named = [(call.id, started) for call, started in conversation.unsettled()]
    assert named == [("b", True), ("c", False)]


def test_settling_what_is_open_makes_the_history_whole() -> None:
    """One synthetic result for each open call, and the next prompt may be sent (A1)."""
    log = numbered(user("go"), answer("", "a", "b", "c"), result("b", "finished"))
    conversation = Conversation(log)
    for seq, (call, _) in enumerate(conversation.unsettled(), 4):
        cancelled = result(call.id, "cancelled", is_error=True)
        conversation.apply(cancelled.model_copy(update={"seq": seq}))
    conversation.apply(user("again"))
    assert faults(conversation.messages) == []
    assert shape(conversation.messages) == [
        "user go",
        "assistant  a b c",
        "tool a: cancelled",
        "tool b: finished",
        "tool c: cancelled",
        "user again",
    ]


def test_what_is_said_during_a_batch_follows_its_results() -> None:
    """A message that comes between call and result never separates the two."""
    log = numbered(
        answer("", "a", "b"),
        result("a"),
        ev.ContextAdded(source="job", text="news"),
        user("hurry"),
        result("b"),
    )
    words = shape(Conversation(log).messages)
    assert words == ["assistant  a b", "tool a: ok", "tool b: ok", "user news", "user hurry"]


def test_a_log_without_the_results_is_healed_at_the_next_answer() -> None:
    """A lost result is replaced by an error that does not claim to know what happened."""
    log = numbered(answer("", "a", "b"), result("b"), user("next"), answer("Done."))
    conversation = Conversation(log)
    assert shape(conversation.messages) == [
        "assistant  a b",
        f"tool a: {LOST_RESULT}",
        "tool b: ok",
        "user next",
        "assistant Done.",
    ]
    assert conversation.messages[1] == ToolMessage("a", "files__read", LOST_RESULT, is_error=True)


def test_a_result_without_its_call_is_left_out_with_one_notice() -> None:
    """Repair works in the other direction too (A3)."""
    conversation = Conversation(numbered(user("go"), result("gone"), answer("Done.")))
    assert shape(conversation.messages) == ["user go", "assistant Done."]
    assert conversation.ignored == ["event 2: a result without call 'gone'"]


def test_a_second_result_of_a_call_is_left_out_with_one_notice() -> None:
    """The first result stands, before and after the batch is closed (A3)."""
    log = numbered(answer("", "a", "b"), result("a", "1"), result("a", "2"), result("b"))
    conversation = Conversation([*log, result("b", "late").model_copy(update={"seq": 5})])
    assert shape(conversation.messages)[1:] == ["tool a: 1", "tool b: ok"]
    assert conversation.ignored == [
        "event 3: one more result of call 'a'",
        "event 5: one more result of call 'b'",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_answer_that_says_nothing_is_left_out(text: str) -> None:
    """An answer of reasoning alone cannot spoil every later request (A2)."""
    conversation = Conversation(numbered(user("go"), answer(text, reasoning="thinking…")))
    assert shape(conversation.messages) == ["user go"]
    assert conversation.ignored == ["event 2: an assistant message without text and calls"]


def test_a_message_without_text_is_left_out() -> None:
    """Providers refuse empty user messages."""
    conversation = Conversation(numbered(user(" \n"), ev.ContextAdded(source="x", text="")))
    assert conversation.messages == []
    assert len(conversation.ignored) == 2


def test_blank_text_beside_calls_is_dropped() -> None:
    """Some servers refuse blank content beside calls (A11)."""
    conversation = Conversation(numbered(answer(" \n", "a"), result("a")))
    assert shape(conversation.messages) == ["assistant  a", "tool a: ok"]


def test_an_id_counts_once_in_a_conversation() -> None:
    """A call whose id was used before, or is missing, is left out with its result."""
    log = numbered(
        answer("", "a"),
        result("a", "first"),
        answer("again", "a", "b", "b", ""),
        result("a", "second"),
        result("b"),
        result(""),
    )
    conversation = Conversation(log)
    assert faults(conversation.messages) == []
    assert shape(conversation.messages) == [
        "assistant  a",
        "tool a: first",
        "assistant again b",
        "tool b: ok",
    ]
    assert len(conversation.ignored) == 5


def test_a_name_that_providers_refuse_is_made_legal() -> None:
    """A model that invents a tool's name cannot spoil every later request."""
    names = ["functions.read file", "é" * 100, ""]
    calls = [ev.Call(id=f"c{i}", name=name, arguments="{}") for i, name in enumerate(names)]
    log = numbered(answer("", calls=calls), *(result(call.id) for call in calls))
    messages = Conversation(log).messages
    assert faults(messages) == []
    assert isinstance(messages[0], AssistantMessage)
    assert [call.name for call in messages[0].calls] == ["functions_read_file", "_" * 64, "unknown"]


def test_half_a_character_becomes_a_replacement_everywhere() -> None:
    """Lone surrogates in any text, id or argument are replaced, and ids still match (A12)."""
    bad = "x\ud83d"
    call = ev.Call.model_construct(id=bad, name=bad, arguments=bad)
    log = numbered(user(bad), answer(bad, calls=[call], reasoning=bad), begun(bad))
    conversation = Conversation(log)
    ((open_call, started),) = conversation.unsettled()
    assert (open_call.id, started) == ("x\ufffd", True)
    conversation.apply(result(bad, bad).model_copy(update={"seq": 4}))
    assert faults(conversation.messages) == []
    assert len(conversation.messages) == 3
    assert conversation.messages[2].text == "x\ufffd"


def test_an_event_counts_once() -> None:
    """A log that is read twice gives the same conversation."""
    log = numbered(user("go"), answer("", "a"), result("a"), answer("Done."))
    conversation = Conversation(log)
    before = list(conversation.messages)
    for event in log:
        conversation.apply(event)
    assert conversation.messages == before
    assert conversation.ignored == []


def test_events_without_a_number_all_count() -> None:
    """Only a number tells that an event came before."""
    assert len(Conversation([user("one"), user("one")]).messages) == 2


def test_the_list_of_messages_only_grows() -> None:
    """What was sent once is sent again unchanged, so that prompt caches stay warm."""
    log = numbered(user("go"), answer("", "a"), result("a"), user("on"), answer("Done."))
    conversation = Conversation()
    seen: list[Message] = []
    for event in log:
        conversation.apply(event)
        assert all(old is new for old, new in zip(seen, conversation.messages, strict=False))
        assert len(conversation.messages) >= len(seen)
        seen = list(conversation.messages)


words = st.text(st.characters(exclude_categories=()), max_size=6)
ids = st.sampled_from(["a", "b", "c", "d", "\ud83d", "\ud83e", "", "e" * 80])
calls = st.builds(ev.Call.model_construct, id=ids, name=words, arguments=words)
spoken = st.one_of(
    st.builds(user, words),
    st.builds(ev.ContextAdded.model_construct, source=st.just("x"), text=words),
    st.builds(answer, words, calls=st.lists(calls, max_size=4), reasoning=words),
    st.builds(begun, st.sampled_from(["a", "b"])),
    st.builds(result, ids, words, is_error=st.booleans()),
    st.builds(ev.TurnStarted),
)


@st.composite
def spoilt_logs(draw: st.DrawFn) -> list[ev.Event]:
    """A log of anything, then with events missing, doubled, and out of order."""
    log = numbered(*draw(st.lists(spoken, max_size=16)))
    kept = [event for event in log if draw(st.integers(0, 9)) > 0]
    for _ in range(draw(st.integers(0, 3))):
        if kept:
            twin = draw(st.sampled_from(kept))
            kept.insert(draw(st.integers(0, len(kept))), twin)
    if draw(st.booleans()):
        kept = draw(st.permutations(kept))
    return kept[: draw(st.integers(0, len(kept)))] if draw(st.booleans()) else kept


@settings(max_examples=400, deadline=None)
@given(log=spoilt_logs())
def test_any_log_gives_a_legal_history(log: list[ev.Event]) -> None:
    """Whatever is missing, doubled, disordered, cut or corrupt, no strict server refuses it."""
    conversation = Conversation()
    for event in log:
        conversation.apply(event)
        assert faults(conversation.messages) == []


@settings(max_examples=200, deadline=None)
@given(log=spoilt_logs())
def test_settling_any_log_leaves_nothing_open(log: list[ev.Event]) -> None:
    """After one result for each unsettled call the history is legal and complete (A1, A4)."""
    conversation = Conversation(log)
    for seq, (call, _) in enumerate(conversation.unsettled(), 1000):
        conversation.apply(result(call.id, "settled").model_copy(update={"seq": seq}))
    assert conversation.unsettled() == []
    assert faults(conversation.messages) == []


@settings(max_examples=200, deadline=None)
@given(log=spoilt_logs(), data=st.data())
def test_folding_in_steps_equals_folding_at_once(log: list[ev.Event], data: st.DataObject) -> None:
    """A resumed conversation is the one that was left, and replay changes nothing."""
    cut = data.draw(st.integers(0, len(log)))
    stepwise = Conversation(log[:cut])
    for event in log[cut:]:
        stepwise.apply(event)
    whole = Conversation(log)
    assert stepwise.messages == whole.messages
    assert stepwise.unsettled() == whole.unsettled()
    assert stepwise.ignored == whole.ignored
    for event in log:
        whole.apply(event)
    assert whole.messages == stepwise.messages
    assert whole.ignored == stepwise.ignored
