"""Tool search: how often the wanted tool is among the first five, and what the first request saves.

Real tool lists, collected by ``python -m bench.collect_tools``; queries in our own words, each with
the tools that would do. Those marked as later were written when the weights of the ranking had been
chosen, and are counted apart as well.
"""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.collect_tools import LISTS
from bench.figures import Figure, Goal, from_runs
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog
from hub.catalog.index import ToolIndex
from hub.catalog.search import SearchTool
from hub.config.schema import BUNDLED
from hub.context.estimate import CHARACTERS_PER_TOKEN
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.models.chat.wire import encode_tools

QUERIES = Path(__file__).with_name("search_queries.tsv")
TOP = 5
WANTED = 0.9
"""Recall that the search has to reach."""


class _Nowhere:
    """The Servers port where nothing is called."""

    async def call(
        self, server: str, tool: str, arguments: dict[str, object], context: CallContext
    ) -> ToolOutcome:
        raise RuntimeError("the benchmark calls no tool")


def measure(runs: int) -> Iterator[Figure]:
    """Rank every query, and encode the tools of a first request with and without search."""
    if not LISTS.is_dir():
        print("search: no tool lists; collect them with: python -m bench.collect_tools")
        print("search is left out", file=sys.stderr)
        return
    catalog = _catalog()
    queries = list(_queries(catalog))
    yield _recall(catalog, queries)
    yield from _speed(catalog, [query for query, _, _ in queries], runs)
    yield _first_request(_catalog(bundled=True))


def _catalog(*, bundled: bool = False) -> Catalog:
    catalog = Catalog()
    for name in BUNDLED if bundled else ():
        spec = ServerSpec(name, "memory", command=name)
        if (listing := ListingCache(None).load(spec)) is not None:
            catalog.add(spec, listing, _Nowhere())  # type: ignore[arg-type]
    for path in sorted(LISTS.glob("*.json")):
        listed = json.loads(path.read_text(encoding="utf-8"))["tools"]
        tools = tuple(msgspec.convert(listed, list[RemoteTool]))
        spec = ServerSpec(path.stem, "stdio", command="none")
        catalog.add(spec, ServerListing(path.stem, "", tools), _Nowhere())  # type: ignore[arg-type]
    return catalog


def _queries(catalog: Catalog) -> Iterator[tuple[str, set[str], bool]]:
    """Yield the queries whose tools are there: text, wanted names, whether it is later."""
    names = {
        f"{tool.item.server.name}/{tool.item.said.name}": name
        for name, tool in catalog.tools.items()
    }
    for line in QUERIES.read_text(encoding="utf-8").splitlines():
        query, wanted, *more = line.split("\t")
        if good := {names[tool] for tool in wanted.split(",") if tool in names}:
            yield query, good, more == ["later"]


def _recall(catalog: Catalog, queries: list[tuple[str, set[str], bool]]) -> Figure:
    index = ToolIndex(catalog.tools)
    places, later = [], []
    for query, wanted, is_later in queries:
        found = index.search(query)
        places.append(next((at for at, name in enumerate(found) if name in wanted), 1000))
        later += places[-1:] if is_later else []

    def share(of: list[int], top: int) -> float:
        return statistics.mean(place < top for place in of)

    columns = {
        "tools": float(len(catalog.tools)),
        "queries": float(len(queries)),
        "first": share(places, 1),
        "among the first five": share(places, TOP),
        "the same, later queries": share(later, TOP),
        "missed": 1 - share(places, TOP),
    }
    return Figure("tool search, recall", "share", columns, [Goal("missed", 1 - WANTED)])


def _speed(catalog: Catalog, queries: list[str], runs: int) -> Iterator[Figure]:
    building, searching = [], []
    for _ in range(runs):
        index = ToolIndex(catalog.tools)
        started = time.perf_counter()
        index.search("anything")
        built = time.perf_counter()
        for query in queries:
            index.search(query)
        building.append((built - started) * 1000)
        searching.append((time.perf_counter() - built) * 1000 / len(queries))
    yield from_runs("tool search, time", "ms", {"index made": building, "a search": searching})


def _first_request(catalog: Catalog) -> Figure:
    """Encode all tools, and those that are left when the rest is to be searched."""
    bundled = {
        name: tool for name, tool in catalog.tools.items() if tool.item.server.name in BUNDLED
    }
    search = SearchTool(
        catalog.tools,
        index=ToolIndex(catalog.tools),
        load=lambda names: [],
        health=lambda server: "",
        offered=bundled,
    )
    every = [tool.spec for tool in catalog.tools.values()]
    few = [*(tool.spec for tool in bundled.values()), search.spec]
    columns = {
        "all sent": len(encode_tools(every)) / CHARACTERS_PER_TOKEN,
        "with search": len(encode_tools(few)) / CHARACTERS_PER_TOKEN,
        "tools sent": float(len(every)),
        "tools then": float(len(few)),
    }
    goals = [Goal("with search", 0.1, to="all sent")]
    return Figure("tools of the first request", "tokens", columns, goals)
