"""Lowers the input schema of a tool to what model servers accept. Pure.

The server's own schema stays what arguments are checked against; a model sees the lowered one.
Conditions that models cannot be told are left out of it, no property is.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

MAX_DEPTH = 60
_COMBINED = ("anyOf", "oneOf", "allOf")
_UNFIT_AT_TOP = ("not", "enum", "const", "if", "then", "else")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
_LISTS = (*_COMBINED, "prefixItems")
_NESTED = frozenset({*_MAPS, *_SINGLE, *_LISTS})

BROKEN = "what is no"
"""In what is told of a change: the schema was broken, so arguments cannot be checked against it."""

Json = dict[str, Any]


class Untranslatable(Exception):
    """A schema that no model server would accept, in any form."""


def lowered(schema: Mapping[str, Any]) -> tuple[Json, list[str]]:
    """Return the schema as models are sent it, and what was changed.

    Raises:
        Untranslatable: it is not the schema of an object, or is nested beyond reason.
    """
    changes: list[str] = []
    top = dict(schema)
    kinds = top.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        raise Untranslatable(f"its arguments are of type {kinds!r:.100}, not object")
    if kinds != top.get("type") or kinds != "object":
        changes.append("the type at the top became object")
    top["type"] = "object"
    for keyword in _COMBINED:
        if keyword in top:
            _merge(top, keyword, schema)
            changes.append(f"{keyword} at the top became one object with all properties")
    unfit = [keyword for keyword in _UNFIT_AT_TOP if keyword in top]
    changes += [f"{keyword} at the top is left out" for keyword in unfit]
    top = {key: value for key, value in top.items() if key not in unfit}
    return _Lowering(schema, changes).lower(top, "", 0), changes


def _merge(top: Json, keyword: str, root: Mapping[str, Any]) -> None:
    """Replace alternatives at the top by one object that has the properties of all of them."""
    given = top.pop(keyword)
    branches = [_resolved(branch, root) for branch in given] if isinstance(given, list) else []
    properties = dict(_mapping(top.get("properties")))
    required = _names(top.get("required"))
    for branch in branches:
        for name, value in _mapping(branch.get("properties")).items():
            properties[name] = _either(properties[name], value) if name in properties else value
        if keyword == "allOf":
            required += [name for name in _names(branch.get("required")) if name not in required]
    top["properties"] = properties
    if required:
        top["required"] = required


def _either(one: Any, other: Any) -> Any:
    """Return what allows what either schema allows."""
    if one == other:
        return one
    known = one["anyOf"] if isinstance(one, Mapping) and set(one) == {"anyOf"} else [one]
    return one if other in known else {"anyOf": [*known, other]}


def _resolved(branch: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference within the document; what leads nowhere is an empty schema."""
    for _ in range(MAX_DEPTH):
        if not isinstance(branch, Mapping) or not isinstance(branch.get("$ref"), str):
            break
        branch = _target(branch["$ref"], root)
    return branch if isinstance(branch, Mapping) else {}


class _Lowering(Struct):
    """One document on its way to a model; the order of its members stays."""

    root: Mapping[str, Any]
    changes: list[str]

    def lower(self, schema: Any, place: str, depth: int) -> Any:
        """Lower a schema and all in it."""
        if depth > MAX_DEPTH:
            raise Untranslatable(f"its schema is nested more than {MAX_DEPTH} levels deep")
        if not isinstance(schema, Mapping):
            return schema
        result: Json = {}
        for key, part in schema.items():
            if key in _NESTED:
                if (low := self._part(key, part, place, depth)) is not None:
                    result[key] = low
            elif key == "$ref" and not _leads_somewhere(part, self.root):
                self.changes.append(f"{place}/$ref: {BROKEN} reference within it is left out")
            elif key != "$schema":
                result[key] = part
        _complete(result, place or "top", self.changes)
        return result

    def _part(self, key: str, part: Any, place: str, depth: int) -> Any:
        """Lower what stands under one keyword; None when nothing of it is left."""
        if key in _MAPS:
            names = _mapping(part)
            lows = {n: self._child(c, f"{place}/{key}/{n}", depth) for n, c in names.items()}
            return {name: low for name, low in lows.items() if low is not None}
        if key in _LISTS or isinstance(part, list):
            parts = part if isinstance(part, list) else []
            found = [self._child(c, f"{place}/{key}/{i}", depth) for i, c in enumerate(parts)]
            return [low for low in found if low is not None] or None
        return self._child(part, f"{place}/{key}", depth)

    def _child(self, part: Any, place: str, depth: int) -> Any:
        if isinstance(part, Mapping | bool):
            return self.lower(part, place, depth + 1)
        self.changes.append(f"{place}: {BROKEN} schema is left out")
        return None


def _leads_somewhere(reference: Any, root: Mapping[str, Any]) -> bool:
    return isinstance(reference, str) and _target(reference, root) is not None


def _target(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a reference within the document stands for."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    named = reference == "#" or reference.startswith("#/")
    return found if named and isinstance(found, Mapping) else None


def _complete(schema: Json, place: str, changes: list[str]) -> None:
    """Give objects a list of properties and arrays a kind of items; drop broken lists of names."""
    if _is(schema, "object") and not isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {}
        changes.append(f"{place}: an object without properties got an empty list of them")
    if _is(schema, "array") and "items" not in schema and "prefixItems" not in schema:
        schema["items"] = {}
        changes.append(f"{place}: an array without items got items of any kind")
    if "required" in schema and schema["required"] != (names := _names(schema["required"])):
        schema["required"] = names
        changes.append(f"{place}: {BROKEN} name in the list of required ones is left out")
    if "enum" in schema and not isinstance(schema["enum"], list):
        del schema["enum"]
        changes.append(f"{place}: {BROKEN} list of values is left out")


def _is(schema: Json, kind: str) -> bool:
    kinds = schema.get("type")
    return kinds == kind or (isinstance(kinds, list) and kind in kinds)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
