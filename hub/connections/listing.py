"""Reads a server's whole list of tools, and loses no good tool to a bad one."""

from typing import Any

from mcp import types
from mcp.client.session import ClientSession
from pydantic import ConfigDict, Field

from hub.core.ports import RemoteTool

MAX_PAGES = 1000
MAX_TOOLS = 10_000


class _Page(types.Result):
    """One page, with its tools as the server wrote them."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    tools: list[Any] = Field(default_factory=list)
    next_cursor: Any = Field(default=None, alias="nextCursor")


async def list_tools(session: ClientSession) -> tuple[tuple[RemoteTool, ...], tuple[str, ...]]:
    """Return all tools over all pages, and what was odd about them.

    A cursor that comes twice ends the list; of two tools with one name the first is kept; a tool
    that is no tool is left out. Each is named in the warnings.
    """
    tools: dict[str, RemoteTool] = {}
    warnings: list[str] = []
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await _page(session, cursor)
        for entry in page.tools:
            _take(entry, tools, warnings)
        if not isinstance(page.next_cursor, str) or len(tools) > MAX_TOOLS:
            break
        if page.next_cursor in cursors:
            warnings.append(f"the list of tools repeats its cursor {page.next_cursor!r}")
            break
        cursors.add(page.next_cursor)
        cursor = page.next_cursor
    return tuple(tools.values()), tuple(warnings)


async def _page(session: ClientSession, cursor: str | None) -> _Page:
    params = types.PaginatedRequestParams(cursor=cursor)
    return await session.send_request(types.ListToolsRequest(params=params), _Page)


def _take(entry: Any, tools: dict[str, RemoteTool], warnings: list[str]) -> None:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        warnings.append("a tool without a name is left out")
        return
    if name in tools:
        warnings.append(f"the tool {name!r} is listed twice; the first is kept")
        return
    schema = entry.get("inputSchema")
    if not isinstance(schema, dict):
        warnings.append(f"the tool {name!r} has no input schema; it is taken to have no arguments")
        schema = {"type": "object"}
    output, annotations = entry.get("outputSchema"), entry.get("annotations")
    tools[name] = RemoteTool(
        name=name,
        description=_text(entry.get("description")),
        input_schema=schema,
        output_schema=output if isinstance(output, dict) else None,
        title=_text(entry.get("title")),
        annotations=annotations if isinstance(annotations, dict) else {},
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
