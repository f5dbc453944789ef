"""The MCP server `files`: read, write, edit, list, glob and grep inside one folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp.server import Server

from hub_servers.file_tools import FileTools
from hub_servers.find_tools import FindTools
from hub_servers.grep_tool import GrepTool
from hub_servers.paths import Root
from hub_servers.storage import FileStore
from hub_servers.tooling import argument_parser, build_server, serve_stdio


def create_server(root: Path) -> Server[Any]:
    """Return the server for one folder.

    Raises:
        NotADirectoryError: ``root`` is not a folder that exists.
    """
    place = Root.at(root)
    tools = FileTools(place, FileStore()).tools() + FindTools(place).tools()
    return build_server("files", tools + GrepTool(place).tools())


def main(argv: Sequence[str] | None = None) -> None:
    """Serve over stdio; a wrong option ends with exit code 2."""
    parser = argument_parser("hub-server-files", "Reads, writes and searches files in one folder.")
    options = parser.parse_args(argv)
    try:
        server = create_server(options.root)
    except NotADirectoryError as error:
        parser.error(f"--root: {error}")
    serve_stdio(server)


if __name__ == "__main__":
    main()
