"""The strict validator passes every legal history and refuses each way to break one (S7)."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.testing.strict import violations

TEXT = st.text(st.characters(codec="utf-8"), min_size=1)
TOOL = {"type": "function", "function": {"name": "x__y", "parameters": {"type": "object"}}}


@st.composite
def legal_bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Conversations as a good client sends them."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": draw(TEXT)}]
    number = 0
    for _ in range(draw(st.integers(1, 5))):
        messages.append({"role": "user", "content": draw(TEXT)})
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                function = {"name": "x__y", "arguments": '{"a": 1}'}
                calls.append({"id": f"c{number}", "type": "function", "function": function})
                number += 1
            messages.append({"role": "assistant", "tool_calls": calls})
            for call in draw(st.permutations(calls)):
                result = {"role": "tool", "tool_call_id": call["id"], "content": draw(TEXT)}
                messages.append(result)
        messages.append({"role": "assistant", "content": draw(TEXT)})
    return {"messages": messages, "tools": [TOOL], "tool_choice": "auto"}


@given(legal_bodies())
def test_a_legal_history_passes(body):
    """Nothing to complain about."""
    assert violations(body) == []


BASE: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "function": {"name": "x__y", "arguments": "{}"}},
                {"id": "b", "function": {"name": "x__y", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "assistant", "content": "done"},
    ],
    "tools": [TOOL],
}


def call(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["messages"][1]["tool_calls"][0]
    return found


MUTATIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a result is missing": lambda b: b["messages"].pop(3),
    "a result comes twice": lambda b: b["messages"].insert(3, b["messages"][2]),
    "a result lacks its call": lambda b: b["messages"].insert(
        5, {"role": "tool", "tool_call_id": "z", "content": "x"}
    ),
    "a result comes before its call": lambda b: b["messages"].insert(0, b["messages"].pop(2)),
    "something stands between call and result": lambda b: b["messages"].insert(
        2, {"role": "user", "content": "wait"}
    ),
    "the calls at the end have no results": lambda b: b.update(messages=b["messages"][:2]),
    "an assistant message is empty": lambda b: b["messages"][4].update(content=""),
    "an assistant message holds reasoning alone": lambda b: b["messages"].__setitem__(
        4, {"role": "assistant", "reasoning_content": "hm"}
    ),
    "content is empty beside calls": lambda b: b["messages"][1].update(content=""),
    "the list of calls is empty": lambda b: b["messages"][4].update(tool_calls=[]),
    "an id is used twice": lambda b: call(b).update(id="b"),
    "an id is missing": lambda b: call(b).pop("id"),
    "arguments are no JSON": lambda b: call(b)["function"].update(arguments='{"a": '),
    "arguments are no object": lambda b: call(b)["function"].update(arguments="[1]"),
    "a call's name is illegal": lambda b: call(b)["function"].update(name="a.b"),
    "a user message is empty": lambda b: b["messages"][0].update(content=""),
    "a role is unknown": lambda b: b["messages"][0].update(role="robot"),
    "a lone surrogate": lambda b: b["messages"][0].update(content="x\ud83d"),
    "there are no messages": lambda b: b.update(messages=[]),
    "tools is empty": lambda b: b.update(tools=[]),
    "a tool comes twice": lambda b: b.update(tools=[TOOL, TOOL]),
    "a tool's name is illegal": lambda b: b["tools"][0]["function"].update(name="a" * 65),
    "a schema is no object": lambda b: b["tools"][0]["function"].update(parameters={}),
    "the choice is unknown": lambda b: b.update(tool_choice="maybe"),
    "the choice names no tool": lambda b: b.update(
        tool_choice={"type": "function", "function": {"name": "nope"}}
    ),
    "a choice without tools": lambda b: (b.pop("tools"), b.update(tool_choice="required")),
}


def test_the_history_that_is_mutated_is_legal():
    """Otherwise the mutations prove nothing."""
    assert violations(BASE) == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_way_to_break_a_history_is_refused(name):
    """One fault, at least one sentence."""
    body = copy.deepcopy(BASE)
    MUTATIONS[name](body)
    assert violations(body)
