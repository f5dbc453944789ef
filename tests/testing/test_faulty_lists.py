"""The faulty server's lists, schemas and changes: each knob does what its line says."""

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ToolsListChanged
from pydantic import ValidationError

from hub.testing.faulty.launch import FaultyLog, faulty_command
from hub.testing.faulty.registry import CHANGES
from tests.testing.raw_server import INITIALIZE, RawServer, is_silent, raw_server

LIST_CHANGED = "notifications/tools/list_changed"


def stdio(*knobs: str) -> StdioServerParameters:
    """The launch parameters of the SDK for a faulty server."""
    command, args = faulty_command(*knobs)
    return StdioServerParameters(command=command, args=args)


async def pages(server: RawServer, limit: int = 6) -> list[tuple[list[str], str | None]]:
    """The names and the next cursor of each page, following cursors at most so often."""
    found, params = [], {}
    while len(found) < limit:
        result = (await server.ask("tools/list", **params))["result"]
        cursor = result.get("nextCursor")
        found.append(([tool["name"] for tool in result["tools"]], cursor))
        if cursor is None:
            break
        params = {"cursor": cursor}
    return found


async def tools(*knobs: str) -> dict[str, dict]:
    """The tools that a server with these knobs offers, by name."""
    async with raw_server(*knobs) as server:
        return {tool["name"]: tool for tool in (await server.ask("tools/list"))["result"]["tools"]}


async def test_a_list_comes_in_pages():
    """H19: two tools a page, each page with the cursor of the next."""
    async with raw_server("pages=3") as server:
        found = await pages(server)
    assert [len(names) for names, _ in found] == [3, 3, 2]
    assert [cursor for _, cursor in found] == ["page-1", "page-2", None]


async def test_a_page_can_be_empty_without_being_the_last():
    """H19: a client that stops at an empty page loses the rest."""
    async with raw_server("empty_page") as server:
        assert [len(names) for names, _ in await pages(server)] == [3, 0, 3, 2]


async def test_the_empty_string_can_be_a_cursor():
    """H19: it is falsy, and it is not the end."""
    async with raw_server("empty_cursor") as server:
        found = await pages(server)
    assert [cursor for _, cursor in found] == ["", "page-2", None]
    assert len({name for names, _ in found for name in names}) == 8


async def test_the_empty_string_can_lead_back_to_the_first_page():
    """H19: a client that takes it for a cursor lists for ever."""
    async with raw_server("empty_cursor=last", "pages=4") as server:
        found = await pages(server, limit=4)
    assert [cursor for _, cursor in found] == ["page-1", "", "page-1", ""]
    assert found[0] == found[2]


async def test_a_cursor_can_repeat_for_ever():
    """H19: the same page with the same cursor."""
    async with raw_server("repeat_cursor") as server:
        found = await pages(server, limit=5)
    assert found[1] == found[2] == found[4]
    assert found[1][1] == "page-1"


async def test_a_server_can_reject_its_own_cursor():
    """H19: the second page is an error."""
    async with raw_server("reject_cursor") as server:
        first = (await server.ask("tools/list"))["result"]
        second = await server.ask("tools/list", cursor=first["nextCursor"])
        assert second["error"]["code"] == -32602


async def test_a_list_can_fail_be_late_or_never_come():
    """H5, H29, H1: while the server answers everything else."""
    async with raw_server("list_error=-32000") as server:
        assert (await server.ask("tools/list"))["error"]["code"] == -32000
        assert "result" in await server.ask("ping")
    async with raw_server("list_delay=0.4") as server:
        begin = anyio.current_time()
        await server.ask("tools/list")
        assert anyio.current_time() - begin >= 0.3
    async with raw_server("list_never") as server:
        await server.request("tools/list")
        assert "result" in await server.ask("ping")


async def test_every_list_can_announce_a_change():
    """H20: a client that lists again at once never stops."""
    async with raw_server("list_changed_on_list") as server:
        for _ in range(3):
            identity = await server.request("tools/list")
            assert (await server.message())["method"] == LIST_CHANGED
            assert (await server.message())["id"] == identity


async def test_a_call_can_announce_two_hundred_changes():
    """H20: all of them before the answer."""
    async with raw_server("list_changed_storm") as server:
        identity = await server.request("tools/call", name="echo", arguments={"text": "hi"})
        methods = [(await server.message())["method"] for _ in range(200)]
        assert set(methods) == {LIST_CHANGED}
        assert (await server.message())["id"] == identity


async def test_a_tool_can_arrive_late_with_an_announcement():
    """H4: the first list was right when it was made, and is not any more."""
    async with raw_server("late_tools=0.2") as server:
        before = (await server.ask("tools/list"))["result"]["tools"]
        assert (await server.message())["method"] == LIST_CHANGED
        after = (await server.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in after if tool not in before] == ["late"]


async def test_a_modern_client_hears_of_changes_only_on_the_stream_that_it_opened():
    """H20: the 2026 era has no announcement without a subscription."""
    with anyio.fail_after(20):
        async with Client(stdio("era=both", "list_changed_storm=2"), mode="auto") as client:
            await client.call_tool("echo", {"text": "nobody listens"})
            async with client.listen(tools_list_changed=True) as stream:
                await client.call_tool("echo", {"text": "hi"})
                assert isinstance(await anext(stream), ToolsListChanged)


async def test_names_can_be_long_doubled_or_all_but_equal():
    """H32, H34, H38: every one of them breaks somebody's table of names."""
    names = list(await tools("long_names", "colliding_names"))
    long = [name for name in names if name.startswith("long_")]
    assert [len(name) for name in long] == [80, 80]
    assert long[0][:79] == long[1][:79]
    assert {"read-file", "read_file", "read.file"} < set(names)
    async with raw_server("duplicate_names") as server:
        offer = (await server.ask("tools/list"))["result"]["tools"]
    twins = [tool["inputSchema"]["properties"] for tool in offer if tool["name"] == "twin"]
    assert [list(properties) for properties in twins] == [["number"], ["text"]]


async def test_schemas_can_be_odd():
    """H39, H40: legal and illegal shapes that some provider or client refuses."""
    offer = await tools(
        "no_properties", "any_of", "invalid_members", "no_schema", "empty_schema", "extra_tools=2"
    )
    assert offer["bare_object"]["inputSchema"] == {"type": "object"}
    assert offer["bare_members"]["inputSchema"]["properties"]["list"] == {"type": "array"}
    assert "anyOf" in offer["choice"]["inputSchema"]
    assert offer["invalid"]["inputSchema"]["properties"]["type"] == "object"
    assert "inputSchema" not in offer["schemaless"]
    assert offer["untyped"]["inputSchema"] == {}
    assert {"t0", "t1"} < set(offer)


async def test_one_tool_without_a_schema_costs_the_sdk_the_whole_list():
    """H39: why a hub has to look at the raw list."""
    with anyio.fail_after(20):
        async with Client(stdio("no_schema"), mode="legacy") as client:
            with pytest.raises(ValidationError):
                await client.list_tools()


async def test_texts_can_be_hostile_or_endless():
    """A59, H46: escapes, look-alike framing, and a description of 100 kB."""
    offer = await tools("hostile_text", "huge_description=100000")
    assert "\x1b[2J" in offer["hostile"]["description"]
    assert "<system-reminder>" in offer["hostile"]["description"]
    assert len(offer["wordy"]["description"]) == 100_000
    async with raw_server("hostile_text") as server:
        reply = await server.call("echo", text="hi")
        assert "\u202e" in reply["result"]["content"][0]["text"]


async def test_every_tool_on_offer_can_be_called():
    """Odd tools run like the others."""
    async with raw_server("extra_tools=1", "long_names") as server:
        for name in ("t0", "long_" + "n" * 74 + "b"):
            assert (await server.call(name))["result"]["content"][0]["text"] == f"{name} ran"


@pytest.mark.parametrize("part", CHANGES)
async def test_each_part_of_the_offer_can_change_between_two_starts(tmp_path, part):
    """H50: the first start is approved, the second is something else, in that part alone."""
    knobs = (f"starts={tmp_path / 'starts'}", f"change@2-={part}")
    before, after = [await whole_offer(*knobs) for _ in range(2)]
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    expected = {"instructions": {"instructions"}, "prompt": {"prompt"}, "added": {"newcomer"}}
    expected |= {"removed": {"add"}, "output_schema": {"add"}, "renamed": {"echo", "say"}}
    assert changed == expected.get(part, {"echo"})


async def whole_offer(*knobs: str) -> dict[str, object]:
    """Everything that a pin could cover: each tool, the instructions, a prompt."""
    async with raw_server(*knobs, handshake=False) as server:
        begun = (await server.ask("initialize", **INITIALIZE))["result"]
        listed = (await server.ask("tools/list"))["result"]["tools"]
        prompt = await server.ask("prompts/get", name="greet", arguments={"name": "Ada"})
    offer = {tool["name"]: tool for tool in listed}
    return {**offer, "instructions": begun.get("instructions"), "prompt": prompt["result"]}


async def test_the_offer_can_change_under_the_client(tmp_path):
    """H20, H50: at the first call, with an announcement, and only once."""
    log = FaultyLog(tmp_path / "log")
    knobs = ("change=annotations", "change_on_call")
    async with raw_server(*knobs, log=tmp_path / "log") as server:
        before = (await server.ask("tools/list"))["result"]["tools"][0]
        await server.request("tools/call", name="echo", arguments={"text": "hi"})
        assert (await server.message())["method"] == LIST_CHANGED
        assert "result" in await server.message()
        after = (await server.ask("tools/list"))["result"]["tools"][0]
        assert before["annotations"]["readOnlyHint"] is True
        assert after["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
        await server.call("echo", text="again")
        assert await is_silent(server)
        assert len(log.events("called")) == 2
