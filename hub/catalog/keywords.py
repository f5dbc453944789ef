"""Mends the keywords of one schema that are no JSON Schema, or are that of an older draft. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]

BROKEN = "what is no"
"""In what is told of a change: the schema was broken, so arguments cannot be checked against it."""

JSON_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_WANTED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (_is_number, "number")
    ),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "number above zero"),
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minProperties"),
            *("maxProperties", "minContains", "maxContains"),
        ),
        (_is_count, "count"),
    ),
    **dict.fromkeys(
        ("pattern", "format", "title", "description", "$id", "$anchor", "$comment"),
        (_is_text, "text"),
    ),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "enum": (lambda value: isinstance(value, list) and bool(value), "list of values"),
}


def mended(schema: Mapping[str, Any], place: str, changes: list[str]) -> Mapping[str, Any]:
    """Return a schema whose own keywords are those of draft 2020-12; what is below stays."""
    result: Json = {}
    for key, value in schema.items():
        if key in _WANTED and not _WANTED[key][0](value):
            if not (key in _EXCLUSIVE and isinstance(value, bool)):
                told = f"{_WANTED[key][1]} in {key} is left out"
                changes.append(f"{place}: {BROKEN} {told}")
        elif key in _SPECIAL:
            if (good := _SPECIAL[key](value, place, changes)) is not None:
                result[key] = good
        else:
            result[key] = value
    _of_older_drafts(result, schema, place, changes)
    return result


def _of_older_drafts(
    result: Json, schema: Mapping[str, Any], place: str, changes: list[str]
) -> None:
    for exclusive, bound in _EXCLUSIVE.items():
        if isinstance(schema.get(exclusive), bool):
            told = f"number in {exclusive} became one, as an older draft means it"
            changes.append(f"{place}: {BROKEN} {told}")
            if schema[exclusive] and _is_number(result.get(bound)):
                result[exclusive] = result.pop(bound)
    if isinstance(result.get("items"), list):
        result["prefixItems"] = result.pop("items")
        if (more := result.pop("additionalItems", None)) is not None:
            result["items"] = more
        changes.append(f"{place}: {BROKEN} schema of items, but a list, became prefixItems")


def _no_mark(value: Any, place: str, changes: list[str]) -> None:
    changes.append(f"{place}: the mark $schema is left out")


def _kind(value: Any, place: str, changes: list[str]) -> str | list[str] | None:
    """Return a type, or types, that JSON Schema knows; None when there is none."""
    if isinstance(value, str) and value in JSON_TYPES:
        return value
    if isinstance(value, str) and value.lower() in JSON_TYPES:
        changes.append(f"{place}: {BROKEN} type, {value!r:.100}, became {value.lower()!r}")
        return value.lower()
    if not isinstance(value, list):
        changes.append(f"{place}: {BROKEN} type, {value!r:.100}, is left out")
        return None
    known = [kind for kind in value if isinstance(kind, str) and kind in JSON_TYPES]
    known = list(dict.fromkeys(known))
    if known != value:
        changes.append(f"{place}: {BROKEN} type in the list of types is left out")
    return known or None


def _required(value: Any, place: str, changes: list[str]) -> list[str] | None:
    if not isinstance(value, list):
        changes.append(f"{place}: {BROKEN} list of names in required is left out")
        return None
    names = [name for name in value if isinstance(name, str)]
    if len(names) != len(value):
        changes.append(f"{place}: {BROKEN} name in the list of required ones is left out")
    if len(unique := list(dict.fromkeys(names))) != len(names):
        changes.append(f"{place}: a name that was required twice is required once")
    return unique


_SPECIAL: Mapping[str, Callable[[Any, str, list[str]], Any]] = {
    "$schema": _no_mark,
    "type": _kind,
    "required": _required,
}
