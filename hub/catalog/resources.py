"""The resources of all servers: found by text, read by ``server:uri``, and the tool for both."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from hub.catalog.templates import expanded, fits, variables
from hub.core.errors import ServerError
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext, RemoteResource, Servers

RESOURCES = "resources"
"""The tool; offered when a server has resources."""
MOST_LISTED = 50
MAX_DESCRIPTION = 200

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "enum": ["list", "read"],
            "description": "list finds resources; read returns the content of one.",
        },
        "query": {"type": "string", "description": "list: words that have to occur."},
        "server": {"type": "string", "description": "list: only those of this server."},
        "uri": {
            "type": "string",
            "description": "read: the resource, as server:uri; a template is filled from values.",
        },
        "values": {
            "type": "object",
            "properties": {},
            "additionalProperties": {"type": "string"},
            "description": "read: values of a template's variables, by name.",
        },
    },
    "required": ["action"],
    "additionalProperties": False,
}


class Resources(Struct, frozen=True):
    """What servers offer to be read, less what is held back."""

    by_server: Mapping[str, tuple[RemoteResource, ...]]
    held: Mapping[str, Mapping[str, str]] = {}
    """By server: the addresses that are held back, and why."""

    def all(self) -> Iterator[tuple[str, RemoteResource]]:
        """Yield each resource and template with its server."""
        for server, found in self.by_server.items():
            for resource in found:
                yield server, resource

    def find(self, query: str, server: str = "") -> list[tuple[str, RemoteResource]]:
        """Return the resources in which all words of a query occur."""
        words = query.lower().split()
        return [
            (owner, one)
            for owner, one in self.all()
            if (not server or owner == server)
            and all(
                word in f"{one.uri} {one.name} {one.title} {one.description}".lower()
                for word in words
            )
        ]

    def refusal(self, server: str, uri: str) -> str:
        """Return why a resource may not be read, naming what is near; empty when it may."""
        if server not in self.by_server:
            known = ", ".join(self.by_server) or "none"
            return f"There are no resources of a server {server!r}. Servers with some: {known}."
        if why := self.held.get(server, {}).get(uri):
            return f"The resource {uri!r} of {server!r} is held back: {why}."
        for one in self.by_server[server]:
            if one.uri == uri or (one.template and fits(one.uri, uri)):
                return ""
        near = get_close_matches(uri, [one.uri for one in self.by_server[server]], n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(f'{server}:{one}' for one in near)}?" if near else ""
        return f"The server {server!r} has no resource {uri!r}.{hint}"


def as_text(contents: tuple[dict[str, Any], ...]) -> str:
    """Return the contents of a resource as text; what is no text is described."""
    parts = []
    for part in contents:
        if isinstance(text := part.get("text"), str):
            parts.append(text)
            continue
        blob = part.get("blob")
        size = len(blob) * 3 // 4 if isinstance(blob, str) else 0
        kind = part.get("mimeType") or "application/octet-stream"
        parts.append(f"[{part.get('uri', '')}: {kind}, about {size} bytes, no text]")
    return "\n\n".join(parts)


class ResourcesTool:
    """The Tool port over the resources of all servers."""

    def __init__(self, resources: Resources, servers: Servers) -> None:
        owners = ", ".join(resources.by_server)
        self.spec = ToolSpec(
            RESOURCES,
            f"Finds and reads resources that these MCP servers offer: {owners}. First list, then "
            "read one by server:uri.",
            _PARAMETERS,
            server=RESOURCES,
            tool=RESOURCES,
            read_only=True,
            concurrency_safe=True,
        )
        """How it is offered."""
        self._resources = resources
        self._servers = servers

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        """List or read."""
        if arguments["action"] == "list":
            return self._list(str(arguments.get("query", "")), str(arguments.get("server", "")))
        server, _, uri = str(arguments.get("uri", "")).partition(":")
        if not uri:
            return _error("Say which resource to read, as uri: server:uri.")
        values = {name: str(value) for name, value in (arguments.get("values") or {}).items()}
        if values and variables(uri):
            uri = expanded(uri, values)
        if missing := variables(uri):
            return _error(f"Give values for {', '.join(missing)}, or the whole address.")
        if refusal := self._resources.refusal(server, uri):
            return _error(refusal)
        try:
            contents = await self._servers.read_resource(server, uri)
        except ServerError as error:
            return _error(f"{error}. Nothing was read.", "server_lost")
        return ToolOutcome(as_text(contents))

    def _list(self, query: str, server: str) -> ToolOutcome:
        found = self._resources.find(query, server)
        lines = [_line(owner, one) for owner, one in found[:MOST_LISTED]]
        if len(found) > MOST_LISTED:
            lines.append(f"… and {len(found) - MOST_LISTED} more; narrow it with query or server.")
        return ToolOutcome("\n".join(lines) or "No resource fits.")


def _line(server: str, one: RemoteResource) -> str:
    told: dict[str, Any] = {"uri": f"{server}:{one.uri}"}
    if one.template:
        told["values"] = variables(one.uri)
    told["name"] = one.title or one.name
    told["type"] = one.mime_type
    told["description"] = one.description[:MAX_DESCRIPTION]
    return json.dumps({key: value for key, value in told.items() if value}, ensure_ascii=False)


def _error(text: str, kind: str = "invalid_arguments") -> ToolOutcome:
    return ToolOutcome(text, is_error=True, kind=kind)
