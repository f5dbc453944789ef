"""From settings to the launch specs of MCP servers."""

import re
import sys
from pathlib import Path

from hub.config.keys import dotted
from hub.config.layers import Loaded
from hub.config.problems import Problem, fault
from hub.config.schema import BUNDLED, ServerEntry
from hub.core.errors import ConfigError
from hub.core.servers import OAuth, ServerSpec, ToolRule, Transport
from hub.core.team import Origin

_NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
_FOR_COMMANDS = ("args", "env", "cwd")
_FOR_ADDRESSES = ("headers", "oauth")
_TRANSPORTS = {"bundled": ("memory", "stdio"), "command": ("stdio",), "url": ("http", "sse")}


def server_specs(loaded: Loaded) -> list[ServerSpec]:
    """Return a spec for each server that is switched on: the bundled ones first.

    Raises:
        ConfigError: with every entry that cannot be used, each with its place.
    """
    entries = loaded.settings.servers
    first = [name for name in BUNDLED if name in entries]
    problems: list[Problem] = []
    specs: list[ServerSpec] = []
    for name in [*first, *(name for name in entries if name not in first)]:
        entry = entries[name]
        if not entry.enabled:
            continue
        origin = _origin(loaded, name, entry)
        if problem := _problem(name, entry, origin):
            problems.append(problem)
        else:
            specs.append(_spec(loaded, name, entry, origin))
    if problems:
        raise fault(ConfigError, problems)
    return specs


def server_spec(loaded: Loaded, name: str) -> ServerSpec | None:
    """Return the spec of one server; None when there is none or its entry cannot be used."""
    entry = loaded.settings.servers.get(name)
    if entry is None or not entry.enabled:
        return None
    origin = _origin(loaded, name, entry)
    return None if _problem(name, entry, origin) else _spec(loaded, name, entry, origin)


def bundled_servers(loaded: Loaded) -> frozenset[str]:
    """Return the servers that come with the hub and that nothing of the same name replaces."""
    entries = loaded.settings.servers
    return frozenset(name for name, entry in entries.items() if entry.bundled == name)


def _origin(loaded: Loaded, name: str, entry: ServerEntry) -> Origin:
    kind = next((kind for kind in ("bundled", "command", "url") if getattr(entry, kind)), "")
    key = f"servers.{name}"
    return loaded.origin(f"{key}.{kind}" if kind else key)


def _problem(name: str, entry: ServerEntry, origin: Origin) -> Problem | None:
    where = f"{origin} (servers.{name})"
    if not _NAME.fullmatch(name):
        return Problem(
            f"{name!r} cannot be the name of a server",
            where,
            "Use letters, digits, and single '-' or '_' between them.",
        )
    kinds = [kind for kind in ("command", "url", "bundled") if getattr(entry, kind)]
    if len(kinds) != 1:
        told = f"it has {' and '.join(kinds)}" if kinds else "it has none of them"
        remedy = "Give it a command to start, a url to reach, or switch it off: enabled: false."
        return Problem(f"a server needs one of command, url and bundled; {told}", where, remedy)
    given = entry.model_fields_set
    strange = [key for key in _FOR_COMMANDS if key in given and not entry.command]
    strange += [key for key in _FOR_ADDRESSES if key in given and not entry.url]
    if entry.transport is not None and entry.transport not in _TRANSPORTS[kinds[0]]:
        strange.append(f"transport: {entry.transport}")
    if strange:
        return Problem(f"{' and '.join(strange)} cannot stand beside {kinds[0]}", where)
    if entry.url and not entry.url.startswith(("http://", "https://", "${env:", "${keyring:")):
        return Problem(f"the url {entry.url!r} has to begin with https:// or http://", where)
    return None


def _spec(loaded: Loaded, name: str, entry: ServerEntry, origin: Origin) -> ServerSpec:
    command, args = entry.command, entry.args
    transport: Transport = "stdio"
    if entry.bundled and entry.transport == "stdio":
        # Without -P, a folder hub_servers in the workspace would be started instead.
        command, args = sys.executable, ("-P", "-m", f"hub_servers.{entry.bundled}")
    elif entry.bundled:
        command, transport = entry.bundled, "memory"
    elif entry.url:
        transport = "sse" if entry.transport == "sse" else "http"
    return ServerSpec(
        name=name,
        transport=transport,
        command=command,
        args=args,
        env=dict(entry.env),
        cwd=_folder(loaded.sources.project, entry.cwd),
        url=entry.url,
        headers=dict(entry.headers),
        start_timeout=entry.start_timeout,
        call_timeout=entry.call_timeout,
        allow=entry.allow,
        deny=entry.deny,
        tools={
            tool: ToolRule(
                **rule.model_dump(), origin=loaded.origin(dotted(("servers", name, "tools", tool)))
            )
            for tool, rule in entry.tools.items()
        },
        idle_timeout=entry.idle_timeout,
        stateful=entry.stateful or "",
        serial=entry.serial,
        oauth=OAuth(**entry.oauth.model_dump()) if entry.oauth else None,
        may_ask=entry.may_ask,
        origin=origin,
    )


def _folder(project: Path, cwd: str) -> str:
    return str(project / Path(cwd).expanduser()) if cwd and "${" not in cwd else cwd
