"""Follows a list of a server from page to page: every page, no loop, no end to patience."""

from typing import Any

from mcp import MCPError, types
from mcp.client.session import ClientSession
from msgspec import Struct, field
from pydantic import ConfigDict, Field

from hub.connections.faults import is_closed
from hub.connections.members import Kind, Member
from hub.connections.mending import ORIGINALS

MAX_PAGES = 1000
MAX_MEMBERS = 10_000


class Page(types.Result):
    """One page, with its members as the server wrote them."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    tools: list[Any] = Field(default_factory=list)
    prompts: list[Any] = Field(default_factory=list)
    resources: list[Any] = Field(default_factory=list)
    resource_templates: list[Any] = Field(default_factory=list, alias="resourceTemplates")
    next_cursor: Any = Field(default=None, alias="nextCursor")

    def entries(self, kind: Kind) -> list[Any]:
        """Return the members as the server wrote them, also those that the SDK would refuse."""
        originals = (self.meta or {}).get(ORIGINALS)
        found = originals if isinstance(originals, list) else getattr(self, kind.field)
        return list(found)


class Found(Struct):
    """What has been found of one list."""

    members: dict[str, Member] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


async def read_pages(session: ClientSession, kind: Kind) -> Found:
    """Read all pages of one list.

    Raises:
        MCPError: the first page cannot be had, or the connection has ended.
    """
    reading = _Reading(kind)
    await reading.follow(session)
    return reading.found


class _Reading(Struct):
    """One list, as far as it has been read."""

    kind: Kind
    found: Found = field(default_factory=Found)

    async def follow(self, session: ClientSession) -> None:
        page, cursors = await self._page(session, None), set[str]()
        for _ in range(MAX_PAGES):
            self._take_page(page)
            cursor = page.next_cursor
            if not isinstance(cursor, str):
                return
            if len(self.found.members) >= MAX_MEMBERS:
                break
            if cursor in cursors:
                self._warn(f"repeats its cursor {cursor!r:.100}")
                return
            cursors.add(cursor)
            try:
                page = await self._page(session, cursor)
            except MCPError as error:
                if is_closed(error):
                    raise
                self._warn(
                    f"is cut short: the server refuses its own cursor {cursor!r:.100} "
                    f"({error.message})"
                )
                return
            if cursor == "" and self._knows(page):
                return
        self._warn(f"has no end; {len(self.found.members)} {self.kind.name} are kept")

    async def _page(self, session: ClientSession, cursor: str | None) -> Page:
        params = types.PaginatedRequestParams(cursor=cursor)
        return await session.send_request(self.kind.request(params), Page)

    def _knows(self, page: Page) -> bool:
        """Say whether a page brings nothing new: the empty cursor of some means the beginning."""
        entries, members = page.entries(self.kind), self.found.members
        if not entries:
            return bool(page.next_cursor == "")
        return all(
            isinstance(entry, dict)
            and members.get(str(entry.get(self.kind.identity))) == self.kind.read(entry)
            for entry in entries
        )

    def _take_page(self, page: Page) -> None:
        for entry in page.entries(self.kind):
            self._take(entry)

    def _take(self, entry: Any) -> None:
        kind, warnings = self.kind, self.found.warnings
        identity = entry.get(kind.identity) if isinstance(entry, dict) else None
        if not isinstance(identity, str) or not identity:
            warnings.append(f"a {kind.one} without a {kind.identity} is left out")
        elif identity in self.found.members:
            warnings.append(f"the {kind.one} {identity!r} is listed twice; the first is kept")
        elif complaint := kind.complaint(entry):
            warnings.append(f"the {kind.one} {identity!r} {complaint}; it is left out")
        else:
            if oddity := kind.oddity(entry):
                warnings.append(f"the {kind.one} {identity!r} {oddity}")
            self.found.members[identity] = kind.read(entry)

    def _warn(self, what: str) -> None:
        self.found.warnings.append(f"the list of {self.kind.name} {what}")
