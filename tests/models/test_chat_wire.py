"""How requests are written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.messages import AssistantMessage, ToolCall, ToolMessage, ToolSpec, UserMessage
from hub.core.modelspec import ModelSpec
from hub.core.requests import ModelRequest
from hub.models.chat.call_json import canonical, wire_object
from hub.models.chat.wire import Dialect, Encoder, RequestParts

SPEC = ModelSpec("m", "the-model", "http://localhost/v1")
TOOL = ToolSpec("read", "Reads.", {"type": "object", "properties": {}})


def wire(request: ModelRequest, spec: ModelSpec = SPEC, dialect: Dialect | None = None) -> Any:
    return json.loads(Encoder(spec).body(request, dialect or Dialect()))


def message(one: Any, dialect: Dialect | None = None) -> Any:
    return wire(ModelRequest("", [one]), dialect=dialect)["messages"][0]


def test_a_request_holds_model_instructions_history_and_tools() -> None:
    """The whole body, as a server parses it."""
    history = [
        UserMessage("Hi 😀"),
        AssistantMessage("", (ToolCall("a", "read", '{"p":1}'),)),
        ToolMessage("a", "read", "text"),
    ]
    assert wire(ModelRequest("Be good.", history, (TOOL,))) == {
        "model": "the-model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read",
                    "description": "Reads.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be good."},
            {"role": "user", "content": "Hi 😀"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"p":1}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "text"},
        ],
    }


def test_no_message_is_ever_sent_with_empty_content() -> None:
    """Case A11: content is null beside calls, and says so where there is nothing."""
    calls = (ToolCall("a", "read", "{}"),)
    assert message(AssistantMessage("", calls))["content"] is None
    assert message(AssistantMessage("so", calls))["content"] == "so"
    assert message(ToolMessage("a", "read", ""))["content"] == "(no output)"
    assert message(UserMessage(""))["content"] == "(empty message)"


@pytest.mark.parametrize(
    ("name", "sent"),
    [("read", "read"), ("functions.read file", "functions_read_file"), ("", "unknown")],
)
def test_names_that_a_model_made_up_are_legal_on_the_wire(name: str, sent: str) -> None:
    """A call of a tool that does not exist must not make every later request fail."""
    one = message(AssistantMessage("", (ToolCall("a", name, "{}"),)))
    assert one["tool_calls"][0]["function"]["name"] == sent
    long = message(AssistantMessage("", (ToolCall("a", "x" * 99, "{}"),)))
    assert len(long["tool_calls"][0]["function"]["name"]) == 64


def test_the_session_is_named_only_where_that_is_understood() -> None:
    """It leads requests of one session to the same prompt cache."""
    request = ModelRequest("", [], session="s-1")
    assert wire(request, dialect=Dialect(session=True))["prompt_cache_key"] == "s-1"
    assert "prompt_cache_key" not in wire(request)


def test_errors_of_tools_say_that_they_are_errors() -> None:
    """The wire has no flag for it, so the text has to say it, once."""
    assert message(ToolMessage("a", "x", "no file", is_error=True))["content"] == "Error: no file"
    assert message(ToolMessage("a", "x", "Error 5", is_error=True))["content"] == "Error 5"


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ('{"p":1}', {"p": 1}),
        ("", {}),
        ('{"t":"a\nb"}', {"t": "a\nb"}),
        ('{"t":"\\ud83d"}', {"t": "\N{REPLACEMENT CHARACTER}"}),
        ('{"t":"xx', {"_unparsable": '{"t":"xx'}),
        ("[1]", {"_unparsable": "[1]"}),
        ('{"n":NaN}', {"_unparsable": '{"n":NaN}'}),
        ("\ud83d", {"_unparsable": "\N{REPLACEMENT CHARACTER}"}),
    ],
)
def test_stored_arguments_are_always_sent_as_an_object(stored: str, sent: Any) -> None:
    """Broken arguments of an old answer must not make every later request fail."""
    one = message(AssistantMessage("", (ToolCall("a", "x", stored),)))
    assert json.loads(one["tool_calls"][0]["function"]["arguments"]) == sent


@given(st.text())
def test_any_text_becomes_an_object_on_the_wire(text: str) -> None:
    """Property: what is sent parses strictly and encodes as UTF-8."""
    sent = wire_object(text)
    assert isinstance(json.loads(sent), dict)
    sent.encode()


@given(st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_valid_arguments_keep_their_value(value: Any) -> None:
    """Property: canonical text means what the model wrote, or nothing at all."""
    text = json.dumps(value)
    found = canonical(text)
    if "NaN" in text or "Infinity" in text:
        return
    assert found is not None
    assert json.loads(found) == json.loads(text)


def test_lone_surrogates_never_reach_the_wire() -> None:
    """Case A12: instructions, text, results and names are all made encodable."""
    bad = "x\ud83d"
    history = [
        UserMessage(bad),
        AssistantMessage(bad, (ToolCall(bad, bad, "{}"),), bad),
        ToolMessage(bad, bad, bad),
    ]
    body = Encoder(SPEC).body(ModelRequest(bad, history), Dialect(reasoning=True))
    assert "\N{REPLACEMENT CHARACTER}" in body.decode()


def test_messages_are_encoded_once_per_dialect() -> None:
    """A history that grows is joined from bytes that stay."""
    said = AssistantMessage("Hi", reasoning="because")
    encoder = Encoder(SPEC)
    encoder.body(ModelRequest("", [said]), Dialect())
    first = said.encoded["chat"]
    encoder.body(ModelRequest("", [said, UserMessage("x")]), Dialect())
    assert said.encoded["chat"] is first
    encoder.body(ModelRequest("", [said]), Dialect(reasoning=True))
    assert json.loads(said.encoded["chat+reasoning"])["reasoning_content"] == "because"
    assert said.encoded["chat"] is first


def test_a_tuple_of_tools_is_encoded_once_and_a_list_each_time() -> None:
    """A tuple cannot change under its encoded form; a list can."""
    encoder = Encoder(SPEC)
    tools = [TOOL]
    assert b'"name":"list"' not in encoder.body(ModelRequest("", [], tools), Dialect())
    tools.append(ToolSpec("list", "", {}))
    assert b'"name":"list"' in encoder.body(ModelRequest("", [], tools), Dialect())
    for number in range(100):
        one = (ToolSpec(f"tool{number}", "", {}),)
        assert f"tool{number}".encode() in encoder.body(ModelRequest("", [], one), Dialect())


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("none", "none"),
        ("required", "required"),
        ("read", {"type": "function", "function": {"name": "read"}}),
    ],
)
def test_tool_choice_is_mapped(choice: str, sent: Any) -> None:
    """A name asks for that tool; ``auto`` is the default and is not sent."""
    request = ModelRequest("", [], (TOOL,), tool_choice=choice)
    assert wire(request)["tool_choice"] == sent
    assert "tool_choice" not in wire(ModelRequest("", [], (TOOL,)))
    assert "tool_choice" not in wire(ModelRequest("", [], (), tool_choice=choice))


def test_the_smaller_output_limit_is_sent_under_the_key_of_the_dialect() -> None:
    """The entry's limit is a cap on the request's."""
    spec = ModelSpec("m", "m", max_output_tokens=100, temperature=0.5)
    body = wire(ModelRequest("", [], max_output_tokens=500), spec)
    assert (body["max_tokens"], body["temperature"]) == (100, 0.5)
    modern = Dialect("max_completion_tokens")
    body = wire(ModelRequest("", [], max_output_tokens=50), spec, modern)
    assert body["max_completion_tokens"] == 50
    assert "max_tokens" not in body
    assert "max_tokens" not in wire(ModelRequest("", []))


def test_further_keys_are_sent_as_they_are_but_cannot_break_the_request() -> None:
    """``extra_body`` wins over defaults, and never replaces the history."""
    spec = ModelSpec("m", "m", extra_body={"top_k": 5, "messages": [], "stream": False})
    body = wire(ModelRequest("", [UserMessage("x")]), spec)
    assert body["top_k"] == 5
    assert body["stream"] is True
    assert len(body["messages"]) == 1


def test_a_dialect_changes_only_by_what_a_refusal_names() -> None:
    """One refusal, one change; anything else is an error that the user sees."""
    sent = RequestParts(max_tokens=100, has_reasoning=True)
    base = Dialect()
    unsupported = "Unsupported parameter: 'max_tokens' is not supported with this model."
    assert base.after(unsupported, sent) == Dialect("max_completion_tokens")
    assert base.after(unsupported, RequestParts(None, has_reasoning=False)) is None
    assert base.after("Unrecognized request argument: stream_options", sent) == Dialect(usage=False)
    assert base.after("reasoning_content must be passed back", sent) == Dialect(reasoning=True)
    assert base.after("max_tokens is too large: 100000", sent) is None
    assert base.after("temperature is not supported", sent) is None
