"""Reads a list of servers whose format is told by its content alone."""

import re
from pathlib import Path

from hub.config.clients.dialect import Around, Dialect
from hub.config.clients.entries import Taken
from hub.config.clients.reading import MAX_CLIENT_BYTES, taken_of
from hub.config.clients.table import CLIENTS, MCP_SERVERS, Client
from hub.config.clients.variables import any_style
from hub.config.documents import Document, parse_yaml, read_text
from hub.config.jsonc import parse_jsonc
from hub.config.problems import BadFile, Problem
from hub.config.sources import Layer, file_layer
from hub.config.toml_lines import parse_toml
from hub.core.team import Origin

_TABLE = re.compile(r"^\s*\[{1,2}\s*[\w\"'-]", re.MULTILINE)
_BRACE = re.compile(r"\s*(?://[^\n]*\s*|/\*.*?\*/\s*)*\{", re.DOTALL)
_ANY = Client(
    "file",
    "the file",
    parse_jsonc,
    MCP_SERVERS,
    Dialect(translate=any_style, addresses={"url": "", "serverUrl": ""}),
)
_BY_KEY = {"mcp_servers": "codex", "context_servers": "zed", "extensions": "goose"}


def recognised_layer(name: str, path: Path, around: Around) -> tuple[Taken, list[Problem]]:
    """Return the servers of a file in any format that is known, as a layer of this name.

    Known are ``mcpServers`` in JSON or YAML, the files of VS Code, Codex, Goose and Zed, and
    ``servers:`` of our own settings.
    """
    nothing = Taken(Layer(name, {}, Origin(name, str(path))))
    try:
        text = read_text(path, limit=MAX_CLIENT_BYTES)
        document, is_yaml = _parsed(text, path)
        data = document.data
        if is_yaml and isinstance(data, dict) and "servers" in data:
            return _own(name, path)
    except BadFile as error:
        return nothing, [error.problem]
    if document.problems:
        return nothing, list(document.problems)
    client = _client(data)
    if client is None:
        remedy = (
            "Known are mcpServers (JSON), servers (VS Code, or hub's own YAML), mcp_servers "
            "(Codex), extensions (Goose) and context_servers (Zed)."
        )
        return nothing, [Problem("there is no list of MCP servers in it", str(path), remedy)]
    taken, broken = taken_of(client, name, document, around)
    return taken, [broken] if broken else []


def _parsed(text: str, path: Path) -> tuple[Document, bool]:
    """Return the document, and whether it is YAML that is no JSON."""
    if path.suffix == ".toml":
        return parse_toml(text, str(path)), False
    if path.suffix in {".yaml", ".yml"} and not _BRACE.match(text):
        return parse_yaml(text, str(path)), True
    if _BRACE.match(text) or path.suffix in {".json", ".jsonc"}:
        return parse_jsonc(text, str(path)), False
    if _TABLE.search(text):
        return parse_toml(text, str(path)), False
    return parse_yaml(text, str(path)), True


def _client(data: object) -> Client | None:
    if not isinstance(data, dict):
        return None
    for key, name in _BY_KEY.items():
        if key in data:
            return CLIENTS[name]
    if "mcpServers" in data:
        entries = data["mcpServers"]
        given = entries.values() if isinstance(entries, dict) else ()
        of_gemini = any(isinstance(entry, dict) and "httpUrl" in entry for entry in given)
        return CLIENTS["gemini"] if of_gemini else _ANY
    return CLIENTS["vscode"] if "servers" in data else None


def _own(name: str, path: Path) -> tuple[Taken, list[Problem]]:
    """Read a settings file of ours; nothing but its servers is taken.

    Raises:
        BadFile: it cannot be read at all.
    """
    layer, problems = file_layer(name, path)
    servers = layer.data.get("servers", {})
    others = sorted(set(layer.data) - {"servers"})
    told = (f"{path}: only its servers are used, not: {', '.join(others)}",) if others else ()
    return Taken(Layer(name, {"servers": servers}, layer.origin, layer.origins), told), problems
