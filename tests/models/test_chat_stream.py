"""What the chunks of an answer add up to."""

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.messages import Usage
from hub.core.requests import Completion
from hub.models.chat.sse import EventSplitter
from hub.models.chat.stream import Assembly, StreamFault
from tests.models.chunks import DONE, call, calls, delta, event, finish, text, usage


def read(*chunks: bytes, taken: tuple[str, ...] = ()) -> Completion:
    return assembled(*chunks).completion(set(taken))


def assembled(*chunks: bytes) -> Assembly:
    assembly = Assembly(lambda text: None, lambda text: None)
    splitter = EventSplitter()
    found = [data for chunk in chunks for data in splitter.feed(chunk)]
    for data in found + splitter.close():
        assembly.take(data)
    return assembly


def called(*chunks: bytes) -> list[tuple[str, str, str]]:
    completion = read(*chunks, finish("tool_calls"), DONE)
    assert completion.finish == "tool_calls"
    return [(call.id, call.name, call.arguments) for call in completion.message.calls]


def test_text_calls_and_usage_of_a_plain_answer_are_collected() -> None:
    """The usual shape: a role, text, one call in pieces, the end, the counts."""
    completion = read(
        event(delta(role="assistant", content="")),
        text("Let me "),
        text("look."),
        calls(call("", index=0, id="a", name="read", type="function")),
        calls(call('{"path":', index=0)),
        calls(call('"x"}', index=0)),
        finish("tool_calls"),
        usage(100, 20, prompt_tokens_details={"cached_tokens": 80}),
        DONE,
    )
    assert completion.message.text == "Let me look."
    assert [(c.id, c.name, c.arguments) for c in completion.message.calls] == [
        ("a", "read", '{"path":"x"}')
    ]
    assert completion.finish == "tool_calls"
    assert completion.usage == Usage(100, 20, cached_tokens=80, requests=1)


def test_parallel_calls_that_all_have_index_0_stay_apart() -> None:
    """Case A6: a new id at the same index starts a new call."""
    assert called(
        calls(call('{"p":1}', index=0, id="a", name="read")),
        calls(call('{"p":2}', index=0, id="b", name="read")),
    ) == [("a", "read", '{"p":1}'), ("b", "read", '{"p":2}')]


def test_parallel_calls_with_index_0_and_split_arguments_stay_apart() -> None:
    """Case A6: pieces without an id belong to the call that was opened last."""
    assert called(
        calls(call("", index=0, id="a", name="read")),
        calls(call('{"p"', index=0)),
        calls(call(":1}", index=0)),
        calls(call("", index=0, id="b", name="list")),
        calls(call('{"q"', index=0)),
        calls(call(":2}", index=0)),
    ) == [("a", "read", '{"p":1}'), ("b", "list", '{"q":2}')]


def test_interleaved_pieces_at_index_0_are_told_apart_by_their_ids() -> None:
    """Case A6: the id comes before the index."""
    assert called(
        calls(call('{"p"', index=0, id="a", name="read")),
        calls(call('{"q"', index=0, id="b", name="list")),
        calls(call(":1}", index=0, id="a")),
        calls(call(":2}", index=0, id="b")),
    ) == [("a", "read", '{"p":1}'), ("b", "list", '{"q":2}')]


def test_complete_arguments_close_a_call_of_the_same_name() -> None:
    """Case A6: the same name again at the same index is a second call, without any id."""
    found = called(
        calls(call('{"p":1}', index=0, name="read")),
        calls(call('{"p":2}', index=0, name="read")),
        calls(call("", index=0, name="read")),
        calls(call('{"p":3}', index=0)),
    )
    assert [(name, arguments) for _, name, arguments in found] == [
        ("read", '{"p":1}'),
        ("read", '{"p":2}'),
        ("read", '{"p":3}'),
    ]
    assert len({id_ for id_, _, _ in found}) == 3


def test_a_server_that_repeats_the_name_with_each_piece_makes_one_call() -> None:
    """The reverse of A6: nothing new has begun while the arguments are open."""
    assert called(
        calls(call('{"p"', index=0, id="a", name="read")),
        calls(call(":1}", index=0, id="a", name="read")),
        calls(call("", index=0, id="a", name="read")),
    ) == [("a", "read", '{"p":1}')]


def test_a_server_that_makes_up_an_id_for_each_piece_makes_one_call() -> None:
    """The reverse of A6: an id without a name continues arguments that are open."""
    assert called(
        calls(call('{"p"', index=0, id="a", name="read")),
        calls(call(":1}", index=0, id="b")),
    ) == [("a", "read", '{"p":1}')]


def test_whole_calls_that_are_sent_again_are_one_call() -> None:
    """Some servers repeat the finished call in their last chunk."""
    assert called(
        calls(call('{"p"', index=0, id="a", name="read")),
        calls(call(":1}", index=0)),
        calls(call('{"p":1}', index=0, id="a", name="read")),
    ) == [("a", "read", '{"p":1}')]


@pytest.mark.parametrize("place", [{}, {"index": None}])
def test_calls_without_an_index_are_put_together_by_position(place: dict[str, Any]) -> None:
    """Case A7: the index is missing or null, and is not read as 0."""
    assert called(
        calls(call("", id="a", name="read", **place)),
        calls(call('{"p":1}', **place)),
        calls(call("", id="b", name="list", **place)),
        calls(call('{"q":2}', **place)),
    ) == [("a", "read", '{"p":1}'), ("b", "list", '{"q":2}')]


def test_two_calls_of_one_chunk_without_an_index_are_two() -> None:
    """Case A7: the place in the list tells them apart, also in the chunks that follow."""
    assert called(
        calls(call('{"p"', id="a", name="read"), call('{"q"', id="b", name="list")),
        calls(call(":1}"), call(":2}")),
    ) == [("a", "read", '{"p":1}'), ("b", "list", '{"q":2}')]


def test_an_index_that_appears_late_finds_its_call() -> None:
    """Case A7: the calls opened without an index; their arguments come with one."""
    assert called(
        calls(call(id="a", name="read")),
        calls(call(id="b", name="list")),
        calls(call('{"q":2}', index=1)),
        calls(call('{"p":1}', index=0)),
    ) == [("a", "read", '{"p":1}'), ("b", "list", '{"q":2}')]


def test_an_id_that_appears_late_belongs_to_the_open_call() -> None:
    """Case A7: name first, then the id, then the arguments."""
    assert called(
        calls(call(index=0, name="read")),
        calls(call(index=0, id="a")),
        calls(call('{"p":1}', index=0)),
    ) == [("a", "read", '{"p":1}')]


def test_missing_and_repeated_ids_become_unique() -> None:
    """Ids differ within the message and from every id of the conversation."""
    completion = read(
        calls(call("{}", index=0, name="a"), call("{}", index=1, id="x", name="b")),
        calls(call("{}", index=2, id="x", name="c"), call("{}", index=3, id="old", name="d")),
        finish("tool_calls"),
        taken=("old",),
    )
    ids = [call.id for call in completion.message.calls]
    assert [call.name for call in completion.message.calls] == ["a", "b", "c", "d"]
    assert ids[1] == "x"
    assert len({*ids, "old"}) == 5


def test_arguments_that_come_as_an_object_become_text() -> None:
    """Some servers send parsed arguments."""
    function = {"name": "read", "arguments": {"p": "ü"}}
    assert called(calls({"index": 0, "id": "a", "function": function})) == [
        ("a", "read", '{"p":"ü"}')
    ]


def test_the_old_function_call_is_a_call() -> None:
    """Servers from before parallel calls send one ``function_call``."""
    completion = read(
        event(delta(function_call={"name": "read", "arguments": ""})),
        event(delta(function_call={"arguments": '{"p":1}'})),
        finish("function_call"),
    )
    assert completion.finish == "tool_calls"
    assert [(c.name, c.arguments) for c in completion.message.calls] == [("read", '{"p":1}')]


def test_a_stop_with_calls_is_an_end_with_calls() -> None:
    """Some servers say stop although the message has calls."""
    assert read(calls(call("{}", index=0, id="a", name="x")), finish("stop")).finish == "tool_calls"


def test_an_answer_without_a_reason_to_end_is_incomplete() -> None:
    """Case A9: the name came and nothing else, so the call must not run."""
    completion = read(calls(call(index=0, id="a", name="delete")))
    assert completion.finish == "incomplete"
    assert completion.message.calls[0].arguments == ""


def test_done_alone_ends_text_but_never_calls() -> None:
    """Case A9: calls need a reason; text of a server that never gives one is whole at its end."""
    assert read(text("Hi"), DONE).finish == "stop"
    assert read(calls(call("{}", index=0, id="a", name="x")), DONE).finish == "incomplete"


def test_a_length_limit_passes_the_calls_on_as_they_are() -> None:
    """Case A10: half arguments are not completed."""
    completion = read(
        calls(call('{"path":"a","content":"xx', index=0, id="a", name="write")), finish("length")
    )
    assert completion.finish == "length"
    assert completion.message.calls[0].arguments == '{"path":"a","content":"xx'


def test_broken_arguments_behind_tool_calls_are_passed_on_as_they_are() -> None:
    """Case A10: a router that rewrites length to tool_calls does not make them whole."""
    broken = '{"path":"a","content":"xx'
    assert called(calls(call(broken, index=0, id="a", name="write"))) == [("a", "write", broken)]


def test_missing_arguments_behind_a_good_end_are_an_empty_object() -> None:
    """Tools without parameters are often called with no text at all."""
    assert called(calls(call("", index=0, id="a", name="now"))) == [("a", "now", "{}")]


def test_raw_control_characters_in_arguments_become_valid_json() -> None:
    """Case A11: a line break inside a string is escaped, the value stays what it was."""
    [(_, _, arguments)] = called(calls(call('{"t":"a\nb\tc"}', index=0, id="a", name="w")))
    assert json.loads(arguments) == {"t": "a\nb\tc"}


def test_a_lone_surrogate_in_arguments_is_replaced() -> None:
    """Case A12: the escape of half a pair would break whoever encodes the value."""
    [(_, _, arguments)] = called(calls(call('{"t":"a\\ud83d"}', index=0, id="a", name="w")))
    assert json.loads(arguments) == {"t": "a\N{REPLACEMENT CHARACTER}"}
    arguments.encode()


def test_halves_of_a_surrogate_pair_in_two_deltas_become_one_character() -> None:
    """Case A12: a tokenizer may split an emoji between two deltas."""
    completion = read(text("a\ud83d"), text("\ude00b"), text("\ud83d"), finish("stop"))
    assert completion.message.text == "a😀b\N{REPLACEMENT CHARACTER}"


def test_reasoning_is_kept_apart_from_text() -> None:
    """Both spellings of the field, and parts that are marked as thinking."""
    completion = read(
        event(delta(reasoning_content="one ")),
        event(delta(reasoning="two ", content=None)),
        event(
            delta(
                content=[
                    {"type": "thinking", "thinking": [{"type": "text", "text": "three"}]},
                    {"type": "text", "text": "Answer"},
                ]
            )
        ),
        finish("stop"),
    )
    assert completion.message.reasoning == "one two three"
    assert completion.message.text == "Answer"


def test_a_refusal_is_text() -> None:
    """A refusal is what the model answers."""
    assert read(event(delta(refusal="No.", content=None)), finish("stop")).message.text == "No."


def test_the_last_usage_counts() -> None:
    """Servers that count in every chunk send running totals."""
    first = {**delta(content="a"), "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    last = {**delta("stop"), "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    assert read(event(first), event(last)).usage == Usage(5, 2, requests=1)


def test_usage_details_of_all_spellings_are_read() -> None:
    """Cached and reasoning tokens, also of servers that count reasoning beside the answer."""
    deepseek = usage(10, 4, prompt_cache_hit_tokens=6)
    assert read(text("a"), deepseek).usage == Usage(10, 4, cached_tokens=6, requests=1)
    beside = usage(10, 4, total_tokens=44, completion_tokens_details={"reasoning_tokens": 30})
    assert read(text("a"), beside).usage == Usage(10, 34, reasoning_tokens=30, requests=1)
    assert read(text("a"), event({"choices": [], "usage": {}})).usage is None


def test_a_whole_message_in_json_is_an_answer() -> None:
    """A server that does not stream answers with a message."""
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call("{}", id="a", name="x")]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    completion = read(json.dumps(body, indent=2).encode())
    assert completion.message.text == "Hi"
    assert completion.message.calls[0].id == "a"


def test_an_error_inside_the_answer_is_a_fault() -> None:
    """Routers report a failing provider in the middle of a stream."""
    with pytest.raises(StreamFault) as caught:
        assembled(text("a"), event({"error": {"message": "overloaded", "code": 529}}))
    assert caught.value.error["code"] == 529


def test_an_event_that_is_broken_json_is_a_fault_but_noise_is_not() -> None:
    """A lost piece of the answer is not passed over; a ping is."""
    assert read(b"data: ping\n\n", text("a"), finish("stop")).message.text == "a"
    with pytest.raises(StreamFault):
        assembled(b'data: {"choices": [{"delta"\n\n')


def test_odd_shapes_are_passed_over() -> None:
    """Null where an object belongs, other choices, and names without text do no harm."""
    completion = read(
        event({"choices": None}),
        event({"choices": [{"index": 0, "delta": None, "finish_reason": None}]}),
        event({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
        event(delta(tool_calls=[None, {"function": None}], content=None, error=None)),
        event([delta(content="a")]),
        finish("stop"),
    )
    assert completion.message.text == "a"
    assert completion.message.calls == ()


STREAM = b"".join([
    b": hello\r\n\r\n",
    event(delta(role="assistant", content="")),
    text("Grüße 😀"),
    'data: {"choices":[{"index":0,"delta":{"content":"中文"}}]}\r\n\r\n'.encode(),
    text("\ud83d"),
    text("\ude00"),
    event(delta(reasoning="hm")),
    calls(call('{"p"', index=0, id="a", name="read")),
    calls(call(':"😀"}', index=0)),
    calls(call('{"q":"\n"}', index=0, id="b", name="list")),
    finish("tool_calls"),
    usage(),
    DONE,
])
EXPECTED = read(STREAM)


@given(st.lists(st.integers(min_value=0, max_value=len(STREAM)), max_size=30))
def test_any_chunking_of_a_recorded_stream_gives_the_same_answer(cuts: list[int]) -> None:
    """Case A12: network boundaries never change an answer."""
    marks = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[a:b] for a, b in itertools.pairwise(marks)]
    assert read(*chunks) == EXPECTED
    assert EXPECTED.message.text == "Grüße 😀中文😀"
    assert [c.arguments for c in EXPECTED.message.calls] == ['{"p":"😀"}', '{"q":"\\n"}']


@given(st.binary(max_size=300))
def test_no_bytes_at_all_raise_anything_but_the_named_faults(data: bytes) -> None:
    """Whatever a server sends becomes an answer or a fault that has a message."""
    with contextlib.suppress(StreamFault):
        read(b"data: " + data + b"\n\n", finish("stop"))


KEYS = [
    *("choices", "delta", "index", "content", "tool_calls", "function", "name", "arguments"),
    *("id", "finish_reason", "usage", "message", "reasoning", "function_call", "type", "text"),
]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_no_shape_of_a_chunk_raises_anything_but_the_named_faults(value: Any) -> None:
    """Keys may be missing, null or of a wrong type."""
    chunk = {"choices": [{"index": 0, "delta": value, "finish_reason": None}], "usage": value}
    for data in (value, chunk, {"choices": value}):
        with contextlib.suppress(StreamFault):
            assembled(event(data)).completion(set())
