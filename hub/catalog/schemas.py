"""Makes the input schema of a tool one that every JSON Schema reader accepts. Pure.

The result is valid against draft 2020-12 and describes an object at its top. Conditions that models
cannot be told are left out of it, no property is. What single kinds of model servers refuse beyond
that is the matter of ``profiles``.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from hub.catalog.keywords import BROKEN, JSON_TYPES, Json, mended

MAX_DEPTH = 60
MAX_PARTS = 20_000
"""How many schemas one schema may be made of."""
COMBINED = ("anyOf", "oneOf", "allOf")
_UNFIT_AT_TOP = ("not", "enum", "const", "if", "then", "else")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_SWITCHES = ("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems")
"""Where true and false are what everybody writes."""
_SINGLE = (*_SWITCHES, "items", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = (*COMBINED, "prefixItems")
_NESTED = frozenset({*_MAPS, *_SINGLE, *_LISTS})


class Untranslatable(Exception):
    """A schema that no model server would accept, in any form."""


class Lowered(Struct, frozen=True):
    """A schema made sound."""

    parameters: Json
    changes: tuple[str, ...] = ()
    """What was changed, with its place; empty when the schema is as it was."""

    @property
    def broken(self) -> bool:
        """Say whether the original was no schema, so that nothing can be checked against it."""
        return any(BROKEN in change for change in self.changes)


def lowered(schema: Mapping[str, Any]) -> Lowered:
    """Return the schema as every reader accepts it, and what was changed.

    Raises:
        Untranslatable: it is not the schema of an object, or is nested beyond reason.
    """
    changes: list[str] = []
    top = _opened(schema, changes)
    kinds = top.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        raise Untranslatable(f"its arguments are of type {kinds!r:.100}, not object")
    if kinds != top.get("type") or kinds != "object":
        changes.append("the type at the top became object")
    top["type"] = "object"
    if present := [keyword for keyword in COMBINED if keyword in top]:
        properties, required = _members(top, schema, 0)
        top = {key: value for key, value in top.items() if key not in present}
        top["properties"] = properties
        if required:
            top["required"] = required
        changes += [
            f"{keyword} at the top became one object with all properties" for keyword in present
        ]
    unfit = [keyword for keyword in _UNFIT_AT_TOP if keyword in top]
    changes += [f"{keyword} at the top is left out" for keyword in unfit]
    top = {key: value for key, value in top.items() if key not in unfit}
    low = _Lowering(schema, changes).lower(top, "", 0)
    return Lowered(low, tuple(changes))


def _opened(schema: Mapping[str, Any], changes: list[str]) -> Json:
    """Put what a reference at the top stands for in its place."""
    top = dict(schema)
    for _ in range(MAX_DEPTH):
        reference = top.get("$ref")
        found = target(reference, schema) if isinstance(reference, str) else None
        if found is None or found is schema:
            break
        rest = {key: value for key, value in top.items() if key != "$ref"}
        top = {**found, **rest}
        changes.append(f"the reference {reference!r:.100} at the top became what it stands for")
    return top


def _members(schema: Any, root: Mapping[str, Any], depth: int) -> tuple[Json, list[str]]:
    """Return the properties of an object and of all its alternatives, and which are required."""
    schema = resolved(schema, root)
    properties = dict(as_mapping(schema.get("properties")))
    required = names_in(schema.get("required"))
    if depth > MAX_DEPTH:
        raise Untranslatable(f"its alternatives are nested more than {MAX_DEPTH} levels deep")
    for keyword in COMBINED:
        given = schema.get(keyword)
        branches = [one for one in (given if isinstance(given, list) else ()) if _may_be(one)]
        found = [_members(branch, root, depth + 1) for branch in branches]
        for members, _ in found:
            for name, value in members.items():
                known = name in properties
                properties[name] = _either(properties[name], value) if known else value
        wanted = [names for _, names in found]
        for name in dict.fromkeys(name for names in wanted for name in names):
            everywhere = all(name in names for names in wanted)
            if (keyword == "allOf" or everywhere) and name not in required:
                required.append(name)
    return properties, required


def _may_be(branch: Any) -> bool:
    """Say whether an alternative may stand for an object."""
    kind = as_mapping(branch).get("type", "object")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _either(one: Any, other: Any) -> Any:
    """Return what allows what either schema allows."""
    if one == other:
        return one
    known = one["anyOf"] if isinstance(one, Mapping) and set(one) == {"anyOf"} else [one]
    return one if other in known else {"anyOf": [*known, other]}


def resolved(branch: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references within the document; what leads nowhere is an empty schema."""
    for _ in range(MAX_DEPTH):
        if not isinstance(branch, Mapping) or not isinstance(branch.get("$ref"), str):
            break
        branch = target(branch["$ref"], root)
    return branch if isinstance(branch, Mapping) else {}


class _Lowering(Struct):
    """One document on its way to a model; the order of its members stays."""

    root: Mapping[str, Any]
    changes: list[str]
    parts: list[None] = field(default_factory=list)
    """As many as schemas were seen."""

    def lower(self, schema: Mapping[str, Any], place: str, depth: int) -> Json:
        """Lower a schema and all in it."""
        self.parts.append(None)
        if depth > MAX_DEPTH:
            raise Untranslatable(f"its schema is nested more than {MAX_DEPTH} levels deep")
        if depth and is_sound(schema, depth):
            return dict(schema)
        if len(self.parts) > MAX_PARTS:
            raise Untranslatable(f"its schema is made of more than {MAX_PARTS} schemas")
        result: Json = {}
        for key, part in mended(schema, place or "top", self.changes).items():
            if key in _NESTED:
                if (low := self._part(key, part, place, depth)) is not None:
                    result[key] = low
            elif key == "$ref" and not _leads_somewhere(part, self.root):
                self.changes.append(f"{place}/$ref: {BROKEN} reference within it is left out")
            else:
                result[key] = part
        _complete(result, place or "top", self.changes)
        return result

    def _part(self, key: str, part: Any, place: str, depth: int) -> Any:
        """Lower what stands under one keyword; None when nothing of it is left."""
        if key in _MAPS:
            names = as_mapping(part)
            lows = {n: self._child(c, f"{place}/{key}/{n}", depth) for n, c in names.items()}
            return {name: low for name, low in lows.items() if low is not None}
        if key in _LISTS or isinstance(part, list):
            parts = part if isinstance(part, list) else []
            found = [self._child(c, f"{place}/{key}/{i}", depth) for i, c in enumerate(parts)]
            return [low for low in found if low is not None] or None
        if key in _SWITCHES and isinstance(part, bool):
            return part
        return self._child(part, f"{place}/{key}", depth)

    def _child(self, part: Any, place: str, depth: int) -> Any:
        if isinstance(part, bool):
            self.changes.append(f"{place}: {str(part).lower()} in place of a schema became one")
            return {} if part else {"not": {}}
        if isinstance(part, Mapping):
            return self.lower(part, place, depth + 1)
        self.changes.append(f"{place}: {BROKEN} schema is left out")
        return None


def is_sound(schema: Mapping[str, Any], depth: int = 0) -> bool:
    """Say whether nothing in a schema has to be changed; in doubt, it is not said.

    Most schemas are of this kind, and looking is much quicker than making them anew.
    """
    if depth > MAX_DEPTH:
        return False
    for key, value in schema.items():
        if (check := _QUICK.get(key)) is None or not check(value, depth + 1):
            return False
    kind = schema.get("type")
    if kind == "object":
        return "properties" in schema
    return kind != "array" or "items" in schema


def _sound_map(value: Any, depth: int) -> bool:
    return type(value) is dict and all(_sound_part(part, depth) for part in value.values())


def _sound_part(value: Any, depth: int) -> bool:
    return type(value) is dict and is_sound(value, depth)


def _sound_list(value: Any, depth: int) -> bool:
    return type(value) is list and bool(value) and all(_sound_part(part, depth) for part in value)


_QUICK: Mapping[str, Callable[[Any, int], bool]] = {
    **dict.fromkeys(
        ("description", "title", "pattern", "format"), lambda value, depth: type(value) is str
    ),
    **dict.fromkeys(("default", "const", "examples"), lambda value, depth: True),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _sound_list),
    **dict.fromkeys(
        ("minimum", "maximum"), lambda value, depth: type(value) is int or type(value) is float
    ),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems"),
        lambda value, depth: type(value) is int and value >= 0,
    ),
    "type": lambda value, depth: type(value) is str and value in JSON_TYPES,
    "properties": _sound_map,
    "items": _sound_part,
    "additionalProperties": lambda value, depth: type(value) is bool or _sound_part(value, depth),
    "enum": lambda value, depth: type(value) is list and bool(value),
    "required": lambda value, depth: (
        type(value) is list
        and all(type(name) is str for name in value)
        and len(set(value)) == len(value)
    ),
    "uniqueItems": lambda value, depth: type(value) is bool,
}
"""By keyword: whether a value needs no change. Other keywords are looked at closely."""


def _leads_somewhere(reference: Any, root: Mapping[str, Any]) -> bool:
    return isinstance(reference, str) and target(reference, root) is not None


def target(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a reference within the document stands for; None where it leads nowhere."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    named = reference == "#" or reference.startswith("#/")
    return found if named and isinstance(found, Mapping) else None


def _complete(schema: Json, place: str, changes: list[str]) -> None:
    """Give objects a list of properties and arrays a kind of items."""
    if is_kind(schema, "object") and not isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {}
        changes.append(f"{place}: an object without properties got an empty list of them")
    if is_kind(schema, "array") and "items" not in schema:
        schema["items"] = {}
        changes.append(f"{place}: an array without items got items of any kind")


def is_kind(schema: Mapping[str, Any], kind: str) -> bool:
    """Say whether a schema is of a type, or of several with this one among them."""
    kinds = schema.get("type")
    return kinds == kind or (isinstance(kinds, list) and kind in kinds)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, and an empty one for everything else."""
    return value if isinstance(value, Mapping) else {}


def names_in(value: Any) -> list[str]:
    """Return the texts of a list; nothing for what is no list."""
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
