"""The faulty server's bytes on stdout: each knob of the wire does what its line says."""

import json

import anyio
import pytest
from mcp import Client, StdioServerParameters

from hub.testing.faulty.launch import faulty_command
from tests.testing.raw_server import INITIALIZE, exit_of, raw_server


@pytest.mark.parametrize(
    ("knob", "lines"),
    [
        ("banner", [b"Welcome to the faulty server!"]),
        ("banner=hello", [b"hello"]),
        ("blank_lines", [b"", b""]),
        ("json_noise", [b'{"hello":1}']),
        ("non_utf8", [b"caf\xe9 au lait"]),
        ("bom", []),
        ("flood=200000", [b"x" * 200_000]),
    ],
)
async def test_noise_stands_before_the_first_message(knob, lines):
    """H17: what is no message comes first, and then the protocol works."""
    async with raw_server(knob, handshake=False) as server:
        await server.request("initialize", **INITIALIZE)
        for line in lines:
            assert await server.line() == line
        first = await server.line()
        assert first.startswith(b"\xef\xbb\xbf") is (knob == "bom")
        assert json.loads(first.decode("utf-8-sig"))["id"] == 1


async def test_a_flood_without_end_never_comes_to_a_message():
    """H17: a line of two gigabytes is a line that does not end."""
    async with raw_server("flood=0", handshake=False) as server:
        received = 0
        while received < 5_000_000:
            part = await server.output.receive(1_000_000)
            assert b"\n" not in part
            received += len(part)


async def test_lines_can_end_with_cr_lf():
    """H17: a server on another system ends its lines in another way."""
    async with raw_server("crlf", handshake=False) as server:
        await server.request("ping")
        assert (await server.line()).endswith(b"}\r")


async def test_chatter_comes_between_the_messages():
    """H17: a log line that went to the wrong stream."""
    async with raw_server("noise_between", handshake=False) as server:
        for _ in range(2):
            await server.request("ping")
            assert await server.line() == b"INFO working on it"
            assert "result" in await server.message()


async def test_replies_come_twice_or_to_nobody():
    """H22: a late or a doubled answer is not the answer to something else."""
    async with raw_server("double_replies", "unknown_reply", handshake=False) as server:
        identity = await server.request("ping")
        ids = [(await server.message())["id"] for _ in range(3)]
        assert ids == [987654, identity, identity]


async def test_a_message_can_arrive_byte_by_byte():
    """The pieces add up to the message."""
    async with raw_server("trickle", handshake=False) as server:
        assert (await server.ask("ping"))["result"] == {}


async def test_a_reply_can_break_off_with_the_server():
    """H12: half a line and then the end."""
    async with raw_server("torn_reply") as server:
        await server.request("tools/call", name="echo", arguments={"text": "hi"})
        code, _stderr = await exit_of(server)
        assert code == 9
        with pytest.raises(anyio.IncompleteRead):
            await server.line()
        assert server.output.buffer.startswith(b'{"jsonrpc"')


async def test_a_byte_that_is_not_utf_8_can_be_inside_a_result():
    """H17: the line is JSON but for one byte."""
    async with raw_server("non_utf8_result") as server:
        await server.request("tools/call", name="echo", arguments={"text": "hi"})
        line = await server.line()
        with pytest.raises(UnicodeDecodeError):
            line.decode()
        assert json.loads(line.decode("latin-1"))["result"]["content"][1]["text"] == "caf\xe9"


@pytest.mark.parametrize(
    "knob", ["banner", "blank_lines", "json_noise", "crlf", "noise_between", "double_replies"]
)
async def test_the_sdk_lives_with_noise(knob):
    """H17: what a hub on the SDK may rely on."""
    command, args = faulty_command(knob)
    with anyio.fail_after(20):
        async with Client(StdioServerParameters(command=command, args=args)) as client:
            assert (await client.call_tool("echo", {"text": "hi"})).content[0].text == "hi"
