"""The servers of a project's ``.mcp.json``, the file that several MCP clients share.

``${NAME}`` and ``${NAME:-text}`` become ``${env:NAME}`` and ``${env:NAME:-text}`` in command,
arguments, variables, address and headers, and are resolved when the server is started. An entry
that cannot be used costs only itself: the file belongs to other programs as well.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.config.documents import Document, read_text
from hub.config.json_lines import parse_json
from hub.config.keys import KeyPath
from hub.config.problems import BadFile, Problem, validated
from hub.config.references import from_shell_style
from hub.config.schema import ServerEntry
from hub.config.sources import Layer
from hub.core.team import Origin
from hub.core.text import one_line

NAME = "mcp_json"
_KINDS = {"stdio": "command", "http": "url", "streamable-http": "url", "streamableHttp": "url"}
_TEXTS = ("command", "cwd", "url")
_USED = frozenset({"type", "args", "env", "headers", "timeout", "disabled", *_TEXTS})
_QUIET = frozenset({"description", "alwaysLoad"})
"""Keys that change nothing about how a server is started."""


def mcp_json_layer(path: Path) -> tuple[Layer, list[Problem], list[str]]:
    """Read the file as one layer of settings.

    Returns:
        The layer, what makes the file unusable, and notices about what is left out.
    """
    origin = Origin(NAME, str(path))
    empty = Layer(NAME, {}, origin)
    try:
        document = parse_json(read_text(path), str(path))
    except BadFile as error:
        return empty, [error.problem], []
    if document.problems:
        return empty, list(document.problems), []
    entries = document.data.get("mcpServers", {}) if isinstance(document.data, dict) else None
    if not isinstance(entries, dict):
        remedy = 'It looks like {"mcpServers": {"name": {"command": "…"}}}.'
        return empty, [Problem("'mcpServers' has to be an object", str(path), remedy)], []
    return _layer(document, entries, origin)


def _layer(
    document: Document, entries: Mapping[str, Any], origin: Origin
) -> tuple[Layer, list[Problem], list[str]]:
    servers: dict[str, Any] = {}
    origins: dict[KeyPath, Origin] = {}
    notices: list[str] = []
    for given, entry in entries.items():
        line = document.lines.get(("mcpServers", given), 0)
        place = Origin(NAME, origin.path, line)
        name = re.sub(r"[^A-Za-z0-9]+", lambda match: _joint(match[0]), given).strip("-_")
        told, data = _converted(entry)
        if not name or name in servers:
            told, data = [f"its name comes to {name!r}, which is empty or taken"], None
        if data is not None and (wrong := _wrong(data, place)):
            told, data = [*told, *wrong], None
        state = "has " if data is not None else "is left out: "
        notices += [f"{place}: the server {one_line(given)!r} {state}{text}" for text in told]
        if data is not None:
            servers[name] = data
            origins["servers", name] = place
            for key in data:
                below = document.lines.get(("mcpServers", given, key), line)
                origins["servers", name, key] = Origin(NAME, origin.path, below)
    return Layer(NAME, {"servers": servers}, origin, origins), [], notices


def _joint(text: str) -> str:
    return text if text in {"-", "_"} else "-"


def _wrong(data: Mapping[str, Any], place: Origin) -> list[str]:
    problems = validated(ServerEntry, data, lambda _: place)[1]
    return [f"{problem.where.partition(' ')[2]} {problem.message}" for problem in problems]


def _converted(entry: object) -> tuple[list[str], dict[str, Any] | None]:
    """Return notices and our form of an entry; None when the entry cannot be used."""
    if not isinstance(entry, dict):
        return ["it is no object"], None
    kind = entry.get("type") or ("stdio" if "command" in entry else "http")
    if not isinstance(kind, str) or kind not in _KINDS:
        return [f"the transport {kind!r} is not supported; stdio and http are"], None
    needed = _KINDS[kind]
    if not isinstance(entry.get(needed), str) or not entry[needed]:
        return [f"the transport {kind!r} needs {needed!r}"], None
    unknown = sorted(entry.keys() - _USED - _QUIET)
    told = [f"keys that are not used here: {', '.join(map(one_line, unknown))}"] if unknown else []
    mine = ("command", "args", "env", "cwd") if needed == "command" else ("url", "headers")
    data: dict[str, Any] = {key: _translated(entry[key]) for key in mine if key in entry}
    if isinstance(timeout := entry.get("timeout"), int | float) and timeout > 0:
        data["call_timeout"] = timeout / 1000
    if entry.get("disabled") is True:
        data["enabled"] = False
    return told, data


def _translated(value: Any) -> Any:
    if isinstance(value, str):
        return from_shell_style(value)
    if isinstance(value, list):
        return [_translated(item) for item in value]
    if isinstance(value, dict):
        return {key: _translated(item) for key, item in value.items()}
    return value
