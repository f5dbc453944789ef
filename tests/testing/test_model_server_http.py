"""What arrives on the sockets of a scripted model server, however odd, never ends it."""

import gzip
import json
import socket
from contextlib import suppress
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub.testing.http_wire import MAX_HEAD
from hub.testing.reading import Reader, UnreadableRequest
from hub.testing.serving import serve_model
from hub.testing.strict import violations
from tests.testing.model_requests import (
    USER,
    ask,
    connected,
    exchanged,
    post,
    received,
    script,
    texts,
)

HELLO = script({"text": "hello"})
KEYS = [
    *("role", "content", "tool_calls", "id", "function", "name", "arguments", "tool_call_id"),
    *("text", "type", "parameters"),
]
ROLES = st.sampled_from(["assistant", "tool", "user", "system"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner | ROLES, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\xff\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"get / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"GET /a b HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: \xb2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n", 413),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD + 10) + b"\r\n", 431),
        (b"GET /v1/nothing HTTP/1.1\r\n\r\n", 404),
        (b"DELETE /v1/chat/completions HTTP/1.1\r\n\r\n", 404),
        (b"\r\nGET /v1/models HTTP/1.1\r\n:\r\nno colon\r\n\r\n", 200),
    ],
)
async def test_whatever_is_no_request_gets_its_status(data, status):
    """And the next client its answer."""
    async with serve_model(HELLO) as server:
        answer = await exchanged(server, data, until=b"}")
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert texts(await exchanged(server, post(ask()))) == "hello"
        server.assert_finished()


@pytest.mark.parametrize(
    "data",
    [b"", b"POST / HTT", b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nab", post(ask())[:-1]],
)
async def test_a_client_that_leaves_within_its_request_is_no_fault(data):
    """Nothing is logged, and no connection is left."""
    async with serve_model(HELLO) as server:
        async with connected(server) as stream:
            await stream.send(data)
        with anyio.fail_after(5):
            await server.wait_for(lambda s: s.open_connections == 0)
        assert (server.requests, server.problems) == ([], [])


async def test_a_client_that_resets_its_connection_is_no_fault():
    """The kernel reports an error instead of an end."""
    async with serve_model(script({"wire": {"deltas": 50_000}})) as server:
        async with connected(server) as stream:
            raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            await stream.send(post(ask()))
            await received(stream, until=b"data: ")
        with anyio.fail_after(5):
            await server.wait_for(lambda s: s.open_connections == 0)
        assert server.problems == []
        assert server.requests[0].client_left


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        gzip.compress(b"{}", mtime=0),
        {},
        {"messages": {}},
        {"messages": [5]},
        {"messages": [{"role": ["user"], "content": {}}]},
        {"messages": [{"role": "assistant", "tool_calls": 5}]},
        {"messages": [{"role": "assistant", "tool_calls": [5]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"id": [], "function": "x"}]}]},
        {"messages": [{"role": "tool", "tool_call_id": []}]},
        {"messages": [USER], "tools": 5},
        {"messages": [USER], "tools": [5]},
        {"messages": [USER], "tools": [{"function": []}]},
        {"messages": [USER], "tool_choice": [], "tools": []},
        {"messages": [USER], "stream": True, "stream_options": "x", "model": {}},
    ],
)
async def test_a_body_that_is_no_request_is_refused_or_answered_but_ends_nothing(strict, body):
    """In lenient mode, too."""
    async with serve_model(script({"text": "hello", "repeat": 9}), strict=strict) as server:
        answer = await exchanged(server, post(body), until=b"}")
        assert answer.split(b" ")[1] in (b"400", b"200")
        assert texts(await exchanged(server, post(ask()))) == "hello"
        assert server.problems == []


@given(st.lists(JSON, max_size=4), JSON, JSON)
@settings(max_examples=300)
def test_no_json_whatsoever_breaks_the_validator_or_the_reader(messages, tools, choice):
    """They complain, and that is all."""
    body = {"messages": messages, "tools": tools, "tool_choice": choice}
    violations(body)
    with suppress(UnreadableRequest):
        Reader().read(body, {})


async def test_a_chunked_body_and_one_that_waits_for_leave_are_read():
    """As curl and proxies send them."""
    data = json.dumps(ask()).encode()
    half = len(data) // 2
    chunks = b"".join(
        f"{len(part):X};note\r\n".encode() + part + b"\r\n" for part in (data[:half], data[half:])
    )
    head = b"POST /v1/chat/completions HTTP/1.1\r\n"
    async with serve_model(script({"text": "hello", "repeat": 2})) as server:
        sent = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\ntrailer: x\r\n\r\n"
        assert texts(await exchanged(server, sent)) == "hello"
        async with connected(server) as stream:
            length = f"content-length: {len(data)}\r\n".encode()
            await stream.send(head + b"Expect: 100-continue\r\n" + length + b"\r\n")
            assert (await received(stream, b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
            await stream.send(data)
            assert texts(await received(stream)) == "hello"


async def test_one_connection_carries_many_requests_and_closes_when_it_is_asked_to():
    """Also two at once."""
    async with serve_model(script({"text": "hello"})) as server:
        async with connected(server) as stream:
            await stream.send(post(ask()) * 2)
            first = await received(stream)
            rest = b"" if first.count(b"[DONE]") == 2 else await received(stream)
            assert texts(first + rest) == "hello" * 2
            await stream.send(post(ask(), "Connection: close"))
            assert texts(await received(stream, until=b"never")) == "hello"
        assert [record.connection for record in server.requests] == [1, 1, 1]


async def test_the_log_holds_no_credentials_and_can_do_without_bodies():
    """Names of headers in lower case."""
    secret = ("Authorization: Bearer s3cret", "Api-Key: s3cret", "X-API-Key: s3cret")
    async with serve_model(HELLO, keep_bodies=False) as server:
        await exchanged(server, post(ask(), *secret, "Cookie: s3cret", "X-Agent: a"))
        [record] = server.requests
        assert "s3cret" not in repr(record)
        assert record.headers["x-agent"] == "a"
        assert record.body is None


async def test_several_may_wait_for_news_at_the_same_time():
    """None is forgotten."""
    async with serve_model(HELLO) as server:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(server.wait_for_requests, 1)
                await anyio.wait_all_tasks_blocked()
                await exchanged(server, post(ask()))


async def test_two_hundred_connections_are_open_at_once():
    """All of them stalled, then all answered."""
    wire = {"stall": {"after": 1, "name": "all"}}
    async with serve_model(script({"text": "hello", "wire": wire})) as server:
        answers: list[str] = []

        async def one() -> None:
            answers.append(texts(await exchanged(server, post(ask()))))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(200):
                    group.start_soon(one)
                await server.wait_for_requests(200)
                assert server.open_connections == 200
                server.release("all")
            await server.wait_for(lambda s: s.open_connections == 0)
        assert answers == ["hello"] * 200


async def test_conversations_that_share_their_beginning_are_kept_apart():
    """What was read of one is not taken for the other."""
    turns = [{"text": "{{ results | map(attribute='text') | join }}{{ prompt }}", "repeat": 9}]
    async with serve_model(script(*turns)) as server:
        for words in (["a"], ["a", "b"], ["a", "c"], ["a"], ["a", "c", "d"]):
            history: list[Any] = [USER]
            for word in words:
                history += [
                    {"role": "assistant", "content": "x"},
                    {"role": "user", "content": word},
                ]
            assert texts(await exchanged(server, post(ask(*history)))) == words[-1]
        refused = await exchanged(
            server, post(ask(*history, {"role": "assistant", "content": ""})), until=b"}"
        )
        assert b" 400 " in refused
        assert texts(await exchanged(server, post(ask(*history)))) == "d"
