"""The judge of histories is itself judged: each rule finds what breaks it."""

import pytest

from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.core.legality import faults

A, B = ToolCall("a", "read", "{}"), ToolCall("b", "read", "{}")


def done(call_id: str) -> ToolMessage:
    return ToolMessage(call_id, "read", "ok")


@pytest.mark.parametrize(
    ("history", "fault"),
    [
        ([AssistantMessage("", (A,))], "are answered by"),
        ([AssistantMessage("", (A, B)), done("a")], "are answered by"),
        ([AssistantMessage("", (A, B)), done("b"), done("a")], "are answered by"),
        ([AssistantMessage("", (A,)), UserMessage("x"), done("a")], "without a call"),
        ([AssistantMessage("", (A,)), done("a"), done("a")], "without a call"),
        ([done("a")], "without a call"),
        ([AssistantMessage("", (A, A)), done("a"), done("a")], "doubled id"),
        ([AssistantMessage("", (A,)), done("a")] * 2, "doubled id"),
        ([AssistantMessage(" ")], "empty assistant"),
        ([AssistantMessage("", reasoning="hm")], "empty assistant"),
        ([UserMessage("")], "empty user"),
        ([UserMessage("\ud83d")], "surrogate"),
        ([AssistantMessage("x", reasoning="\udc00")], "surrogate"),
        ([AssistantMessage("", (ToolCall("a", "a b", "{}"),))], "name"),
        ([AssistantMessage("", (ToolCall("", "read", "{}"),)), done("")], "without an id"),
    ],
)
def test_each_rule_finds_what_breaks_it(history: list[Message], fault: str) -> None:
    """A history that a strict server refuses has a fault of that name."""
    assert any(fault in found for found in faults(history))


def test_a_legal_history_has_no_fault() -> None:
    """The judge accepts what is right."""
    history: list[Message] = [
        UserMessage("go"),
        AssistantMessage("", (A, B)),
        done("a"),
        done("b"),
        AssistantMessage("Done 😀."),
        UserMessage("thanks"),
    ]
    assert faults(history) == []
