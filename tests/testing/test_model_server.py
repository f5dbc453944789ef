"""The scripted model server, as the real SDK and as a raw socket see it (S1 to S9)."""

import json
import signal
import subprocess
import sys
from typing import Any

import anyio
import openai
import pytest
from openai import AsyncOpenAI

from hub.testing.serving import ModelServer, serve_model

USER = {"role": "user", "content": "hi"}


def script(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"script": 1, "turns": list(turns)}


def client(server: ModelServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.base_url, api_key="secret-key", max_retries=0)


async def complete(server: ModelServer, messages: list[Any] | None = None, **more: Any) -> Any:
    async with client(server) as sdk:
        return await sdk.chat.completions.create(model="m", messages=messages or [USER], **more)


async def streamed(
    server: ModelServer, messages: list[Any] | None = None, **more: Any
) -> list[Any]:
    async with client(server) as sdk:
        stream = await sdk.chat.completions.create(
            model="m", messages=messages or [USER], stream=True, **more
        )
        return [chunk async for chunk in stream]


async def raw(server: ModelServer, body: Any, *, until: bytes = b"0\r\n\r\n") -> bytes:
    """Send a request by hand and return the bytes of the answer."""
    port = int(server.base_url.split(":")[2].split("/")[0])
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(data)}\r\n\r\n".encode()
    got = b""
    with anyio.fail_after(5):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(head + data)
            while until not in got:
                try:
                    got += await stream.receive()
                except anyio.EndOfStream:
                    break
    return got


async def test_text_calls_reasoning_and_usage_arrive_whole_and_in_pieces():
    """The same turn, streamed and not."""
    turn = {
        "text": "one two three four five six seven eight",
        "reasoning": "hm",
        "calls": [{"tool": "x__y", "args": {"path": "a" * 60}}],
        "usage": {"input_tokens": 7, "output_tokens": 3, "cached_tokens": 2},
    }
    async with serve_model(script(turn)) as server:
        answer = await complete(server)
        message = answer.choices[0].message
        assert (message.content, answer.choices[0].finish_reason) == (turn["text"], "tool_calls")
        assert json.loads(message.tool_calls[0].function.arguments) == {"path": "a" * 60}
        assert (answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens) == (
            7,
            2,
        )

        chunks = await streamed(server, stream_options={"include_usage": True})
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        assert "".join(delta.content or "" for delta in deltas) == turn["text"]
        pieces = [call for delta in deltas for call in delta.tool_calls or ()]
        assert (pieces[0].id, pieces[0].function.name) == ("call_0_0", "x__y")
        assert json.loads("".join(p.function.arguments for p in pieces)) == {"path": "a" * 60}
        assert chunks[-1].usage.completion_tokens == 3


async def test_no_usage_is_sent_where_the_script_wants_none_or_nobody_asked():
    """``usage: {}`` is none at all (S8)."""
    async with serve_model(script({"text": "a", "usage": {}, "repeat": 2})) as server:
        assert (await complete(server)).usage is None
        assert all(chunk.usage is None for chunk in await streamed(server))


async def test_agents_are_told_apart_by_instructions_model_and_header():
    """S1: three ways to choose; a request that nobody matches is refused."""
    agents = {
        "lead": {"match": {"system_contains": "You lead"}, "turns": [{"text": "lead"}]},
        "other": {"match": {"model": "other"}, "turns": [{"text": "other"}]},
        "named": {"match": {"header": {"X-Agent": "n"}}, "turns": [{"text": "named"}]},
    }
    async with serve_model({"script": 1, "agents": agents}) as server, client(server) as sdk:
        create = sdk.chat.completions.create
        system = {"role": "system", "content": "You lead."}
        first = await create(model="m", messages=[system, USER])
        second = await create(model="other", messages=[USER])
        third = await create(model="m", messages=[USER], extra_headers={"X-Agent": "n"})
        assert [a.choices[0].message.content for a in (first, second, third)] == [*agents]
        with pytest.raises(openai.BadRequestError, match="no agent"):
            await create(model="m", messages=[USER])
        assert [record.agent for record in server.requests] == ["lead", "other", "named", ""]


async def test_chunks_go_out_exactly_as_they_are_written():
    """S2: any key may be missing, null, doubled or out of order."""
    chunks = [{"choices": [{"delta": {"content": None}}]}, {"x": 1}, {"choices": []}]
    async with serve_model(script({"wire": {"chunks": chunks, "done": False}})) as server:
        answer = await raw(server, {"messages": [USER], "stream": True})
        sent = [
            json.loads(line[6:]) for line in answer.split(b"\r\n") if line.startswith(b"data: ")
        ]
        assert sent == chunks
        assert b"[DONE]" not in answer


async def test_raw_bytes_can_be_split_inside_a_character():
    """S3: each part is a write of its own, hexadecimal where it is no text."""
    parts = [{"hex": "646174613a20f09f"}, {"hex": "98800a0a"}, ": note\r\n\r\n"]
    wire = {"raw": parts, "content_type": None, "framing": "close"}
    async with serve_model(script({"wire": wire})) as server:
        answer = await raw(server, {"messages": [USER], "stream": True}, until=b"never")
        assert answer.endswith("data: 😀\n\n: note\r\n\r\n".encode())
        assert b"content-type" not in answer


async def test_comments_and_carriage_returns_can_be_mixed_in():
    """Keep-alives before each event, CRLF line ends; the SDK still reads it."""
    wire = {"comments": 2, "crlf": True}
    async with serve_model(script({"text": "fine", "wire": wire})) as server:
        chunks = await streamed(server)
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text == "fine"


async def test_a_status_fault_is_counted_for_each_place_of_a_conversation():
    """S4: twice 429 with its headers, then the answer; the next turn starts anew."""
    fault = {"fault": {"status": 429, "headers": {"Retry-After": 3}, "times": 2}}
    turns = [{"text": "a", "wire": fault}, {"text": "b", "wire": fault}]
    async with serve_model(script(*turns)) as server:
        history = [USER]
        for text in ("a", "b"):
            for _ in range(2):
                with pytest.raises(openai.RateLimitError) as caught:
                    await complete(server, history)
                assert caught.value.response.headers["retry-after"] == "3"
            assert (await complete(server, history)).choices[0].message.content == text
            history = [*history, {"role": "assistant", "content": text}, USER]
        assert [record.status for record in server.requests] == [429, 429, 200] * 2


@pytest.mark.parametrize("after", ["request", 0, 2])
async def test_a_stalled_answer_goes_on_when_it_is_released(after):
    """S5: before the first byte, before the first event, in the middle."""
    wire = {"stall": {"after": after, "name": "gate"}}
    async with serve_model(script({"text": "x" * 100, "wire": wire})) as server:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                done: list[Any] = []

                async def ask() -> None:
                    done.extend(await streamed(server))

                group.start_soon(ask)
                await server.wait_for_requests(1)
                await anyio.wait_all_tasks_blocked()
                assert not done
                server.release("gate")
        assert "".join(c.choices[0].delta.content or "" for c in done if c.choices) == "x" * 100


async def test_a_client_that_leaves_a_stalled_answer_is_noticed():
    """S9: the log says so, and no connection is left."""
    wire = {"stall": {"after": 1}}
    async with serve_model(script({"text": "x", "wire": wire})) as server:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(streamed, server)
                await server.wait_for_requests(1)
                group.cancel_scope.cancel()
            await server.wait_for(lambda s: s.open_connections == 0)
        [record] = server.requests
        assert record.client_left
        assert record.ended is not None
        assert record.ended >= record.at


async def test_a_connection_can_be_cut_inside_of_an_event():
    """S6: some events, some bytes of the next, then nothing."""
    wire = {"close": {"after": 1, "bytes": 9}}
    async with serve_model(script({"text": "hello", "wire": wire})) as server:
        answer = await raw(server, {"messages": [USER], "stream": True})
        assert answer.count(b"data: ") == 2
        assert not answer.endswith(b"0\r\n\r\n")


async def test_very_many_deltas_arrive():
    """Twenty thousand of them."""
    async with serve_model(script({"wire": {"deltas": 20_000}})) as server:
        answer = await raw(server, {"messages": [USER], "stream": True})
        assert answer.count(b'"content":"tok "') == 20_000


async def test_the_log_keeps_bodies_and_times_and_hides_the_key():
    """S9."""
    async with serve_model(script({"text": "a"})) as server:
        await complete(server, temperature=0.5)
        [record] = server.requests
        assert record.body["temperature"] == 0.5
        assert record.headers["authorization"] == "[redacted]"
        assert "secret-key" not in repr(record)
        server.assert_finished()


async def test_turns_left_over_and_refused_requests_fail_the_test():
    """``assert_finished`` names them."""
    async with serve_model(script({"text": "a"}, {"text": "b"})) as server:
        await complete(server)
        with pytest.raises(AssertionError, match="not played"):
            server.assert_finished()
        with pytest.raises(openai.BadRequestError):
            await complete(server, [{"role": "assistant", "content": ""}])
        with pytest.raises(AssertionError, match="neither content nor calls"):
            server.assert_finished()


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b"{}", b'{"messages": [{"role": 1}]}'])
async def test_nonsense_is_refused_and_the_server_lives_on(body):
    """Also in lenient mode."""
    for strict in (True, False):
        async with serve_model(script({"text": "a"}), strict=strict) as server:
            await raw(server, body, until=b"}")
            assert (await complete(server)).choices[0].message.content == "a"


async def test_a_torn_request_line_does_not_end_the_server():
    """Whatever arrives on a socket."""
    async with serve_model(script({"text": "a"})) as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        for junk in (
            b"\x00\xff\r\n\r\n",
            b"GET\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        ):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(junk)
        assert (await complete(server)).choices[0].message.content == "a"


async def test_two_hundred_requests_at_once_are_answered():
    """None is lost."""
    async with serve_model(script({"text": "a"})) as server:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(200):
                    group.start_soon(raw, server, {"messages": [USER], "stream": True})
        assert len([r for r in server.requests if r.status == 200]) == 200


@pytest.mark.parametrize("end", ["signal", "stdin"])
def test_the_program_says_where_it_listens_and_ends_when_it_is_told(tmp_path, end):
    """By SIGTERM, or when whoever started it is gone."""
    path = tmp_path / "s.yaml"
    path.write_text("script: 1\nturns: [{text: a}]")
    line = [sys.executable, "-m", "hub.testing.model_server", str(path), "--exit-with-parent"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        said = json.loads(server.stdout.readline())
        assert said["base_url"].startswith("http://127.0.0.1:")
        if end == "signal":
            server.send_signal(signal.SIGTERM)
        server.stdin.close()
        assert server.wait(10) == 0


def test_the_program_names_file_and_line_of_a_broken_script(tmp_path):
    """Exit code 2, no traceback."""
    path = tmp_path / "s.yaml"
    path.write_text("script: 1\nturns: [{txt: a}]")
    line = [sys.executable, "-m", "hub.testing.model_server", str(path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert "s.yaml:2" in done.stderr
    assert "Traceback" not in done.stderr
