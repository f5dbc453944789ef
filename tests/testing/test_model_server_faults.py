"""The faults of a scripted model server, each to the byte (S3 to S6, S8)."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from hub.testing.serving import ModelServer, serve_model
from tests.testing.model_requests import (
    LAST,
    USER,
    ask,
    connected,
    exchanged,
    post,
    script,
    texts,
)

WHOLE = {"model": "m", "messages": [USER]}


def pieces(answer: bytes) -> list[bytes]:
    """Return the chunks of a body."""
    rest = answer.partition(b"\r\n\r\n")[2]
    found = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        found.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return found


@asynccontextmanager
async def collected(server: ModelServer, request: bytes) -> AsyncIterator[bytearray]:
    """Send a request, and hand out what has come of the answer; wait for all of it at the end."""
    got = bytearray()

    async def collect(stream: anyio.abc.SocketStream) -> None:
        while not got.endswith(LAST):
            got.extend(await stream.receive())

    with anyio.fail_after(10):
        async with connected(server) as stream, anyio.create_task_group() as group:
            await stream.send(request)
            group.start_soon(collect, stream)
            yield got


async def test_each_part_of_raw_is_a_chunk_of_its_own():
    """S3: also where it splits a character."""
    parts = [{"hex": "646174613a207b7d20f09f"}, {"hex": "98800a0a"}, "data: [DONE]\n\n"]
    async with serve_model(script({"wire": {"raw": parts}})) as server:
        answer = await exchanged(server, post(ask()))
        assert pieces(answer) == [
            b"data: {} \xf0\x9f",
            b"\x98\x80\n\n",
            b"data: [DONE]\n\n",
            b"",
        ]
        assert b"content-type: text/event-stream" in answer


async def test_comments_stand_before_each_event_and_lines_may_end_in_crlf():
    """S3: an event with its comments is one write."""
    wire = {"comments": 1, "crlf": True}
    async with serve_model(script({"text": "hi", "wire": wire})) as server:
        events = pieces(await exchanged(server, post(ask())))[:-1]
        assert all(event.startswith(b": keep-alive\r\n\r\ndata: ") for event in events)
        assert all(event.endswith(b"\r\n\r\n") for event in events)


async def test_another_content_type_or_none_is_sent_and_the_body_may_end_with_the_connection():
    """S3: a proxy's answer."""
    for given, sent in (("text/plain", b"content-type: text/plain"), (None, None)):
        wire = {"content_type": given, "framing": "close"}
        async with serve_model(script({"text": "hi", "wire": wire})) as server:
            answer = await exchanged(server, post(ask()), until=b"never")
            assert (sent in answer) if sent else (b"content-type" not in answer)
            assert b"connection: close" in answer
            assert answer.endswith(b"data: [DONE]\n\n")


async def test_a_torn_answer_has_no_finish_reason():
    """``finish: incomplete``; any other one is sent as it is."""
    for finish, sent in (("incomplete", None), ("length", "length"), ("content_filter",) * 2):
        async with serve_model(script({"text": "hi", "finish": finish})) as server:
            answer = await exchanged(server, post(ask()))
            reasons = [
                json.loads(piece[6:])["choices"][0]["finish_reason"]
                for piece in pieces(answer)
                if piece.startswith(b"data: {")
            ]
            assert [reason for reason in reasons if reason] == ([sent] if sent else [])
            whole = json.loads(pieces(await exchanged(server, post(WHOLE)))[0])
            assert whole["choices"][0]["finish_reason"] == sent


async def test_usage_is_the_scripts_or_estimated_or_none_and_only_sent_when_it_is_asked_for():
    """S8: four bytes of the request to a token."""
    turns = [
        {"text": "hi", "usage": {"input_tokens": 7, "reasoning_tokens": 1}},
        {"text": "x" * 40},
        {"text": "y", "usage": {}},
    ]
    wanted = {"stream_options": {"include_usage": True}}
    history: list[Any] = [USER]
    found = []
    async with serve_model(script(*turns)) as server:
        for text in ("hi", "x" * 40, "y"):
            request = post(ask(*history, **wanted))
            answer = await exchanged(server, request)
            usages = [json.loads(p[6:]).get("usage") for p in pieces(answer) if p[6:7] == b"{"]
            found.append([usage for usage in usages if usage])
            history += [{"role": "assistant", "content": text}, USER]
            size = len(request.partition(b"\r\n\r\n")[2])
            if text.startswith("x"):
                assert found[-1][0]["prompt_tokens"] == size // 4
    assert (found[0][0]["prompt_tokens"], found[0][0]["completion_tokens"]) == (7, 0)
    assert found[0][0]["completion_tokens_details"] == {"reasoning_tokens": 1}
    assert (found[1][0]["completion_tokens"], found[2]) == (10, [])


async def test_a_status_fault_has_its_headers_and_its_body():
    """S4: text as it is, data as JSON, an ordinary error when nothing is said."""
    for body, sent in (
        (None, b'{"error": {"message": "scripted fault"}}'),
        ("<html>busy", b"<html>busy"),
        ({"error": {"code": "context_length_exceeded"}}, b"context_length_exceeded"),
    ):
        fault = {"status": 529, "headers": {"Retry-After": 3, "X-Odd": "ü"}, "body": body}
        async with serve_model(script({"wire": {"fault": fault}})) as server:
            for _ in range(3):
                answer = await exchanged(server, post(ask()), until=sent)
                assert answer.startswith(b"HTTP/1.1 529 ")
                assert b"Retry-After: 3\r\nX-Odd: \xfc\r\n" in answer
                assert answer.endswith(sent) or sent in answer
            server.assert_finished()


async def test_a_fault_is_counted_for_each_conversation_and_place():
    """S4: another conversation has its own count; a turn whose faults go on is not played."""
    fault = {"fault": {"status": 500, "times": 1}}
    async with serve_model(script({"text": "a", "repeat": 2, "wire": fault})) as server:
        statuses = []
        for history in (
            [USER],
            [{"role": "user", "content": "other"}],
            [USER],
            [USER, {"role": "assistant", "content": "a"}, USER],
        ):
            answer = await exchanged(server, post(ask(*history)), until=b"}")
            statuses.append(int(answer[9:12]))
        assert statuses == [500, 500, 200, 500]
        with pytest.raises(AssertionError, match="not played"):
            server.assert_finished()


@pytest.mark.parametrize("body", [ask(), WHOLE], ids=["stream", "whole"])
async def test_nothing_comes_before_a_stall_at_the_request_is_released(body):
    """S5: not even the status line."""
    wire = {"stall": {"name": "gate"}}
    async with serve_model(script({"text": "hi", "wire": wire})) as server:
        async with collected(server, post(body)) as got:
            await server.wait_for_requests(1)
            await anyio.wait_all_tasks_blocked()
            assert got == b""
            server.release("gate")
        assert b"hi" in got
        server.assert_finished()


@pytest.mark.parametrize(("after", "before"), [(0, 0), (2, 2), (40, 40), (99, None)])
async def test_a_stall_comes_after_exactly_so_many_events(after, before):
    """S5: also where events are sent in batches; at the latest at the end."""
    wire = {"deltas": 60, "stall": {"after": after, "name": "gate"}}
    async with serve_model(script({"wire": wire})) as server:
        async with collected(server, post(ask())) as got:
            while got.count(b"data: ") < (63 if before is None else before) or not got:
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            assert got.count(b"data: ") == (63 if before is None else before)
            assert not got.endswith(LAST)
            server.release("gate")
        assert got.count(b'"tok "') == 60


async def test_a_stall_can_end_by_itself_and_send_comments_meanwhile():
    """S5, S3: alive on the wire, without progress."""
    stall = {"after": 1, "seconds": 0.2, "keep_alive": 0.05}
    async with serve_model(script({"text": "hi", "wire": {"stall": stall}})) as server:
        started = time.monotonic()
        answer = await exchanged(server, post(ask()))
        assert time.monotonic() - started >= 0.19
        assert 1 <= answer.count(b": keep-alive\n\n") <= 4
        assert texts(answer) == "hi"


@pytest.mark.parametrize("stall", [{}, {"after": 1}, {"after": 1, "keep_alive": 0.01}])
async def test_a_client_that_leaves_a_stall_is_in_the_log(stall):
    """S5, S9: whatever the stall waits for."""
    async with serve_model(script({"text": "hi", "wire": {"stall": stall}})) as server:
        async with connected(server) as stream:
            await stream.send(post(ask()))
            await server.wait_for_requests(1)
        with anyio.fail_after(5):
            await server.wait_for(lambda s: s.requests[0].ended is not None)
            await server.wait_for(lambda s: s.open_connections == 0)
        assert server.requests[0].client_left
        assert server.problems == []


@pytest.mark.parametrize(
    ("close", "events", "tail"),
    [
        ({}, 0, b""),
        ({"after": 0, "bytes": 5}, 0, b"data:"),
        ({"after": 2, "bytes": 9}, 2, b'data: {"i'),
        ({"after": 50, "bytes": 9}, 4, b"data: [DONE]\n\n"),
    ],
)
async def test_a_connection_is_cut_after_exactly_so_many_events_and_bytes(close, events, tail):
    """S6: at the latest at the end, and never with the last chunk."""
    async with serve_model(script({"text": "hi", "wire": {"close": close}})) as server:
        answer = await exchanged(server, post(ask()), until=b"never")
        *whole, last = pieces(answer) or [b""]
        assert last == tail
        assert len([piece for piece in whole if piece.endswith(b"\n\n")]) >= events - 1
        assert not answer.endswith(b"0\r\n\r\n")
        assert not server.requests[0].client_left
        answer = await exchanged(server, post(WHOLE), until=b"never")
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert not answer.endswith(b"0\r\n\r\n")


async def test_an_agent_is_found_by_its_first_task_and_by_several_needles():
    """S1: ``task_contains``; all of a list have to be there; the first agent that fits answers."""
    agents = {
        "both": {"match": {"system_contains": ["one", "two"]}, "turns": [{"text": "both"}]},
        "task": {"match": {"task_contains": "Part 2"}, "turns": [{"text": "task"}]},
        "any": {"turns": [{"text": "any"}]},
    }

    async def asked(server: ModelServer, system: str, task: str) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
        return texts(await exchanged(server, post(ask(*messages))))

    async with serve_model({"script": 1, "agents": agents}) as server:
        assert await asked(server, "two and one", "Part 2") == "both"
        assert await asked(server, "one", "Part 2") == "task"
        assert await asked(server, "one", "Part 1") == "any"
        server.assert_finished()


async def test_a_failed_call_is_seen_as_one_over_http_as_well():
    """The protocol has no flag; its text begins with the word."""
    turns = [
        {"calls": [{"tool": "x"}, {"tool": "y"}]},
        {"text": "{{ last | map(attribute='is_error') | join(' ') }}"},
    ]
    call = {"type": "function", "function": {"name": "x", "arguments": "{}"}}
    calls = [{**call, "id": "call_0_0"}, {**call, "id": "call_0_1"}]
    history = [
        USER,
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_0_0", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "call_0_1", "content": "errors.py: fine"},
    ]
    async with serve_model(script(*turns)) as server:
        await exchanged(server, post(ask(USER)))
        assert texts(await exchanged(server, post(ask(*history)))) == "True False"
        server.assert_finished()
