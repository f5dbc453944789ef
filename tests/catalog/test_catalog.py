"""The catalog: from the cache without a connection, and honest about what is missing."""

from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace

from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, build_catalog, refresh_cache
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.core.team import Origin

ORIGIN = Origin("project", "hub.yaml", 7)
OBJECT = {"type": "object", "properties": {}}
CONTEXT = CallContext("s", "lead", "c", lambda message, done, total: None)


class Untouchable:
    """Servers that nobody may ask anything."""

    async def listing(self, server: str) -> ServerListing:
        raise AssertionError(f"{server} was asked for its tools")

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: CallContext
    ) -> ToolOutcome:
        raise AssertionError(f"{server} was called")


class Prepared:
    """Servers that list what they were given, once all of them have been asked."""

    def __init__(self, **listings: ServerListing | ServerError) -> None:
        self.listings = listings
        self.asked: list[str] = []
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self._all = anyio.Event()

    async def listing(self, server: str) -> ServerListing:
        self.asked.append(server)
        if len(self.asked) == len(self.listings):
            self._all.set()
        with anyio.fail_after(5):
            await self._all.wait()
        found = self.listings[server]
        if isinstance(found, ServerError):
            raise found
        return found

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: CallContext
    ) -> ToolOutcome:
        self.calls.append((server, tool, arguments))
        return ToolOutcome("done")


def spec(name: str, **more: Any) -> ServerSpec:
    """A server of a name."""
    return ServerSpec(name, "stdio", command=name, origin=ORIGIN, **more)


def listing(server: str, *tools: RemoteTool | str, **more: Any) -> ServerListing:
    """A listing of tools, given whole or by name."""
    made = [RemoteTool(t, input_schema=OBJECT) if isinstance(t, str) else t for t in tools]
    return ServerListing(server, "2026-07-28", tuple(made), **more)


async def test_a_catalog_from_the_cache_needs_no_connection(tmp_path: Path):
    """Known servers are neither started nor asked (H29)."""
    cache = ListingCache(tmp_path)
    cache.save(spec("a"), listing("a", "x", "y"))
    specs = [spec("a"), ServerSpec("files", "memory", command="files")]
    catalog = await build_catalog(specs, servers=Untouchable(), cache=cache)
    assert {"a__x", "a__y", "files__read"} <= set(catalog.tools)
    assert catalog.cached.keys() == {"a", "files"}
    assert not catalog.connected
    assert not catalog.failed


async def test_unknown_servers_are_asked_together_and_kept(tmp_path: Path):
    """Each waits for the others, so asking one after the other would never end (H29)."""
    servers = Prepared(a=listing("a", "x"), b=listing("b", "y"))
    specs = [spec("a"), spec("b")]
    catalog = await build_catalog(specs, servers=servers, cache=ListingCache(tmp_path))
    assert catalog.connected == {"a": 1, "b": 1}
    again = await build_catalog(specs, servers=Untouchable(), cache=ListingCache(tmp_path))
    assert list(again.tools) == list(catalog.tools) == ["a__x", "b__y"]


async def test_a_server_that_fails_costs_only_itself():
    """It is named with its reason (H5)."""
    servers = Prepared(a=listing("a", "x"), b=ServerError("it is broken", server="b"))
    catalog = await build_catalog([spec("b"), spec("a")], servers=servers, cache=ListingCache(None))
    assert list(catalog.tools) == ["a__x"]
    assert catalog.failed == {"b": "it is broken"}


async def test_the_order_of_tools_is_that_of_the_settings():
    """Not that in which servers happen to answer, so that prompt caches stay warm (H37)."""
    servers = Prepared(a=listing("a", "z", "b"), b=listing("b", "a"))
    for specs in ([spec("b"), spec("a")], [spec("a"), spec("b")]):
        servers.asked.clear()
        catalog = await build_catalog(specs, servers=servers, cache=ListingCache(None))
        order = [tool.spec.server for tool in catalog.tools.values()]
        assert list(dict.fromkeys(order)) == [one.name for one in specs]


def add(*tools: RemoteTool | str, **more: Any) -> Catalog:
    """A catalog of one server ``a``."""
    catalog = Catalog()
    catalog.add(spec("a", **more), listing("a", *tools), Untouchable())
    return catalog


def test_patterns_choose_and_hide_tools():
    """They are over the server's own names, and match whole ones."""
    catalog = add("read", "read_all", "write", allow=("read*", "write"), deny=("*_all",))
    assert list(catalog.tools) == ["a__read", "a__write"]
    assert catalog.problems == []


def test_a_pattern_that_matches_nothing_is_a_problem_with_its_place():
    """A typo in an allow-list hides everything; in a deny-list it hides nothing."""
    catalog = add("read", allow=("reed",), deny=("delete*",))
    assert catalog.tools == {}
    assert len(catalog.problems) == 2
    assert all("hub.yaml:7" in problem for problem in catalog.problems)
    assert "servers.a.allow" in catalog.problems[0]
    assert "'reed' matches no tool" in catalog.problems[0]
    assert "servers.a.deny" in catalog.problems[1]


def test_an_untranslatable_tool_alone_is_withheld_with_a_reason():
    """Its neighbours are offered (H40)."""
    catalog = add(RemoteTool("bad", input_schema={"type": "array"}), "good")
    assert list(catalog.tools) == ["a__good"]
    assert catalog.problems == [
        "tool a__bad is withheld: its arguments are of type 'array', not object"
    ]


def test_arguments_are_checked_against_the_schema_of_the_server():
    """A model sees the lowered one (H40, H42)."""
    schema = {"oneOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]}
    tool = add(RemoteTool("t", input_schema=schema)).tools["a__t"]
    assert tool.validation_schema == schema
    assert tool.spec.parameters["properties"] == {"a": {"type": "string"}}


def test_a_broken_schema_is_not_checked_against():
    """Nothing could be: the check itself would fail (H40)."""
    schema = {"type": "object", "properties": {"type": "object", "a": {"type": "string"}}}
    tool = add(RemoteTool("t", input_schema=schema)).tools["a__t"]
    assert tool.validation_schema == tool.spec.parameters
    assert tool.spec.parameters["properties"] == {"a": {"type": "string"}}


def test_equal_names_of_two_servers_never_replace_each_other():
    """Neither is offered, and both owners are named; a third one is no winner either (H35)."""
    catalog = Catalog()
    catalog.add(spec("a"), listing("a", "x"), Untouchable())
    catalog.add(replace(spec("a"), command="other"), listing("a", "x"), Untouchable())
    catalog.add(replace(spec("a"), command="third"), listing("a", "x"), Untouchable())
    assert catalog.tools == {}
    assert len(catalog.problems) == len(catalog.withheld) == 3
    assert all("a__x is that of 'x' of 'a' and of 'x' of 'a'" in one for one in catalog.problems)


def test_warnings_of_a_listing_are_problems_of_the_catalog():
    """Duplicates and loops are told (H38)."""
    catalog = Catalog()
    catalog.add(spec("a"), listing("a", "x", warnings=("listed twice",)), Untouchable())
    assert catalog.problems == ["MCP server 'a': listed twice"]


def test_hints_decide_what_may_run_beside_other_calls():
    """Without a hint a tool counts as one that destroys."""

    def hinted(**hints: bool) -> tuple[bool, bool, bool]:
        tool = RemoteTool("t", input_schema=OBJECT, annotations=hints)
        offered = add(tool).tools["a__t"].spec
        return offered.read_only, offered.destructive, offered.concurrency_safe

    assert hinted() == (False, True, False)
    assert hinted(readOnlyHint=True) == (True, False, True)
    assert hinted(destructiveHint=False) == (False, False, False)
    assert hinted(readOnlyHint=True, destructiveHint=True) == (False, True, False)


async def test_a_tool_calls_its_server_by_the_servers_own_name():
    """The shortened name is ours alone (H32)."""
    servers = Prepared(a=listing("a", "read.file"))
    catalog = await build_catalog([spec("a")], servers=servers, cache=ListingCache(None))
    (tool,) = catalog.tools.values()
    assert (await tool.call({"p": 1}, CONTEXT)).text == "done"
    assert servers.calls == [("a", "read.file", {"p": 1})]


async def test_a_refresh_tells_what_changed_and_keeps_it(tmp_path: Path):
    """Once; the next one finds nothing new (H20)."""
    cache, told = ListingCache(tmp_path), list[ev.Event]()
    cache.save(spec("a"), listing("a", "same", "gone", "other"))
    cache.save(spec("b"), listing("b", "same"))
    other = RemoteTool("other", "is another now", OBJECT)
    servers = Prepared(a=listing("a", "same", other, "new"), b=listing("b", "same"))
    specs = [spec("a"), spec("b")]
    for _ in range(2):
        await refresh_cache(specs, servers=servers, cache=cache, emit=told.append)
    (change,) = told
    assert isinstance(change, ev.CatalogChanged)
    assert (change.server, change.added) == ("a", ["new"])
    assert (change.removed, change.changed) == (["gone"], ["other"])


async def test_a_refresh_of_a_server_that_is_down_changes_nothing(tmp_path: Path):
    """What was known stays known."""
    cache, told = ListingCache(tmp_path), list[ev.Event]()
    cache.save(spec("a"), listing("a", "x"))
    servers = Prepared(a=ServerError("down", server="a"))
    await refresh_cache([spec("a")], servers=servers, cache=cache, emit=told.append)
    assert told == []
    assert cache.load(spec("a")) == listing("a", "x")
