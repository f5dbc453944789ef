"""Lowers the input schema of a tool to what model servers accept. Pure.

The server's own schema stays what arguments are checked against; a model sees the lowered one.
"""

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 60
_COMBINED = ("anyOf", "oneOf", "allOf")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains")


class Untranslatable(Exception):
    """A schema that no model server would accept, in any form."""


def lowered(schema: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the schema as models are sent it, and what was changed.

    Raises:
        Untranslatable: it is not the schema of an object, or is nested beyond reason.
    """
    changes: list[str] = []
    top = dict(schema)
    if top.get("type", "object") != "object":
        raise Untranslatable(f"the arguments are of type {top.get('type')!r}, not object")
    for keyword in _COMBINED:
        if keyword in top:
            _merge(top, keyword, changes)
    top["type"] = "object"
    result = _lower(top, "", changes, 0)
    return result, changes


def _merge(top: dict[str, Any], keyword: str, changes: list[str]) -> None:
    """Replace alternatives at the top by one object that has the properties of all of them."""
    branches = [branch for branch in top.pop(keyword) if isinstance(branch, Mapping)]
    properties = dict(top.get("properties") or {})
    required = list(top.get("required") or ())
    for branch in branches:
        for name, value in (branch.get("properties") or {}).items():
            properties.setdefault(name, value)
        if keyword == "allOf":
            required += [name for name in branch.get("required") or () if name not in required]
    top["properties"] = properties
    if required:
        top["required"] = required
    changes.append(f"{keyword} at the top became one object with all properties")


def _lower(schema: Any, place: str, changes: list[str], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Untranslatable(f"it is nested more than {MAX_DEPTH} levels deep")
    if not isinstance(schema, Mapping):
        return schema
    result = {key: value for key, value in schema.items() if key != "$schema"}
    _complete(result, place or "top", changes)
    for key in _MAPS:
        if isinstance(result.get(key), Mapping):
            result[key] = _members(result[key], f"{place}/{key}", changes, depth)
    for key in _SINGLE:
        if isinstance(result.get(key), Mapping):
            result[key] = _lower(result[key], f"{place}/{key}", changes, depth + 1)
    for key in (*_COMBINED, "prefixItems"):
        if isinstance(result.get(key), list):
            result[key] = [_lower(s, f"{place}/{key}", changes, depth + 1) for s in result[key]]
    return result


def _complete(schema: dict[str, Any], place: str, changes: list[str]) -> None:
    """Give objects a list of properties and arrays a kind of items."""
    if schema.get("type") == "object" and not isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {}
        changes.append(f"{place}: an object without properties got an empty list of them")
    if schema.get("type") == "array" and "items" not in schema and "prefixItems" not in schema:
        schema["items"] = {}
        changes.append(f"{place}: an array without items got items of any kind")


def _members(
    members: Mapping[str, Any], place: str, changes: list[str], depth: int
) -> dict[str, Any]:
    kept = {}
    for name, value in members.items():
        if isinstance(value, Mapping | bool):
            kept[name] = _lower(value, f"{place}/{name}", changes, depth + 1)
        else:
            changes.append(f"{place}/{name}: what is no schema is left out")
    return kept
