"""The faulty server's calls: each knob does what its line says."""

import json

import anyio
import mcp.types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from hub.testing.faulty.launch import FaultyLog, faulty_command
from tests.testing.raw_server import exit_of, is_silent, raw_server

TEXT = {"name": "echo", "arguments": {"text": "hi"}}


def stdio(*knobs: str, log: object = None) -> StdioServerParameters:
    """The launch parameters of the SDK for a faulty server."""
    command, args = faulty_command(*knobs, log=log)
    return StdioServerParameters(command=command, args=args)


async def test_a_call_can_be_slow_without_holding_up_the_others(tmp_path):
    """H25: twenty fast calls pass a slow one."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server(log=tmp_path / "log") as server:
        slow = await server.request("tools/call", name="slow", arguments={"seconds": 0.5})
        await log.wait_for("call", id=slow)
        fast = [await server.request("tools/call", **TEXT) for _ in range(20)]
        order = [(await server.message())["id"] for _ in range(21)]
        assert sorted(order[:20]) == fast
        assert order[20] == slow


async def test_a_serial_server_takes_one_message_at_a_time():
    """H25: a ping waits for the call before it."""
    async with raw_server("serial") as server:
        slow = await server.request("tools/call", name="slow", arguments={"seconds": 0.3})
        ping = await server.request("ping")
        assert [(await server.message())["id"] for _ in range(2)] == [slow, ping]


async def test_every_call_can_be_late_or_without_an_answer(tmp_path):
    """H25, A48: the server is alive all the while."""
    async with raw_server("call_delay=0.4") as server:
        begin = anyio.current_time()
        await server.call("echo", text="hi")
        assert anyio.current_time() - begin >= 0.3
    log = FaultyLog(tmp_path / "log")
    async with raw_server("call_never", log=tmp_path / "log") as server:
        await server.request("tools/call", **TEXT)
        await log.wait_for("call", name="echo")
        assert "result" in await server.ask("ping")


async def test_every_call_can_fail_in_either_way():
    """A JSON-RPC error, and a result that says so."""
    async with raw_server("call_error=-32001") as server:
        assert (await server.call("echo", text="hi"))["error"]["code"] == -32001
    async with raw_server("tool_error") as server:
        assert (await server.call("echo", text="hi"))["result"]["isError"]


async def test_a_call_can_kill_the_server_and_is_logged_once(tmp_path):
    """H12: exit code, reason on stderr, and one call that did run."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server("crash_on_call=7", log=tmp_path / "log") as server:
        await server.request("tools/call", **TEXT)
        code, stderr = await exit_of(server)
        assert (code, stderr) == (7, "faulty server: lost its database during echo\n")
    assert len(log.events("call")) == 1
    async with raw_server() as server:
        await server.request("tools/call", name="crash", arguments={"code": 3})
        assert (await exit_of(server))[0] == 3


@pytest.mark.parametrize(("mode", "era"), [("legacy", "handshake"), ("auto", "both")])
async def test_a_cancel_of_the_sdk_reaches_the_server(tmp_path, mode, era):
    """H22: the cancelled call stops and is not answered; the next one is."""
    log = FaultyLog(tmp_path / "log")
    with anyio.fail_after(20):
        async with Client(stdio(f"era={era}", log=tmp_path / "log"), mode=mode) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "slow", {"seconds": 60})
                await log.wait_for("call", name="slow")
                group.cancel_scope.cancel()
            (cancel,) = await log.wait_for("cancel")
            assert cancel["running"]
            await log.wait_for("called", name="slow", answered=False)
            assert (await client.call_tool("echo", {"text": "hi"})).content[0].text == "hi"


async def test_a_server_can_answer_a_cancelled_call_after_all(tmp_path):
    """H22: late, and the client has to throw it away."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server("ignore_cancel", log=tmp_path / "log") as server:
        call = await server.request("tools/call", name="slow", arguments={"seconds": 0.3})
        await server.send({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": call},
        })
        await log.wait_for("cancel", id=call, running=True)
        assert (await server.message())["id"] == call


@pytest.mark.parametrize(("mode", "era"), [("legacy", "handshake"), ("auto", "both")])
async def test_a_slow_call_can_report_progress(mode, era):
    """H23: in order, on the token of the request."""
    seen: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    with anyio.fail_after(20):
        async with Client(stdio("progress_every=50", f"era={era}"), mode=mode) as client:
            await client.call_tool("slow", {"seconds": 0.4}, progress_callback=note)
    assert len(seen) >= 3
    assert seen == sorted(seen)


async def test_no_progress_is_sent_where_none_was_asked_for():
    """H23: without a token there is nothing to report on."""
    async with raw_server("progress_every=50") as server:
        assert "result" in await server.call("slow", seconds=0.2)


async def test_a_call_can_log():
    """Log messages come before the answer."""
    async with raw_server("log_messages=2") as server:
        await server.request("tools/call", **TEXT)
        assert [(await server.message()).get("method") for _ in range(3)] == [
            "notifications/message",
            "notifications/message",
            None,
        ]


async def test_a_result_can_be_huge_and_is_valid_json():
    """H46: five megabytes of an array."""
    async with raw_server("huge_result=5000000") as server:
        text = (await server.call("echo", text="hi"))["result"]["content"][0]["text"]
        assert 5_000_000 <= len(text) < 5_100_000
        assert isinstance(json.loads(text), list)


@pytest.mark.parametrize(
    ("knob", "name", "expected"),
    [
        ("structured_only", "add", {"content": [], "structuredContent": {"sum": 5}}),
        ("bad_output", "add", {"structuredContent": {"sum": "three"}}),
    ],
)
async def test_structured_results_can_be_alone_or_wrong(knob, name, expected):
    """H43: content is empty, or the outputSchema is broken."""
    async with raw_server(knob) as server:
        result = (await server.call(name, a=2, b=3))["result"]
        assert expected.items() <= result.items()


async def test_content_can_be_missing_or_of_an_unknown_kind():
    """H43: what a strict client refuses although the tool has run."""
    async with raw_server("no_content") as server:
        assert "content" not in (await server.call("echo", text="hi"))["result"]
    async with raw_server("unknown_block") as server:
        blocks = (await server.call("echo", text="hi"))["result"]["content"]
        assert [block["type"] for block in blocks] == ["text", "hologram"]


async def test_images_come_in_errors_and_without_base64():
    """H45: block types and their order."""
    async with raw_server("image_error") as server:
        result = (await server.call("echo", text="hi"))["result"]
        assert result["isError"]
        assert [block["type"] for block in result["content"]] == ["text", "image"]
    async with raw_server("raw_image") as server:
        result = (await server.call("echo", text="hi"))["result"]
        assert result["content"][1]["data"].startswith("\x89PNG")


async def answer_elicitation(_context, params):
    """Accept whatever is asked."""
    return mcp.types.ElicitResult(action="accept", content={"colour": params.message})


async def answer_roots(_context):
    """Name one root."""
    return mcp.types.ListRootsResult(roots=[mcp.types.Root(uri="file:///x")])


async def answer_sampling(_context, _params):
    """Say one word."""
    word = mcp.types.TextContent(type="text", text="hello")
    return mcp.types.CreateMessageResult(role="assistant", content=word, model="m")


@pytest.mark.parametrize(("mode", "era"), [("legacy", "handshake"), ("auto", "both")])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("elicitation", '"colour": "Which colour?"'),
        ("url", '"action": "accept"'),
        ("roots", "file:///x"),
        ("sampling", "hello"),
    ],
)
async def test_a_call_can_ask_the_client_in_either_era(mode, era, kind, expected):
    """H30: the client's answer stands in the result."""
    with anyio.fail_after(20):
        async with Client(
            stdio(f"ask={kind}", f"era={era}"),
            mode=mode,
            elicitation_callback=answer_elicitation,
            list_roots_callback=answer_roots,
            sampling_callback=answer_sampling,
        ) as client:
            result = await client.call_tool("echo", {"text": "hi"})
            assert expected in result.content[0].text


async def test_a_client_that_cannot_answer_is_asked_all_the_same():
    """H30, A27: its refusal comes back in the result."""
    with anyio.fail_after(20):
        async with Client(stdio("ask=elicitation"), mode="legacy") as client:
            result = await client.call_tool("echo", {"text": "hi"})
            assert "error" in json.loads(result.content[0].text)


async def test_a_question_that_nobody_answers_keeps_the_call_open(tmp_path):
    """H30: until the call is cancelled."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server("ask=roots", log=tmp_path / "log") as server:
        call = await server.request("tools/call", **TEXT)
        assert (await server.message())["method"] == "roots/list"
        assert await is_silent(server)
        await server.send({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": call},
        })
        await log.wait_for("called", id=call, answered=False)


async def test_the_sdk_reports_a_dead_server_as_a_closed_connection():
    """H12: what a hub has to add the exit code and the stderr to."""
    with anyio.fail_after(20):
        async with Client(stdio(), mode="legacy") as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("crash", {"code": 3})
            assert caught.value.code == mcp.types.CONNECTION_CLOSED
