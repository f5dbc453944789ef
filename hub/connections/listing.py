"""Reads a server's whole list of tools, and loses no good tool to a bad one."""

from typing import Any

from mcp import Client, MCPError, types
from mcp.client.session import ClientSession
from msgspec import Struct, field
from pydantic import ConfigDict, Field

from hub.connections.mending import ORIGINALS
from hub.core.ports import RemoteTool, ServerListing

MAX_PAGES = 1000
MAX_TOOLS = 10_000


class _Page(types.Result):
    """One page, with its tools as the server wrote them."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    tools: list[Any] = Field(default_factory=list)
    next_cursor: Any = Field(default=None, alias="nextCursor")

    def entries(self) -> list[Any]:
        """Return the tools as the server wrote them, also those that the SDK would refuse."""
        originals = (self.meta or {}).get(ORIGINALS)
        return originals if isinstance(originals, list) else self.tools


async def list_server(client: Client, server: str) -> ServerListing:
    """Ask a connected server for all of its tools, and say what was odd about them.

    A cursor that comes twice ends the list; of two tools with one name the first is kept; a tool
    that is no tool is left out. Each is named in the warnings.

    Raises:
        MCPError: the first page cannot be had.
    """
    collected = _Collected()
    await collected.read(client)
    info = client.server_info
    return ServerListing(
        server=server,
        protocol=client.protocol_version or "",
        tools=tuple(collected.tools.values()),
        version=info.version if info else "",
        instructions=client.instructions or "",
        warnings=tuple(collected.warnings),
    )


class _Collected(Struct):
    """The tools of all pages so far."""

    tools: dict[str, RemoteTool] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    async def read(self, client: Client) -> None:
        try:
            page = await _page(client.session, None)
        except MCPError as error:
            if client.server_capabilities.tools is None and error.code == types.METHOD_NOT_FOUND:
                return
            raise
        cursors: set[str] = set()
        for _ in range(MAX_PAGES):
            self._take_page(page)
            cursor = page.next_cursor
            if not isinstance(cursor, str):
                return
            if len(self.tools) >= MAX_TOOLS:
                break
            if cursor in cursors:
                self.warnings.append(f"the list of tools repeats its cursor {cursor!r:.100}")
                return
            cursors.add(cursor)
            try:
                page = await _page(client.session, cursor)
            except MCPError as error:
                if error.code == types.CONNECTION_CLOSED:
                    raise
                self.warnings.append(
                    f"the list of tools is cut short: the server refuses its own cursor "
                    f"{cursor!r:.100} ({error.message})"
                )
                return
            if cursor == "" and self._knows(page):
                return
        self.warnings.append(f"the list of tools has no end; {len(self.tools)} tools are kept")

    def _knows(self, page: _Page) -> bool:
        """Say whether a page brings nothing new: the empty cursor of some means the beginning."""
        entries = page.entries()
        return bool(entries) and all(
            isinstance(entry, dict) and self.tools.get(str(entry.get("name"))) == _tool(entry)
            for entry in entries
        )

    def _take_page(self, page: _Page) -> None:
        for entry in page.entries():
            self._take(entry)

    def _take(self, entry: Any) -> None:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            self.warnings.append("a tool without a name is left out")
        elif name in self.tools:
            self.warnings.append(f"the tool {name!r} is listed twice; the first is kept")
        elif _needs_task(entry):
            self.warnings.append(f"the tool {name!r} runs only as a task; it is left out")
        else:
            if not isinstance(entry.get("inputSchema"), dict):
                self.warnings.append(
                    f"the tool {name!r} has no input schema; it is taken to have no arguments"
                )
            self.tools[name] = _tool(entry)


async def _page(session: ClientSession, cursor: str | None) -> _Page:
    params = types.PaginatedRequestParams(cursor=cursor)
    return await session.send_request(types.ListToolsRequest(params=params), _Page)


def _needs_task(entry: dict[str, Any]) -> bool:
    execution = entry.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _tool(entry: dict[str, Any]) -> RemoteTool:
    schema, output = entry.get("inputSchema"), entry.get("outputSchema")
    annotations = entry.get("annotations")
    return RemoteTool(
        name=str(entry.get("name")),
        description=_text(entry.get("description")),
        input_schema=schema if isinstance(schema, dict) else {"type": "object"},
        output_schema=output if isinstance(output, dict) else None,
        title=_text(entry.get("title")),
        annotations=annotations if isinstance(annotations, dict) else {},
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
