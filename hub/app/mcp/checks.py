"""What ``hub mcp test`` says of a server's tools: each check a value with the why. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from hub.catalog.explain import PROFILES, Profile
from hub.catalog.items import translation
from hub.catalog.names import MAX_LENGTH, model_name
from hub.core.ports import RemoteTool
from hub.pipeline.schemas import schema_fault

State = Literal["ok", "warn", "fail", "skip"]
Json = dict[str, Any]

MOST_NAMED = 5
"""How many things of a kind are named in one message."""
_LEGAL = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_WRITES = re.compile(
    r"(?:^|[_.\-/])(?:delete|remove|write|create|update|edit|move|drop|insert|commit|"
    r"reset|kill|send)(?:$|[_.\-/])"
)
"""Words in a name that promise a change."""
_HARMLESS = "the mark $schema is left out"
"""A change that no model server asks for."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class Check(Struct, frozen=True):
    """One thing that was looked at while a server was tested."""

    name: str
    """What was looked at, such as ``initialize`` or ``schemas``."""
    state: State
    """``ok``, ``warn``, ``fail``, or ``skip`` for what does not apply."""
    message: str
    """What was found, and for ``warn`` and ``fail`` why it matters."""

    def as_dict(self) -> dict[str, str]:
        """Return the fields by name, for JSON."""
        return asdict(self)


def tool_checks(server: str, entries: Sequence[Any]) -> Iterator[Check]:
    """Yield the checks of a whole list of tools, as the server wrote it."""
    tools = [one for one in entries if isinstance(one, dict) and _name(one)]
    yield _shapes(entries, tools)
    yield _duplicates(tools)
    yield _names(server, tools)
    yield _schemas(tools)
    yield _annotations(tools)
    generic = profile_check(server, tools, "generic")
    yield generic
    for profile in PROFILES:
        if profile != "generic":
            found = profile_check(server, tools, profile)
            same = found.state != "ok" and found.message == generic.message
            yield Check(found.name, found.state, "as for generic") if same else found


def twice_check(first: Sequence[Any], second: Sequence[Any]) -> Check:
    """Compare two lists of tools that one server gave one after the other."""
    name = "list twice"
    if list(first) == list(second):
        return Check(name, "ok", "the second list is the same")
    before, after = _by_name(first), _by_name(second)
    if before == after:
        return Check(
            name, "warn", "the second list has another order, which costs prompt caches their use"
        )
    different = [one for one in {**before, **after} if before.get(one) != after.get(one)]
    return Check(
        name,
        "fail",
        f"the second list differs in {_few(different)}; the hub would take that for a change and "
        "hold it back",
    )


def profile_check(server: str, tools: Sequence[Json], profile: Profile) -> Check:
    """Say what the model servers of one kind would reject, and what is changed for them."""
    refused, changed = [], []
    for entry in tools:
        made = translation(_remote(entry), model_name(server, _name(entry)), profile)
        if made.refused:
            refused.append(f"{made.tool} ({made.refused})")
        elif told := [change for change in made.changes if not change.endswith(_HARMLESS)]:
            changed.append(f"{made.tool} ({told[0]})")
    name = f"for {profile}"
    if refused:
        return Check(name, "fail", f"no form that it accepts, so withheld there: {_few(refused)}")
    if changed:
        words = "would refuse some as they are, so the hub changes on the way:"
        return Check(name, "warn", f"{words} {_few(changed)}")
    return Check(name, "ok", "accepts every tool as it is")


def _shapes(entries: Sequence[Any], tools: Sequence[Json]) -> Check:
    lost = len(entries) - len(tools)
    if lost:
        return Check("tools", "fail", f"{lost} of {len(entries)} entries are no tools with a name")
    silent = [_name(tool) for tool in tools if not tool.get("description")]
    if silent:
        return Check("tools", "warn", f"no description, so models have to guess: {_few(silent)}")
    return Check("tools", "ok", f"{len(tools)} tools, each with name and description")


def _duplicates(tools: Sequence[Json]) -> Check:
    counts = Counter(_name(tool) for tool in tools)
    double = [name for name, times in counts.items() if times > 1]
    if double:
        return Check(
            "duplicates", "fail", f"listed more than once, the hub keeps the first: {_few(double)}"
        )
    alike: dict[str, list[str]] = {}
    for name in counts:
        alike.setdefault(re.sub(r"[^a-z0-9]", "", name.lower()), []).append(name)
    pairs = ["/".join(names) for names in alike.values() if len(names) > 1]
    if pairs:
        return Check("duplicates", "warn", f"names that models mix up: {_few(pairs)}")
    return Check("duplicates", "ok", "no name comes twice")


def _names(server: str, tools: Sequence[Json]) -> Check:
    names = [_name(tool) for tool in tools]
    if illegal := [name for name in names if not _LEGAL.fullmatch(name)]:
        why = "not 1 to 128 of A-Z a-z 0-9 _ - . /, which the protocol asks for:"
        return Check("names", "warn", f"{why} {_few(illegal)}")
    longer = [name for name in names if len(f"{server}__{name}") > MAX_LENGTH]
    if longer:
        why = f"longer than {MAX_LENGTH} characters behind {server}__, so the hub shortens them:"
        return Check("names", "warn", f"{why} {_few(longer)}")
    hashed = [name for name in names if model_name(server, name) != f"{server}__{name}"]
    if hashed:
        shown = [f"{name} → {model_name(server, name)}" for name in hashed]
        return Check("names", "warn", f"models see another name: {_few(shown)}")
    return Check("names", "ok", "legal, and short enough for every model server")


def _schemas(tools: Sequence[Json]) -> Check:
    faults, warnings = [], []
    for tool in tools:
        name, schema = _name(tool), tool.get("inputSchema")
        if not isinstance(schema, dict):
            faults.append(f"{name} has no inputSchema")
        elif schema.get("type") != "object":
            faults.append(f"{name}: the type of its inputSchema is not object")
        elif fault := schema_fault(schema):
            faults.append(f"{name}: inputSchema {fault}")
        elif undescribed := _undescribed(schema):
            warnings.append(f"{name} ({', '.join(undescribed[:MOST_NAMED])})")
        output = tool.get("outputSchema")
        if output is not None and (not isinstance(output, dict) or schema_fault(output)):
            faults.append(f"{name}: outputSchema is no JSON Schema")
    if faults:
        return Check("schemas", "fail", _few(faults, "; "))
    if warnings:
        return Check("schemas", "warn", f"arguments without a description: {_few(warnings)}")
    return Check("schemas", "ok", "each is a JSON Schema of an object")


def _undescribed(schema: Mapping[str, Any]) -> list[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    said = ("description", "title", "enum", "const", "$ref")
    return [
        name
        for name, part in properties.items()
        if isinstance(part, dict) and not any(key in part for key in said)
    ]


def _annotations(tools: Sequence[Json]) -> Check:
    wrong, doubtful, missing = [], [], 0
    for tool in tools:
        name, hints = _name(tool), tool.get("annotations")
        if hints is None:
            missing += 1
            continue
        if not isinstance(hints, dict):
            wrong.append(f"{name}: annotations are no object")
            continue
        odd = [key for key in _HINTS if not isinstance(hints.get(key, False), bool | None)]
        if odd:
            wrong.append(f"{name}: {odd[0]} is neither true nor false")
        reads = hints.get("readOnlyHint") is True
        if reads and hints.get("destructiveHint") is True:
            wrong.append(f"{name} says that it only reads and that it destroys")
        elif reads and _WRITES.search(name.lower()):
            doubtful.append(f"{name} says that it only reads, and is called like a change")
    if wrong:
        return Check("annotations", "fail", _few(wrong, "; "))
    if doubtful:
        return Check("annotations", "warn", _few(doubtful, "; "))
    if missing:
        why = "without annotations the hub asks before each call of"
        return Check("annotations", "warn", f"{why} {missing} of {len(tools)} tools")
    return Check("annotations", "ok", "none contradicts another")


def _remote(entry: Json) -> RemoteTool:
    schema, hints = entry.get("inputSchema"), entry.get("annotations")
    described, title = entry.get("description"), entry.get("title")
    return RemoteTool(
        name=_name(entry),
        description=described if isinstance(described, str) else "",
        input_schema=schema if isinstance(schema, dict) else {"type": "object"},
        title=title if isinstance(title, str) else "",
        annotations=hints if isinstance(hints, dict) else {},
    )


def _name(entry: Mapping[str, Any]) -> str:
    name = entry.get("name")
    return name if isinstance(name, str) else ""


def _by_name(entries: Sequence[Any]) -> dict[str, Any]:
    return {_name(one): one for one in entries if isinstance(one, dict)}


def _few(things: Sequence[str], joint: str = ", ") -> str:
    """Return the first few of some words, and how many more there are."""
    more = len(things) - MOST_NAMED
    return joint.join(things[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
