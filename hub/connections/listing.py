"""Reads all that a server offers, and loses no good part to a bad one.

Tools come first and are what counts. Prompts, resources and templates of resources are asked for
only where the server says that it has them; what goes wrong with them is a warning.
"""

from collections.abc import Collection, Iterable

import anyio
from mcp import Client, MCPError, types

from hub.connections.faults import is_closed
from hub.connections.members import KINDS, TEMPLATES, TOOLS, Kind, Member
from hub.connections.paging import Found, read_pages
from hub.core.ports import RemotePrompt, RemoteResource, RemoteTool, ServerListing

EXTRAS_LIMIT = 5.0
"""Seconds that everything but the tools may take, all together."""
CHANGEABLE = frozenset({"tools", "prompts", "resources"})
"""What a server can announce changes of; templates change with resources."""


class Lister:
    """The list of one connected server, kept so that a part of it can be read anew."""

    def __init__(self, client: Client, server: str, deadly: set[str] | None = None) -> None:
        """Take a client in; ``deadly`` names lists whose request killed the server before.

        While a list is asked for its name stands in there, so that it is still there when the
        server dies of it.
        """
        self._client = client
        self._server = server
        self._deadly = set() if deadly is None else deadly
        self._found: dict[str, Found] = {}

    async def read(self, changed: Collection[str] = CHANGEABLE) -> ServerListing:
        """Ask for everything, or only for those lists that have changed.

        A cursor that comes twice ends a list; of two members with one name the first is kept; what
        is no tool, prompt or resource is left out. Each is named in the warnings.

        Raises:
            MCPError: the first page of tools cannot be had.
        """
        if "tools" in changed:
            self._found[TOOLS.name] = await self._tools()
        extras = [kind for kind in KINDS if kind is not TOOLS and kind.announced_as in changed]
        with anyio.move_on_after(EXTRAS_LIMIT) as scope:
            while extras and await self._extra(extras[0]):
                extras.pop(0)
        if scope.cancelled_caught:
            for kind in extras:
                self._miss(kind, f"did not come within {EXTRAS_LIMIT:g} s")
        return self._listing()

    async def _tools(self) -> Found:
        try:
            return await read_pages(self._client.session, TOOLS)
        except MCPError as error:
            declared = self._client.server_capabilities.tools is not None
            if declared or error.code != types.METHOD_NOT_FOUND:
                raise
            return Found()

    async def _extra(self, kind: Kind) -> bool:
        """Read a list that the server can do without; return whether it has survived that."""
        if not kind.is_declared(self._client.server_capabilities):
            return True
        if kind.name in self._deadly:
            self._miss(kind, "is not asked for: the server died of the question")
            return True
        self._deadly.add(kind.name)
        try:
            self._found[kind.name] = await read_pages(self._client.session, kind)
        except anyio.get_cancelled_exc_class():
            self._deadly.discard(kind.name)
            raise
        except MCPError as error:
            if is_closed(error):
                self._miss(kind, "cannot be had: the server died of the question")
                return False
            # Templates have no capability of their own; many servers with resources know none.
            if kind is not TEMPLATES or error.code != types.METHOD_NOT_FOUND:
                self._miss(kind, f"cannot be had: {error.message} ({error.code})")
        except (ValueError, RuntimeError):
            self._miss(kind, "cannot be had: the answer does not follow the protocol")
        self._deadly.discard(kind.name)
        return True

    def _miss(self, kind: Kind, why: str) -> None:
        self._found[kind.name] = Found(warnings=[f"the list of {kind.name} {why}"])

    def _listing(self) -> ServerListing:
        client, info = self._client, self._client.server_info
        members = [member for kind in KINDS for member in self._members(kind)]
        return ServerListing(
            server=self._server,
            protocol=client.protocol_version or "",
            tools=tuple(member for member in members if isinstance(member, RemoteTool)),
            version=info.version if info else "",
            instructions=client.instructions or "",
            prompts=tuple(member for member in members if isinstance(member, RemotePrompt)),
            resources=tuple(member for member in members if isinstance(member, RemoteResource)),
            warnings=tuple(
                text for kind in KINDS for text in self._found.get(kind.name, Found()).warnings
            ),
        )

    def _members(self, kind: Kind) -> Iterable[Member]:
        return self._found.get(kind.name, Found()).members.values()


async def list_server(client: Client, server: str) -> ServerListing:
    """Ask a connected server for all that it offers, and say what was odd about it.

    Raises:
        MCPError: the first page of tools cannot be had.
    """
    return await Lister(client, server).read()
