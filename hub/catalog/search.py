"""The tool ``tool_search``: finds tools of a catalog too large to be sent, and loads them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import anyio.to_thread

from hub.catalog.index import ToolIndex
from hub.catalog.items import McpTool
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.offer import TOOL_SEARCH
from hub.core.ports import CallContext
from hub.core.text import one_line

TOP = 5
"""Tools that one search loads unless it says otherwise."""
MOST = 20
MOST_SERVERS = 40
"""Servers that the description of the tool names."""
LINE = 160
"""Characters of a tool's description in a list of finds."""

Load = Callable[[Iterable[str]], list[str]]
"""Puts tools on offer and returns those that were not there yet."""
Health = Callable[[str], str]
"""Says what is wrong with a server; empty for nothing."""


class SearchTool:
    """Searches the tools that one agent may use."""

    def __init__(
        self,
        tools: Mapping[str, McpTool],
        *,
        index: ToolIndex,
        load: Load,
        health: Health,
        offered: Collection[str] = (),
    ) -> None:
        """Take the tools that the agent's grant admits; ``offered`` are those sent anyway.

        More may be put into ``tools`` later.
        """
        self._tools = tools
        self._index = index
        self._load = load
        self._health = health
        self.spec = ToolSpec(
            TOOL_SEARCH,
            _description(tools, offered),
            {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "what the tool is to do, such as: list open pull requests",
                    },
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST},
                    "server": {"type": "string", "description": "search this server only"},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
            read_only=True,
        )
        """How it is offered."""

    async def call(self, arguments: dict[str, Any], _context: CallContext) -> ToolOutcome:
        """Find tools, load them, and say what they do."""
        server = str(arguments.get("server") or "")
        if server and server not in self._servers:
            known = ", ".join(self._servers[:MOST_SERVERS])
            text = f"There is no server {one_line(repr(server), 60)}; there are: {known}."
            return ToolOutcome(text, is_error=True, kind="unknown_server")
        query = str(arguments["query"])
        names = await anyio.to_thread.run_sync(self._index.search, query)
        usable = (name for name in self._best(names, server) if not self._tools[name].withheld)
        found = list(islice(usable, int(arguments.get("limit") or TOP)))
        if not found:
            where = f" of {server}" if server else ""
            return ToolOutcome(
                f"No tool{where} matches. Say in other words what it is to do; the servers are: "
                f"{', '.join(self._servers[:MOST_SERVERS])}."
            )
        self._load(found)
        head = "These tools are loaded; call them from your next message on:"
        return ToolOutcome("\n".join([head, *map(self._line, found)]))

    @property
    def _servers(self) -> list[str]:
        return sorted({tool.item.server.name for tool in self._tools.values()})

    def _best(self, names: Iterable[str], server: str) -> list[str]:
        """Return the finds that the agent may use, those of ailing servers last."""
        mine = [
            name
            for name in names
            if (tool := self._tools.get(name)) is not None
            and (not server or tool.item.server.name == server)
            and not tool.item.gone
        ]
        return sorted(mine, key=lambda name: bool(self._ailment(name)))

    def _line(self, name: str) -> str:
        ailment = self._ailment(name)
        mark = f" [its server does not work: {one_line(ailment, 120)}]" if ailment else ""
        return f"- {name}: {one_line(self._tools[name].spec.description, LINE)}{mark}"

    def _ailment(self, name: str) -> str:
        return self._health(self._tools[name].item.server.name)


def _description(tools: Mapping[str, McpTool], offered: Collection[str]) -> str:
    counts = Counter(tool.item.server.name for name, tool in tools.items() if name not in offered)
    named = [f"{server} ({count})" for server, count in list(counts.items())[:MOST_SERVERS]]
    if len(counts) > MOST_SERVERS:
        named.append(f"and {len(counts) - MOST_SERVERS} more")
    return (
        f"Find and load tools. {counts.total()} more tools than are listed here can be used: of "
        f"{', '.join(named)}. What is found can be called from the next message on and stays."
    )
