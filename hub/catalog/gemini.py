"""Lowers a sound schema to the subset of OpenAPI that Gemini takes for a function.

Gemini knows no references, no ``oneOf`` or ``allOf``, no lists of types, no objects or arrays of
any content, and refuses the whole request for a keyword that it does not know. A value that cannot
be described to it is asked for as JSON text, and restored before the call. Pure.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.catalog.arguments import EACH, Restore
from hub.catalog.keywords import Json
from hub.catalog.schemas import MAX_DEPTH, MAX_PARTS, Untranslatable, as_mapping, names_in, target

KEPT = frozenset({
    *("type", "title", "description", "nullable", "enum", "format", "default", "example"),
    *("properties", "required", "minProperties", "maxProperties", "propertyOrdering"),
    *("items", "minItems", "maxItems", "minLength", "maxLength", "pattern"),
    *("minimum", "maximum", "anyOf"),
})
"""The keywords that Gemini knows."""
FORMATS = {
    "string": {"date-time"},
    "number": {"float", "double"},
    "integer": {"int32", "int64"},
}
_HANDLED = frozenset({
    *("$ref", "$defs", "definitions", "oneOf", "allOf", "const", "prefixItems", "$comment", "$id"),
    *("exclusiveMinimum", "exclusiveMaximum", "$anchor", "examples"),
})
_ANY = "any JSON value"
_OBJECT = "a JSON object"


def for_gemini(schema: Mapping[str, Any]) -> tuple[Json, list[str], list[Restore]]:
    """Return a sound schema as Gemini takes it, what was changed, and what a call has to undo.

    Raises:
        Untranslatable: without references it is too large.
    """
    work = _Work(schema)
    try:
        top = work.object_of(work.merged(schema, "top", 0), "top", (), ())
    except RecursionError:
        raise Untranslatable("without references its schema is nested too deeply") from None
    return top, list(dict.fromkeys(work.changes)), list(dict.fromkeys(work.restores))


class _Work(Struct):
    root: Mapping[str, Any]
    changes: list[str] = field(default_factory=list)
    restores: list[Restore] = field(default_factory=list)
    parts: list[None] = field(default_factory=list)

    def node(self, given: Any, place: str, path: tuple[str, ...], seen: tuple[str, ...]) -> Json:
        """Lower one schema; ``seen`` are the references that led to it."""
        self.parts.append(None)
        if len(self.parts) > MAX_PARTS:
            raise Untranslatable("without references its schema is too large for gemini")
        reference = as_mapping(given).get("$ref")
        if isinstance(reference, str):
            if reference in seen:
                self.changes.append(f"{place}: it contains itself, so it is given as JSON text")
                return self.as_text(given, path, _ANY)
            seen = (*seen, reference)
        schema = self.merged(as_mapping(given), place, 0)
        if "anyOf" in schema:
            return self.alternatives(schema, place, path, seen)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            rest = {key: value for key, value in schema.items() if key != "type"}
            branches = [{**rest, "type": kind} for kind in kinds]
            self.changes.append(f"{place}: a list of types became alternatives")
            return self.alternatives({"anyOf": branches}, place, path, seen)
        match kinds or _guess(schema):
            case "object":
                return self.object_or_text(schema, place, path, seen)
            case "array":
                return self.array_of(schema, place, path, seen)
            case "null":
                self.changes.append(f"{place}: null became a text that may be null")
                return {"type": "string", "nullable": True}
            case str(kind):
                return self.plain({**schema, "type": kind}, place)
            case _:
                self.changes.append(f"{place}: a value of any kind is given as JSON text")
                return self.as_text(schema, path, _ANY)

    def merged(self, schema: Mapping[str, Any], place: str, depth: int) -> Json:
        """Put references, ``allOf`` and ``oneOf`` into one schema."""
        if depth > MAX_DEPTH:
            raise Untranslatable("its allOf contains itself")
        result: Json = dict(schema)
        for _ in range(MAX_DEPTH):
            reference = result.pop("$ref", None)
            if not isinstance(reference, str):
                break
            found = target(reference, self.root) or {}
            result = {**found, **result}
            self.changes.append(f"{place}: the reference {reference} became what it stands for")
        for branch in result.pop("allOf", ()):
            self.changes.append(f"{place}: allOf became one schema")
            part = self.merged(branch, place, depth + 1)
            properties = {**as_mapping(result.get("properties")), **part.pop("properties", {})}
            required = [*names_in(result.get("required")), *names_in(part.pop("required", None))]
            result = {**part, **result}
            if properties:
                result["properties"] = properties
            if required:
                result["required"] = list(dict.fromkeys(required))
        if "oneOf" in result:
            self.changes.append(f"{place}: oneOf became anyOf")
            result["anyOf"] = [*result.get("anyOf", ()), *result.pop("oneOf")]
        return result

    def alternatives(
        self, schema: Json, place: str, path: tuple[str, ...], seen: tuple[str, ...]
    ) -> Json:
        """Lower alternatives; null becomes ``nullable``, a single one that remains stands alone."""
        given = schema["anyOf"]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        real = [one for one in given if as_mapping(one).get("type") != "null"]
        nullable = len(real) != len(given)
        if nullable:
            self.changes.append(f"{place}: null among the alternatives became nullable")
        if len(real) == 1:
            only = self.node({**rest, **real[0]} if rest else real[0], place, path, seen)
            return {**only, "nullable": True} if nullable else only
        told = {key: rest[key] for key in ("description",) if key in rest}
        if rest.keys() - told.keys():
            names = ", ".join(sorted(rest.keys() - told.keys()))
            self.changes.append(f"{place}: {names} beside anyOf is left out")
        found: list[Json] = []
        first = len(self.restores)
        for index, one in enumerate(real):
            low = {**told, **self.node(one, f"{place}/anyOf/{index}", path, seen)}
            low = {**low, "nullable": True} if nullable else low
            if low not in found:
                found.append(low)
        self.restores[first:] = [
            replace(one, kind="object") if one.path == path and one.kind == "json" else one
            for one in self.restores[first:]
        ]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def object_or_text(
        self, schema: Json, place: str, path: tuple[str, ...], seen: tuple[str, ...]
    ) -> Json:
        if schema.get("properties"):
            return self.object_of(schema, place, path, seen)
        self.changes.append(f"{place}: an object without properties is given as JSON text")
        return self.as_text(schema, path, _OBJECT)

    def object_of(
        self, schema: Json, place: str, path: tuple[str, ...], seen: tuple[str, ...]
    ) -> Json:
        """Lower an object, also one without properties."""
        start = "" if place == "top" else place
        properties = {
            name: self.node(part, f"{start}/properties/{name}", (*path, name), seen)
            for name, part in as_mapping(schema.get("properties")).items()
        }
        result = self.plain({**schema, "type": "object"}, place)
        result["properties"] = properties
        required = names_in(schema.get("required"))
        if unknown := [name for name in required if name not in properties]:
            self.changes.append(f"{place}: {', '.join(unknown)} is required and no property")
        known = [name for name in required if name in properties]
        result.pop("required", None)
        return {**result, "required": known} if known else result

    def array_of(
        self, schema: Json, place: str, path: tuple[str, ...], seen: tuple[str, ...]
    ) -> Json:
        items = schema.get("items")
        if first := schema.get("prefixItems"):
            self.changes.append(f"{place}: prefixItems became items of any of its kinds")
            items = {"anyOf": list(first)} if len(first) > 1 else first[0]
        result = self.plain({**schema, "type": "array"}, place)
        result["items"] = self.node(items or {}, f"{place}/items", (*path, EACH), seen)
        return result

    def plain(self, schema: Json, place: str) -> Json:
        """Keep the keywords that Gemini knows, with values that it takes."""
        result: Json = {}
        notes: list[str] = []
        kind = schema["type"]
        for key, value in schema.items():
            if key not in KEPT:
                if key not in _HANDLED:
                    self.changes.append(f"{place}: {key} is left out")
            elif key == "format" and value not in FORMATS.get(kind, ()):
                self.changes.append(f"{place}: the format {value!r:.100} is left out")
            elif key not in ("enum", "properties", "items", "required", "anyOf"):
                result[key] = value
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if values is not None:
            self.values(result, values, place, notes)
        self.bounds(result, schema, place, notes)
        if notes:
            told = str(result.get("description", ""))
            result["description"] = " ".join([*([told] if told else []), *notes])
        return result

    def values(self, result: Json, values: list[Any], place: str, notes: list[str]) -> None:
        """Keep a list of texts; tell other lists in the description."""
        texts = [value for value in values if isinstance(value, str) and value]
        if result["type"] == "string" and texts:
            if len(texts) != len(values):
                self.changes.append(f"{place}: empty and other values of enum are left out")
            result["enum"] = texts
            return
        self.changes.append(f"{place}: enum is told in the description")
        notes.append(f"One of: {', '.join(_shown(values))}.")

    def bounds(self, result: Json, schema: Json, place: str, notes: list[str]) -> None:
        """Turn exclusive bounds into inclusive ones for integers, and into words for others."""
        ways = (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1))
        for exclusive, inclusive, step in ways:
            if (bound := schema.get(exclusive)) is None:
                continue
            if result["type"] == "integer" and isinstance(bound, int):
                self.changes.append(f"{place}: {exclusive} became {inclusive}")
                tight = bound + step
                old = result.get(inclusive, tight)
                result[inclusive] = max(tight, old) if step > 0 else min(tight, old)
            else:
                self.changes.append(f"{place}: {exclusive} is told in the description")
                notes.append(f"{'More' if step > 0 else 'Less'} than {bound}.")

    def as_text(self, schema: Any, path: tuple[str, ...], what: str) -> Json:
        """Ask for a value as JSON text."""
        self.restores.append(Restore(path, "object" if what == _OBJECT else "json"))
        told = as_mapping(schema).get("description")
        note = f"Given as a text: {what}, written as JSON."
        return {"type": "string", "description": f"{told} {note}" if told else note}


def _guess(schema: Mapping[str, Any]) -> str | None:
    """Return the type of a schema that names none but leaves no doubt."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if "properties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    for kind, types in (("string", str), ("boolean", bool), ("number", int | float)):
        if values and all(isinstance(value, types) for value in values):
            return kind
    return "string" if "pattern" in schema or "maxLength" in schema else None


def _shown(values: Iterable[Any]) -> Iterable[str]:
    return (json.dumps(value, ensure_ascii=False) for value in values)
