"""The faulty server's prompts and resources, and its older HTTP face: each knob does its line."""

import anyio
from mcp import Client
from mcp.client.sse import sse_client

from hub.testing.faulty.http import PATH, SSE_PATH
from hub.testing.faulty.launch import faulty_http
from tests.testing.raw_server import INITIALIZE, exit_of, is_silent, raw_server

LISTS = ("prompts/list", "resources/list", "resources/templates/list")


async def test_resources_come_in_pages_like_tools():
    """As many as were asked for, and a template for them."""
    async with raw_server("resources=3", "pages=2") as server:
        first = (await server.ask("resources/list"))["result"]
        assert [member["uri"] for member in first["resources"]] == ["note://0", "note://1"]
        last = (await server.ask("resources/list", cursor=first["nextCursor"]))["result"]
        assert [member["uri"] for member in last["resources"]] == ["note://2"]
        found = (await server.ask("resources/templates/list"))["result"]
        assert found["resourceTemplates"][0]["uriTemplate"] == "note://{number}"
        read = (await server.ask("resources/read", uri="note://1"))["result"]
        assert "note://1" in read["contents"][0]["text"]


async def test_the_lists_beside_the_tools_can_be_refused_or_silent():
    """H5, H1: the tools are listed all the same."""
    async with raw_server("extras_error=-32000") as server:
        for method in LISTS:
            assert (await server.ask(method))["error"]["code"] == -32000
        assert (await server.ask("tools/list"))["result"]["tools"]
    async with raw_server("extras_never") as server:
        await server.request("prompts/list")
        assert await is_silent(server)
        assert (await server.ask("tools/list"))["result"]["tools"]
    async with raw_server("no_templates") as server:
        assert (await server.ask("resources/templates/list"))["error"]["code"] == -32601


async def test_the_question_for_prompts_can_kill():
    """H5: with a reason on stderr."""
    async with raw_server("exit_on_prompts=4") as server:
        await server.request("prompts/list")
        code, words = await exit_of(server)
    assert code == 4
    assert "prompts/list" in words


async def test_odd_members_stand_among_good_ones():
    """H39: one without a name, one with a wrong one, one that is no object."""
    async with raw_server("odd_extras") as server:
        found = (await server.ask("prompts/list"))["result"]["prompts"]
    assert found[-1]["name"] == "greet"
    assert len(found) == 4


async def test_a_server_can_have_only_tools_and_another_version():
    """H31: what it says of itself in the handshake."""
    async with raw_server("only_tools", "server_version=3.1") as server:
        result = (await server.ask("initialize", **INITIALIZE))["result"]
    assert set(result["capabilities"]) == {"tools", "logging"}
    assert result["serverInfo"]["version"] == "3.1"


async def test_a_call_can_change_what_stands_beside_the_tools():
    """H20: one more of each, announced so many times."""
    async with raw_server("extras_changed=2") as server:
        await server.ask("initialize", **INITIALIZE)
        await server.request("tools/call", name="echo", arguments={"text": "x"})
        heard = [(await server.message()).get("method") for _ in range(4)]
        assert heard.count("notifications/prompts/list_changed") == 2
        assert heard.count("notifications/resources/list_changed") == 2
        await server.message()
        prompts = (await server.ask("prompts/list"))["result"]["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["greet", "more-0"]


async def test_the_older_http_transport_is_beside_the_newer_one():
    """A stream of events, and posts whose answers come over it."""
    async with faulty_http() as url:
        with anyio.fail_after(10):
            stream = sse_client(url.removesuffix(PATH) + SSE_PATH)
            async with Client(stream, mode="legacy") as client:
                result = await client.call_tool("echo", {"text": "hello"})
                assert result.content[0].text == "hello"
