"""Answers of a chat model, over real connections."""

import gzip
import json

import anyio
import pytest

from hub.core.errors import ModelError
from hub.core.messages import AssistantMessage, ToolCall, ToolMessage, Usage, UserMessage
from hub.core.requests import ModelRequest, ReasoningPiece, TextPiece
from tests.models.asking import REQUEST, ask, completion, model_at, notices, said
from tests.models.chunks import DONE, answer, call, calls, delta, event, finish, text, usage
from tests.models.wire_server import END, cut, framed, plain, stream_head, streamed, wire_server


async def test_an_answer_streams_and_ends_with_its_completion() -> None:
    """Text, reasoning and the completion, whose text is what the pieces said."""
    events = [event(delta(reasoning="hm")), text("Hel"), text("lo"), finish("stop"), usage(), DONE]
    async with wire_server(streamed(*events)) as server, model_at(server.url) as model:
        items = await ask(model)
    assert said(items) == "Hello"
    assert ReasoningPiece("hm") in items
    end = completion(items)
    assert end.message.text == "Hello"
    assert end.message.reasoning == "hm"
    assert end.finish == "stop"
    assert end.usage == Usage(10, 5, requests=1)
    assert model.name == "fast"
    assert model.leftover([]) == ""


async def test_a_piece_is_handed_on_while_the_answer_still_runs() -> None:
    """Streaming is live: the first piece comes before the second is sent."""
    gate = anyio.Event()
    steps = [stream_head(), framed(text("one")), gate, *map(framed, answer("two")), END]
    async with wire_server(steps) as server, model_at(server.url) as model:
        with anyio.fail_after(5):
            async with model.stream(REQUEST) as items:
                assert await anext(items) == TextPiece("one")
                gate.set()
                assert await anext(items) == TextPiece("two")


async def test_a_connection_serves_one_request_after_the_other() -> None:
    """Answers are read to their end, so that the next request needs no new connection."""
    async with wire_server(streamed(*answer())) as server, model_at(server.url) as model:
        for _ in range(5):
            await ask(model)
        assert len(server.requests) == 5
        assert server.connections == 1


async def test_the_request_is_what_an_openai_client_sends() -> None:
    """Path, key, content type and body; an answer without compression is asked for."""
    async with (
        wire_server(streamed(*answer())) as server,
        model_at(f"{server.url}?api-version=7", headers={"x-team": "a"}) as model,
    ):
        await ask(model)
    seen = server.requests[0]
    assert seen.head.startswith("POST /v1/chat/completions?api-version=7 HTTP/1.1")
    assert seen.header("authorization") == "Bearer sk-very-secret"
    assert seen.header("content-type") == "application/json"
    assert seen.header("x-team") == "a"
    assert seen.json["model"] == "gpt-x"
    assert seen.json["messages"][0] == {"role": "system", "content": "Be brief."}


async def test_servers_without_keys_get_a_placeholder() -> None:
    """Local servers ask for none, but the SDK insists on one."""
    async with (
        wire_server(streamed(*answer())) as server,
        model_at(server.url, api_key="") as model,
    ):
        await ask(model)
    assert server.requests[0].header("authorization") == "Bearer no-key"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
async def test_bytes_may_be_cut_anywhere(size: int) -> None:
    """Cases A12 and S3: characters, lines and chunks are split over writes; CRLF; comments."""
    events = [b": hi\n\n", text("中😀"), b": still here\n\n", *answer("é")]
    data = b"".join(events).replace(b"\n", b"\r\n").replace(b"data: ", b"data:")
    steps = [stream_head("text/plain"), *streamed(*_slices(data, size))[1:]]
    async with wire_server(steps) as server, model_at(server.url) as model:
        assert completion(await ask(model)).message.text == "中😀é"


def _slices(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


async def test_an_answer_that_is_not_streamed_is_an_answer() -> None:
    """Some servers answer with JSON although streaming was asked for."""
    message = {"content": "Hi", "tool_calls": [call('{"a":1}', id="x", name="read")]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    async with wire_server(plain(body)) as server, model_at(server.url) as model:
        items = await ask(model)
    assert said(items) == "Hi"
    assert completion(items).message.calls == (ToolCall("x", "read", '{"a":1}'),)


async def test_a_compressed_answer_is_unpacked() -> None:
    """A proxy may compress whatever was asked for."""
    packed = gzip.compress(b"".join(answer("Hi")))
    head = stream_head().replace(b"200 OK\r\n", b"200 OK\r\ncontent-encoding: gzip\r\n")
    async with wire_server([head, framed(packed), END]) as server, model_at(server.url) as model:
        assert completion(await ask(model)).message.text == "Hi"


async def test_a_server_that_never_closes_after_the_end_does_not_hold_up_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing [DONE], or a connection that stays open behind it, costs only a moment."""
    monkeypatch.setattr("hub.models.chat.reader.FINISH_GRACE", 0.05)
    monkeypatch.setattr("hub.models.chat.reader.DONE_GRACE", 0.05)
    for events in ([text("Hi"), finish("stop")], answer("Hi")):
        steps = [stream_head(), *map(framed, events), anyio.Event()]
        async with wire_server(steps) as server, model_at(server.url) as model:
            assert completion(await ask(model)).message.text == "Hi"


async def test_an_answer_whose_end_was_said_survives_a_broken_connection() -> None:
    """Nothing is asked for twice when only the closing bytes are missing."""
    steps = cut(text("Hi"), finish("stop"))
    async with wire_server(steps) as server, model_at(server.url) as model:
        assert completion(await ask(model)).finish == "stop"
        assert len(server.requests) == 1


async def test_a_cut_call_is_asked_for_again_and_then_given_up() -> None:
    """Case A9: the stream ends behind the name; one retry, then an incomplete answer."""
    name_only = cut(text("Now"), calls(call(index=0, id="a", name="delete")))
    async with wire_server(name_only) as server, model_at(server.url) as model:
        items = await ask(model)
        assert len(server.requests) == 2
    end = completion(items)
    assert end.finish == "incomplete"
    assert [one.name for one in end.message.calls] == ["delete"]
    [notice] = notices(items)
    assert notice.attempt == 1
    assert "cut" in notice.reason


@pytest.mark.parametrize("clean", [True, False])
async def test_a_cut_answer_that_works_the_second_time_is_whole(clean: bool) -> None:
    """Case A9: with or without a proper end of the body; the first text is void."""
    first = [text("half"), calls(call(index=0, id="a", name="x"))]
    steps = streamed(*first) if clean else cut(*first)
    async with (
        wire_server(steps, streamed(*answer("whole"))) as server,
        model_at(server.url) as model,
    ):
        items = await ask(model)
    assert said(items) == "whole"
    assert completion(items).finish == "stop"


async def test_a_length_limit_is_passed_on_with_its_calls() -> None:
    """Case A10: the engine sees the reason and runs none of them."""
    broken = calls(call('{"path":"a","content":"xx', index=0, id="a", name="write"))
    async with (
        wire_server(streamed(broken, finish("length"), DONE)) as server,
        model_at(server.url) as model,
    ):
        end = completion(await ask(model))
    assert end.finish == "length"
    assert end.message.calls == (ToolCall("a", "write", '{"path":"a","content":"xx'),)


async def test_ids_that_the_conversation_knows_are_replaced() -> None:
    """A server that counts its calls anew in each answer does not repeat an id."""
    history = [
        UserMessage("Hi"),
        AssistantMessage("", (ToolCall("call_0", "read", "{}"),)),
        ToolMessage("call_0", "read", "text"),
    ]
    again = streamed(calls(call("{}", index=0, id="call_0", name="read")), finish("tool_calls"))
    async with wire_server(again) as server, model_at(server.url) as model:
        end = completion(await ask(model, ModelRequest("", history)))
    assert end.message.calls[0].id != "call_0"


async def test_an_empty_answer_is_asked_for_again_and_then_an_error() -> None:
    """Nothing is never taken for an answer; tokens of both attempts are named in the notice."""
    empty = streamed(text(""), text(" \n"), finish("stop"), usage(), DONE)
    async with wire_server(empty) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match="empty answer") as caught:
            await ask(model)
        assert len(server.requests) == 2
    assert caught.value.kind == "incomplete"
    async with wire_server(empty, streamed(*answer())) as server, model_at(server.url) as model:
        end = completion(await ask(model))
    assert end.usage == Usage(20, 10, requests=2)


async def test_an_answer_used_up_by_reasoning_names_the_limit() -> None:
    """Asking again would end the same way."""
    thought = streamed(event(delta(reasoning="hm")), finish("length"), DONE)
    async with wire_server(thought) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match="output limit") as caught:
            await ask(model)
        assert len(server.requests) == 1
    assert "max_output_tokens" in caught.value.remedy


async def test_a_content_filter_is_named() -> None:
    """With text it is a reason to end, without text an error."""
    part = streamed(text("I"), finish("content_filter"), DONE)
    async with wire_server(part) as server, model_at(server.url) as model:
        assert completion(await ask(model)).finish == "content_filter"
    nothing = streamed(finish("content_filter"), DONE)
    async with wire_server(nothing) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match="content filter"):
            await ask(model)


async def test_a_history_that_grows_is_sent_whole() -> None:
    """Cached encodings do not leave anything out."""
    history = [UserMessage("one")]
    async with wire_server(streamed(*answer())) as server, model_at(server.url) as model:
        for number in range(3):
            await ask(model, ModelRequest("", history))
            history += [AssistantMessage(f"answer {number}"), UserMessage(f"and {number}")]
    sent = json.loads(server.requests[-1].body)["messages"]
    assert [message["content"] for message in sent] == [
        "one",
        "answer 0",
        "and 0",
        "answer 1",
        "and 1",
    ]
