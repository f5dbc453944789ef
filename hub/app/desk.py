"""What the agents of one tree share beside the catalog: kept results, and the search over tools."""

from collections.abc import Callable, Collection, Mapping

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


Sees = Callable[[Mapping[str, Tool]], dict[str, Tool]]
"""Says which of some tools an agent may use, in the form for its model."""

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


class Seating(Struct):
    """What one agent is offered, and how what arrives later joins it."""

    tools: dict[str, Tool]
    """All that the agent can call, on offer or not."""
    mine: dict[str, McpTool]
    """Those of servers, which can be searched."""
    offer: Offer
    search: Callable[[], Tool]
    """Makes the search over ``mine``."""
    fits: Callable[[Mapping[str, Tool]], bool]
    """Whether tools are few enough to be sent."""
    withheld: set[str]
    """Tools that there are, and that the agent may not use."""

    sees: Sees
    """What the agent may use of tools that come later."""

    def join(self, come: Mapping[str, Tool]) -> None:
        """Put tools that have come behind all others, or let the search find them."""
        new = self.sees(come)
        self.withheld |= come.keys() - new.keys()
        if not new:
            return
        self.tools |= new
        self.mine |= {name: tool for name, tool in new.items() if isinstance(tool, McpTool)}
        if TOOL_SEARCH not in self.tools and self.fits(self.tools):
            self.offer.load(new)
            return
        self.tools.setdefault(TOOL_SEARCH, self.search())
        self.offer.load((TOOL_SEARCH,))


class Desk(Struct):
    """Decides what an agent is offered at first, and what can join it."""

    shelf: TreeShelf
    index: ToolIndex
    health: Health
    bundled: frozenset[str]
    """Servers whose tools are always sent."""
    budget: int | None = None
    """Tokens that a role's tools may take; None: whatever there is."""

    def seating(
        self,
        tools: dict[str, Tool],
        *,
        there: Collection[str],
        sees: Sees,
        loaded: list[str],
        later: Mapping[str, Tool],
        note: Callable[[list[str]], None],
        fit: Callable[[Tool], Tool] = lambda tool: tool,
    ) -> Seating:
        """Return an agent's offer; what the hub itself adds is put into ``tools``.

        ``there`` names all tools of the catalog, the agent's or not; ``sees`` tells what it may
        use of those that come later. ``fit`` gives a tool of the hub the form that the agent's
        model takes. Tools for ``later`` join when there is a use for them, and ``read_result``
        when there is something to read.
        """
        reader = fit(ReadResultTool(self.shelf))
        mine = {name: tool for name, tool in tools.items() if isinstance(tool, McpTool)}
        first = self._small(tools) if self.is_large(tools) else [t.spec for t in tools.values()]
        names = {spec.name for spec in first}
        offer: Offer

        def search() -> Tool:
            return fit(
                SearchTool(
                    mine,
                    index=self.index,
                    load=lambda found: offer.load(found),
                    health=self.health,
                    offered=names,
                )
            )

        if mine.keys() - names:
            tools[TOOL_SEARCH] = search()
            first.append(tools[TOOL_SEARCH].spec)
        withheld = set(there) - set(tools)
        tools |= {READ_RESULT: reader, **later}
        offer = Offer(first, tools, loaded=loaded, note=note)
        return Seating(
            tools, mine, offer, search, lambda now: not self.is_large(now), withheld, sees
        )

    def is_large(self, tools: Mapping[str, Tool]) -> bool:
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
