"""The questions of ``hub mcp test``: each is put over a wire and comes to checks."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from hub.app.mcp.checks import Check, State
from hub.connections.raw.wire import HANDSHAKE, KNOWN, METHOD_NOT_FOUND, MODERN, Json, Reply, Wire

MAX_PAGES = 200
NO_SUCH_METHOD = "hub/no-such-method"
NO_SUCH_TOOL = "hub-no-such-tool"
SHORT = 5.0
"""Seconds that answers which need no work are waited for."""


class Greeting(Struct, frozen=True):
    """What a server said of itself first."""

    reply: Reply
    checks: tuple[Check, ...] = ()
    """What is wrong about it; empty for a reply that is no result."""
    capabilities: Json = {}
    words: str = ""
    """Version, name and version of the server, for people."""


def read_initialize(reply: Reply) -> Greeting:
    """Look at the answer to ``initialize``."""
    if not reply.ok:
        return Greeting(reply)
    result = reply.result if isinstance(reply.result, dict) else {}
    version, info = result.get("protocolVersion"), result.get("serverInfo")
    faults = []
    if version not in KNOWN or version == MODERN:
        faults.append(f"answers with the version {version!r}, which no client knows")
    if not isinstance(info, dict) or not info.get("name"):
        faults.append("serverInfo with a name is missing, which some clients refuse")
    if not isinstance(result.get("capabilities"), dict):
        faults.append("capabilities are missing")
    if not isinstance(result.get("instructions", ""), str):
        faults.append("instructions are no text")
    return _greeting("initialize", reply, result, version, info, faults)


def read_discover(reply: Reply) -> Greeting:
    """Look at the answer to ``server/discover``."""
    if not reply.ok:
        return Greeting(reply)
    result = reply.result if isinstance(reply.result, dict) else {}
    versions = result.get("supportedVersions")
    meta = result.get("_meta")
    info = result.get("serverInfo")
    if info is None and isinstance(meta, dict):
        info = meta.get("io.modelcontextprotocol/serverInfo")
    faults = []
    if not isinstance(versions, list) or MODERN not in versions:
        faults.append(f"supportedVersions is {versions!r}, without {MODERN}")
    if not isinstance(result.get("capabilities"), dict):
        faults.append("capabilities are missing")
    return _greeting("discover", reply, result, MODERN, info, faults)


def _greeting(
    name: str, reply: Reply, result: Json, version: Any, info: Any, faults: Sequence[str]
) -> Greeting:
    said = info if isinstance(info, dict) else {}
    words = f"speaks {version}"
    if said.get("name"):
        words += f"; it is {said['name']} {said.get('version', '')}".rstrip()
    found = Check(name, "fail", "; ".join(faults)) if faults else Check(name, "ok", words)
    capabilities = result.get("capabilities")
    return Greeting(reply, (found,), capabilities if isinstance(capabilities, dict) else {}, words)


async def ping(wire: Wire) -> list[Check]:
    """Ask for a sign of life; any reply is one."""
    if wire.era == "modern":
        return [Check("ping", "skip", f"{MODERN} has no ping")]
    reply = await wire.ask("ping", limit=SHORT)
    if reply.ok:
        return [Check("ping", "ok", f"answered after {reply.took * 1000:.0f} ms")]
    if reply.kind == "error":
        words = f"answers {reply.words}; that is a sign of life, but clients may take it for dead"
        return [Check("ping", "warn", words)]
    return [Check("ping", "fail", f"{reply.words}; clients that ping take it for dead")]


async def unknown_method(wire: Wire) -> list[Check]:
    """Ask for a method that no server has."""
    reply, name = await wire.ask(NO_SUCH_METHOD, limit=SHORT), "unknown method"
    if reply.kind == "error" and reply.code == METHOD_NOT_FOUND:
        return [Check(name, "ok", f"answers {METHOD_NOT_FOUND}")]
    if reply.kind == "error":
        words = f"answers {reply.words}, where {METHOD_NOT_FOUND} is expected"
        return [Check(name, "warn", words)]
    return [Check(name, "fail", f"{reply.words}, where the error {METHOD_NOT_FOUND} is expected")]


async def unknown_tool(wire: Wire) -> list[Check]:
    """Call a tool that there is not."""
    params = {"name": NO_SUCH_TOOL, "arguments": {}}
    reply, name = await wire.ask("tools/call", params, limit=SHORT), "unknown tool"
    if reply.kind == "error":
        return [Check(name, "ok", f"answers {reply.words[:120]}")]
    if reply.ok and isinstance(reply.result, dict) and reply.result.get("isError") is True:
        return [Check(name, "ok", "answers with isError")]
    return [Check(name, "fail", f"{reply.words}, where an error is expected")]


async def read_tools(wire: Wire, capabilities: Json) -> tuple[list[Any] | None, list[Check]]:
    """Read every page of the list of tools; None when there is no list."""
    entries, checks = await _pages(wire, "tools/list", "tools")
    if entries is None and "tools" not in capabilities:
        return None, [Check("tools/list", "skip", "it says that it has no tools")]
    if entries and "tools" not in capabilities:
        words = "it lists tools without the capability, so some clients never ask"
        checks.append(Check("capabilities", "warn", words))
    return entries, checks


async def read_more(wire: Wire, capabilities: Json) -> list[Check]:
    """Look at prompts and resources, where the server says that it has some."""
    checks: list[Check] = []
    lists = (
        ("prompts", "prompts/list", "prompts"),
        ("resources", "resources/list", "resources"),
        ("resources", "resources/templates/list", "resourceTemplates"),
    )
    for capability, method, member in lists:
        if capability in capabilities:
            entries, found = await _pages(wire, method, member)
            bad = [one for one in entries or () if not isinstance(one, dict)]
            if bad:
                found.append(Check(method, "fail", f"{len(bad)} entries are no objects"))
            checks += found
    return checks


async def _pages(wire: Wire, method: str, member: str) -> tuple[list[Any] | None, list[Check]]:
    """Follow the pages of a list to their end, or to what is wrong about them."""
    entries: list[Any] = []
    seen: set[str] = set()
    params: Json = {}
    took = 0.0
    for number in range(1, MAX_PAGES + 1):
        reply = await wire.ask(method, params)
        took += reply.took
        result = reply.result if isinstance(reply.result, dict) else {}
        if not reply.ok or not isinstance(result.get(member), list):
            return _broken(method, reply, entries, number, member)
        entries += result[member]
        cursor = result.get("nextCursor")
        if cursor is None:
            return entries, [_read(method, entries, number, took, seen)]
        if not isinstance(cursor, str):
            words = f"page {number}: the cursor {cursor!r} is no text, so clients stop there"
            return entries, [Check(method, "fail", words)]
        if cursor in seen:
            words = f"page {number} repeats the cursor {cursor!r:.60}: clients ask for ever"
            return entries, [Check(method, "fail", words)]
        seen.add(cursor)
        params = {"cursor": cursor}
    return entries, [Check(method, "fail", f"no end after {MAX_PAGES} pages")]


def _read(method: str, entries: Sequence[Any], pages: int, took: float, seen: set[str]) -> Check:
    state: State = "warn" if "" in seen else "ok"
    many = f"{pages} page" if pages == 1 else f"{pages} pages"
    words = f"{len(entries)} on {many} in {took * 1000:.0f} ms"
    empty = "; an empty cursor on the way, at which many clients stop"
    return Check(method, state, words + (empty if "" in seen else ""))


def _broken(
    method: str, reply: Reply, entries: list[Any], page: int, member: str
) -> tuple[list[Any] | None, list[Check]]:
    if reply.ok:
        words = f"the result has no list {member!r}"
    elif page > 1:
        words = f"page {page}: {reply.words} for a cursor that it gave itself"
    else:
        words = reply.words
    return (entries if page > 1 else None), [Check(method, "fail", words)]


def offer(version: str = HANDSHAKE) -> Json:
    """Return what a client says in its ``initialize``; it offers nothing."""
    return {"protocolVersion": version, "capabilities": {}}
