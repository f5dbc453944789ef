"""The servers of a project's ``.mcp.json``, the file that several MCP clients share.

``${NAME}`` and ``${NAME:-text}`` become ``${env:NAME}`` and ``${env:NAME:-text}`` in command,
arguments, variables, address and headers, and are resolved when the server is started. An entry
that cannot be used costs only itself: the file belongs to other programs as well.
"""

from pathlib import Path

from hub.config.clients.dialect import Around, Dialect
from hub.config.clients.entries import entries_at, layer_of
from hub.config.clients.variables import shell_style
from hub.config.documents import read_text
from hub.config.json_lines import parse_json
from hub.config.problems import BadFile, Problem
from hub.config.sources import Layer
from hub.core.team import Origin

NAME = "mcp_json"
KEYS = ("mcpServers",)
DIALECT = Dialect(translate=shell_style)


def mcp_json_layer(path: Path, around: Around) -> tuple[Layer, list[Problem], list[str]]:
    """Read the file as one layer of settings.

    Returns:
        The layer, what makes the file unusable, and notices about what is left out.
    """
    empty = Layer(NAME, {}, Origin(NAME, str(path)))
    try:
        document = parse_json(read_text(path), str(path))
    except BadFile as error:
        return empty, [error.problem], []
    if document.problems:
        return empty, list(document.problems), []
    if entries_at(document, KEYS) is None:
        remedy = 'It looks like {"mcpServers": {"name": {"command": "…"}}}.'
        return empty, [Problem("'mcpServers' has to be an object", str(path), remedy)], []
    taken = layer_of(NAME, document, KEYS, DIALECT, around)
    return taken.layer, [], list(taken.notices)
