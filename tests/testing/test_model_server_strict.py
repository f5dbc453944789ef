"""The strict validator over any conversation: arguments, and one fault at any place (S7)."""

import copy
import json
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from hub.testing import serve_model
from hub.testing.strict import violations

TOOL = {"type": "function", "function": {"name": "x__y", "parameters": {"type": "object"}}}
TEXT = st.text(st.characters(codec="utf-8"))
SURROGATE = st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def calling(*arguments: str) -> dict[str, Any]:
    """Return a legal request but for the arguments of its calls."""
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "x__y", "arguments": text}}
        for at, text in enumerate(arguments)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": calls}]
    return {"messages": [*messages, *results], "tools": [TOOL]}


@given(st.dictionaries(TEXT, JSON, max_size=3), st.booleans())
def test_any_object_may_be_the_arguments(value, escaped):
    """Escaped or not, with pairs of surrogates and with backslashes that look like them."""
    assert violations(calling(json.dumps(value, ensure_ascii=escaped))) == []


@given(TEXT, SURROGATE, TEXT, st.booleans())
def test_a_lone_surrogate_in_arguments_is_refused_escaped_or_not(before, lone, after, escaped):
    """A12: the text of the request is clean, the value that the tool would get is not."""
    arguments = json.dumps({"a": f"{before}.{lone}.{after}"}, ensure_ascii=escaped)
    assert violations(calling(arguments))


@pytest.mark.parametrize(
    "text", [r'{"a": "\ud83d\ude00"}', r'{"a": "\\ud83d"}', r'{"a": "\\\\ud83d"}', r'{"\u0041": 1}']
)
def test_escapes_that_only_look_like_half_a_pair_pass(text):
    """A whole pair; a backslash and then letters."""
    assert violations(calling(text)) == []


@pytest.mark.parametrize("text", [r'{"a": "\\\ud83d"}', r'{"\uDE00": 1}', r'{"a": "\ude00\ud83d"}'])
def test_half_a_pair_behind_other_escapes_is_refused(text):
    """A backslash before it, in a key, in the wrong order."""
    assert violations(calling("{}", text))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(word):
    """Python reads them, nobody else does."""
    assert violations(calling(f'{{"a": {word}}}'))


async def test_the_server_refuses_such_arguments_as_well():
    """Through the SDK, with the reason in the error."""
    async with serve_model({"script": 1, "turns": [{"text": "a"}]}) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0) as sdk:
            body: Any = calling(r'{"a": "\ud83d"}')
            with pytest.raises(openai.BadRequestError, match="lone surrogate"):
                await sdk.chat.completions.create(model="m", **body)
        assert [record.status for record in server.requests] == [400]


def test_an_empty_list_of_parts_beside_calls_is_refused():
    """It is as empty as an empty text (A11)."""
    body = calling("{}")
    body["messages"][1]["content"] = []
    assert violations(body)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Legal histories with at least one call."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    for turn in range(draw(st.integers(1, 3))):
        calls = [
            {"id": f"c{turn}.{at}", "function": {"name": "x__y", "arguments": "{}"}}
            for at in range(draw(st.integers(1, 3)))
        ]
        messages.append({"role": "assistant", "tool_calls": calls})
        messages.extend(
            {"role": "tool", "tool_call_id": call["id"], "content": "ok"}
            for call in draw(st.permutations(calls))
        )
        if draw(st.booleans()):
            messages.append({"role": "assistant", "content": "so"})
            messages.append({"role": "user", "content": "more"})
    return messages


FAULTS = (
    *("lose a result", "repeat a result", "move a result to the front", "lose a call's message"),
    *("empty an assistant", "put a user before a result", "repeat an id", "break arguments"),
    "put reasoning alone",
)


@pytest.mark.parametrize("fault", FAULTS)
@given(messages=conversations(), data=st.data())
def test_one_fault_at_any_place_of_any_history_is_refused(fault, messages, data):
    """And without it, the history passes."""
    assert violations({"messages": messages, "tools": [TOOL]}) == []
    broken = copy.deepcopy(messages)
    tools = [at for at, message in enumerate(broken) if message["role"] == "tool"]
    callers = [at for at, message in enumerate(broken) if message.get("tool_calls")]
    result, caller = data.draw(st.sampled_from(tools)), data.draw(st.sampled_from(callers))
    call = broken[caller]["tool_calls"][0]
    match fault:
        case "lose a result":
            del broken[result]
        case "repeat a result":
            broken.insert(result, copy.deepcopy(broken[result]))
        case "move a result to the front":
            broken.insert(0, broken.pop(result))
        case "lose a call's message":
            del broken[caller]
        case "empty an assistant":
            broken.append({"role": "assistant", "content": ""})
        case "put a user before a result":
            broken.insert(result, {"role": "user", "content": "wait"})
        case "repeat an id":
            broken[caller]["tool_calls"].append(call)
        case "break arguments":
            call["function"]["arguments"] = '{"a": '
        case "put reasoning alone":
            broken.append({"role": "assistant", "reasoning_content": "hm"})
    assert violations({"messages": broken, "tools": [TOOL]})
