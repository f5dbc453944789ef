"""Turns a few plain tools into an MCP server, and serves it over stdio."""

import argparse
import functools
import importlib.metadata
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio
import mcp.types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from hub_servers.arguments import checked
from hub_servers.errors import ToolError


class Report(Protocol):
    """Sends one progress notice; nothing happens if the client asked for none."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Send progress so far, its total if known, and a line of text."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    arguments: dict[str, Any]
    """The checked arguments."""
    report: Report
    """Tells the client how far the call is."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers."""

    text: str
    """The answer for a model."""
    data: dict[str, Any]
    """The same answer for a program; complete, since some clients show only this."""
    failed: bool = False
    """Whether the call counts as failed although there is an answer."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what the client sees of it and the function that runs it."""

    name: str
    """The name within the server."""
    description: str
    """What it does, as short as can be: it is sent with every model request."""
    schema: dict[str, Any]
    """JSON Schema of the arguments, within what `arguments.checked` knows."""
    run: Callable[[Call], Awaitable[Reply]]
    """Runs one call."""
    read_only: bool = False
    """Whether it changes nothing."""
    destructive: bool = False
    """Whether it may destroy what was there."""
    idempotent: bool = False
    """Whether repeating a call changes nothing more."""
    open_world: bool = False
    """Whether it reaches beyond the given folder."""

    def wire(self) -> types.Tool:
        """Return the tool as MCP lists it."""
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=self.schema,
            annotations=types.ToolAnnotations(
                read_only_hint=self.read_only,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=self.open_world,
            ),
        )


def schema(required: Sequence[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object, as short as it can be."""
    result: dict[str, Any] = {"type": "object", "properties": properties}
    return result | {"required": list(required)} if required else result


def build_server(name: str, tools: Sequence[Tool]) -> Server[Any]:
    """Return an MCP server that offers the tools and checks arguments before a tool runs."""
    by_name = {tool.name: tool for tool in tools}
    listing = types.ListToolsResult(tools=[tool.wire() for tool in tools])

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listing

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = by_name.get(params.name)
        try:
            if tool is None:
                raise ToolError(f"unknown tool {params.name!r:.80}; there are {', '.join(by_name)}")
            arguments = checked(tool.name, tool.schema, params.arguments)
            reply = await tool.run(Call(arguments, context.session.report_progress))
        except ToolError as error:
            return _result(str(error), None, failed=True)
        except OSError as error:
            return _result(f"{params.name}: {_reason(error)}", None, failed=True)
        return _result(reply.text, reply.data, failed=reply.failed)

    return Server(
        name,
        version=server_version(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda tool: by_name[tool].schema if tool in by_name else None,
    )


@functools.cache
def server_version() -> str:
    """Return the version of the installed distribution, or ``0`` if it runs from bare files."""
    try:
        return importlib.metadata.version("dispatch-hub")
    except importlib.metadata.PackageNotFoundError:
        return "0"


def argument_parser(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every server of this package takes."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=f"{description} An MCP server that speaks over stdin and stdout.",
        epilog="Start it from an MCP client; it ends when its stdin is closed.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {server_version()}")
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        default=Path(),
        help="the folder to work in (default: the current one)",
    )
    return parser


def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over stdin and stdout until stdin is closed."""

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # The thread that reads stdin cannot be interrupted, so Ctrl-C ends the process outright;
    # what it started is then ended by the supervisor of `processes`.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve)


def _result(text: str, data: dict[str, Any] | None, *, failed: bool) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=data,
        is_error=failed,
    )


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {os.fsdecode(error.filename)}" if error.filename else reason
