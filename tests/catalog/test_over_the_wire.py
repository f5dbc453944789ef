"""Names and schemas of real servers' tools, from the wire to what a model is sent and back."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, build_catalog
from hub.catalog.schemas import lowered
from hub.testing.faulty.knobs import Knobs, parse_knob
from hub.testing.faulty.launch import faulty_http
from hub.testing.faulty.offer import Offer
from tests.catalog.test_catalog import CONTEXT
from tests.connections.pools import faulty, open_pool, over_http

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONG = "s" * 60

pytestmark = pytest.mark.parametrize("transport", ["stdio", "http"])


@asynccontextmanager
async def offered(
    tmp_path: Path, transport: str, servers: dict[str, tuple[str, ...]]
) -> AsyncIterator[Catalog]:
    """The catalog of servers with their knobs, by name."""
    async with AsyncExitStack() as stack:
        specs = []
        for name, knobs in servers.items():
            if transport == "stdio":
                specs.append(faulty(name, *knobs))
            else:
                url = await stack.enter_async_context(faulty_http(*knobs))
                specs.append(over_http(name, url))
        pool = await stack.enter_async_context(open_pool(*specs, workspace=tmp_path))
        yield await build_catalog(specs, servers=pool, cache=ListingCache(None))


async def said(catalog: Catalog, name: str, **arguments: Any) -> str:
    """What a tool answers that is called by its model-facing name."""
    return (await catalog.tools[name].call(arguments, CONTEXT)).text


async def test_long_names_lead_back_to_their_tools_at_each_start(tmp_path: Path, transport: str):
    """80 letters at a server of 60: two names of at most 64, the same at the next start (H32)."""
    long = {f"long_{'n' * 74}{end}" for end in "ab"}
    found = []
    for _ in range(2):
        async with offered(tmp_path, transport, {LONG: ("long_names",)}) as catalog:
            assert all(LEGAL.fullmatch(name) for name in catalog.tools)
            names = {name: tool.spec.tool for name, tool in catalog.tools.items()}
            mine = [name for name, tool in names.items() if tool in long]
            assert {await said(catalog, name) for name in mine} == {f"{one} ran" for one in long}
            found.append(names)
    assert found[0] == found[1]


async def test_names_that_differ_in_a_mark_only_are_told_apart(tmp_path: Path, transport: str):
    """``read-file``, ``read_file``, ``read.file``: three names, each of its own tool (H34)."""
    async with offered(tmp_path, transport, {"fs": ("colliding_names",)}) as catalog:
        names = {t.spec.tool: name for name, t in catalog.tools.items() if "read" in name}
        assert set(names) == {"read-file", "read_file", "read.file"}
        assert len(set(names.values())) == 3
        for tool, name in names.items():
            assert LEGAL.fullmatch(name)
            assert await said(catalog, name) == f"{tool} ran"


async def test_equal_tools_of_two_servers_reach_their_own(tmp_path: Path, transport: str):
    """No last one wins, and names are those with one server alone (H35, H37)."""
    async with offered(tmp_path, transport, {"prod": ()}) as catalog:
        alone = set(catalog.tools)
    async with offered(tmp_path, transport, {"prod": (), "dev": ()}) as catalog:
        assert alone < set(catalog.tools)
        assert len(catalog.tools) == 2 * len(alone)
        for server in ("prod", "dev"):
            await said(catalog, f"{server}__login", user=f"<{server}>")
        for server in ("prod", "dev"):
            assert f"<{server}>" in await said(catalog, f"{server}__whoami")


async def test_two_tools_of_one_name_are_told(tmp_path: Path, transport: str):
    """The first is offered, and a problem names the other (H38)."""
    async with offered(tmp_path, transport, {"a": ("duplicate_names",)}) as catalog:
        assert set(catalog.tools["a__twin"].spec.parameters["properties"]) == {"number"}
        (problem,) = [text for text in catalog.problems if "twin" in text]
    assert "'a'" in problem
    assert "twice" in problem


@pytest.mark.parametrize("profile", ["openai", "anthropic", "gemini", "generic"])
async def test_bare_objects_and_arrays_are_completed(tmp_path: Path, transport: str, profile: Any):
    """What no model server takes is not sent to any (H39)."""
    async with offered(tmp_path, transport, {"a": ("no_properties", "no_schema")}) as catalog:
        for name in ("a__bare_object", "a__bare_members"):
            sent = catalog.tools[name].to(profile)
            assert not sent.withheld
            assert not list(bare(sent.spec.parameters)), sent.spec.parameters
        assert "properties" in catalog.tools["a__bare_object"].spec.parameters


def bare(schema: Any) -> Any:
    """The parts of a schema that are objects without properties or arrays without items."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and "properties" not in schema:
        yield schema
    if schema.get("type") == "array" and "items" not in schema:
        yield schema
    for part in schema.get("properties", {}).values():
        yield from bare(part)


@pytest.mark.parametrize("profile", ["openai", "anthropic", "gemini", "generic"])
async def test_alternatives_and_broken_members_cost_no_other_tool(
    tmp_path: Path, transport: str, profile: Any
):
    """Lowered outwards, checked against what the server wrote (H40)."""
    async with offered(tmp_path, transport, {"a": ("any_of", "invalid_members")}) as catalog:
        offers = {name: tool.to(profile) for name, tool in catalog.tools.items()}
        assert len(offers) == 10
        choice = offers["a__choice"]
        assert not {"anyOf", "oneOf", "allOf"} & set(choice.spec.parameters)
        assert set(choice.spec.parameters["properties"]) == {"id", "name"}
        assert "anyOf" in choice.validation_schema
        assert all(
            isinstance(part, dict)
            for part in offers["a__invalid"].spec.parameters["properties"].values()
        )
        assert await said(catalog, "a__choice", id=1) == "choice ran"


async def test_a_schema_arrives_and_leaves_as_the_server_wrote_it(tmp_path: Path, transport: str):
    """Deep-equal, the output schema too, and sent so unless a change is named (H42)."""
    knobs = ("any_of", "no_properties", "invalid_members", "extra_tools=3", "long_names")
    wrote = {
        tool["name"]: tool for tool in Offer(Knobs([parse_knob(knob) for knob in knobs])).tools()
    }
    async with offered(tmp_path, transport, {"a": knobs}) as catalog:
        tools = {tool.item.said.name: tool for tool in catalog.tools.values()}
        assert tools.keys() == wrote.keys()
        for name, tool in tools.items():
            assert tool.item.said.input_schema == wrote[name]["inputSchema"]
            assert tool.item.said.output_schema == wrote[name].get("outputSchema")
            assert tool.item.said.annotations == wrote[name].get("annotations", {})
            assert tool.output_schema == wrote[name].get("outputSchema")
            changed = lowered(wrote[name]["inputSchema"]).changes
            assert changed or tool.spec.parameters == wrote[name]["inputSchema"]
