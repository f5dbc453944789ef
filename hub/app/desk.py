"""What the agents of one tree share beside the catalog: kept results, and the search over tools."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from hub.catalog.index import ToolIndex, fts5_works
from hub.catalog.items import McpTool
from hub.catalog.search import Health, SearchTool
from hub.config.layers import Loaded
from hub.config.servers import bundled_servers
from hub.context.estimate import within
from hub.core.messages import ToolSpec
from hub.core.offer import TOOL_SEARCH, Offer
from hub.core.ports import Tool
from hub.core.results import READ_RESULT
from hub.results.shelf import Budget, TreeShelf
from hub.results.store import ResultStore
from hub.results.tool import ReadResultTool
from hub.sessions.archive import SessionArchive

NO_FTS5 = (
    "catalog.budget has no effect: the SQLite of this Python has no FTS5, so that tools cannot be "
    "searched; all of them are sent in each request"
)


RESULTS = "results"
"""The folder of large results in the state folder."""


def shelf_for(loaded: Loaded, tree: str) -> TreeShelf:
    """Return the shelf of a session tree, named by its root, as the settings want it."""
    chosen = loaded.settings.results
    store = ResultStore(
        loaded.sources.paths.state / RESULTS,
        keep_days=chosen.keep_days,
        quota=chosen.quota_mb << 20,
    )
    return TreeShelf(store, tree, Budget(chosen.inline, chosen.preview))


def desk_for(
    loaded: Loaded, shelf: TreeShelf, tools: Mapping[str, McpTool], health: Health
) -> "Desk":
    """Return the desk of a run over the tools of its catalog, as the settings want it."""
    return Desk(
        shelf=shelf,
        index=ToolIndex(tools),
        health=health,
        bundled=bundled_servers(loaded),
        budget=loaded.settings.catalog.budget,
    )


def root_of(store: SessionArchive, session: str) -> str:
    """Return the session at the root of the tree that a stored session belongs to.

    Raises:
        StoreError: the store cannot be read.
    """
    while parent := store.get_session(session).parent:
        session = parent
    return session


class Desk(Struct):
    """Decides what an agent is offered at first, and what can join it."""

    shelf: TreeShelf
    index: ToolIndex
    health: Health
    bundled: frozenset[str]
    """Servers whose tools are always sent."""
    budget: int | None = None
    """Tokens that a role's tools may take; None: whatever there is."""

    def offer(
        self,
        tools: dict[str, Tool],
        *,
        loaded: list[str],
        later: Mapping[str, Tool],
        note: Callable[[list[str]], None],
        fit: Callable[[Tool], Tool] = lambda tool: tool,
    ) -> Offer:
        """Return an agent's offer; what the hub itself adds is put into ``tools``.

        ``fit`` gives a tool of the hub the form that the agent's model takes. Tools for ``later``
        join when there is a use for them, and ``read_result`` when there is something to read.
        """
        reader = fit(ReadResultTool(self.shelf))
        mine = {name: tool for name, tool in tools.items() if isinstance(tool, McpTool)}
        first = self._small(tools) if self.is_large(tools) else [t.spec for t in tools.values()]
        names = {spec.name for spec in first}
        offer: Offer
        if mine.keys() - names:
            search = fit(
                SearchTool(
                    mine,
                    index=self.index,
                    load=lambda found: offer.load(found),
                    health=self.health,
                    offered=names,
                )
            )
            tools[TOOL_SEARCH] = search
            first.append(search.spec)
        tools |= {READ_RESULT: reader, **later}
        offer = Offer(first, tools, loaded=loaded, note=note)
        return offer

    def is_large(self, tools: dict[str, Tool]) -> bool:
        """Say whether an agent's tools are too many to be sent, and can be searched instead."""
        if self.budget is None or within((tool.spec for tool in tools.values()), self.budget):
            return False
        return fts5_works()

    def problems(self, tools: dict[str, Tool]) -> list[str]:
        """Say what keeps the budget from being kept."""
        if self.budget is None or fts5_works():
            return []
        return [] if within((tool.spec for tool in tools.values()), self.budget) else [NO_FTS5]

    def _small(self, tools: dict[str, Tool]) -> list[ToolSpec]:
        """Return the tools that are sent even when there are too many."""
        return [
            tool.spec
            for tool in tools.values()
            if not isinstance(tool, McpTool) or tool.item.server.name in self.bundled
        ]
