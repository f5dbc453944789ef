"""Checks tool arguments against the part of JSON Schema that these servers write."""

import difflib
from collections.abc import Mapping
from typing import Any

from hub_servers.errors import ToolError

Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def checked(tool: str, schema: Schema, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments as the schema has them; a null for an optional key counts as absent.

    Raises:
        ToolError: a key is unknown, missing or of the wrong type; the message names it.
    """
    return _object(tool, "", schema, arguments or {})


def _object(tool: str, where: str, schema: Schema, value: Mapping[str, Any]) -> dict[str, Any]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    result: dict[str, Any] = {}
    for key, item in value.items():
        if key not in known:
            raise ToolError(f"{tool}: {_unknown(where + key, key, known)}")
        if item is None and key not in required:
            continue
        result[key] = _value(tool, where + key, known[key], item)
    for key in required:
        if key not in result:
            raise ToolError(f"{tool}: argument '{where}{key}' is missing")
    return result


def _value(tool: str, where: str, schema: Schema, value: Any) -> Any:
    kind: str = schema["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    is_flag = isinstance(value, bool)
    if not isinstance(value, _TYPES[kind]) or (is_flag and kind != "boolean"):
        raise ToolError(f"{tool}: argument '{where}' must be of type {kind}, not {_name(value)}")
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(schema["enum"])
        raise ToolError(f"{tool}: argument '{where}' must be one of {choices}, not {value!r:.60}")
    match value:
        case str() if not value.isascii() and _has_lone_surrogate(value):
            raise ToolError(f"{tool}: argument '{where}' holds a lone surrogate, so it is no text")
        case list():
            items = schema["items"]
            return [_value(tool, f"{where}[{at}]", items, one) for at, one in enumerate(value)]
        case dict():
            return _object(tool, f"{where}.", schema, value)
        case _:
            return value


def _unknown(where: str, key: str, known: Mapping[str, Schema]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"unknown argument {where!r:.80}{hint} (it takes {', '.join(known) or 'none'})"


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _name(value: object) -> str:
    if value is None:
        return "null"
    for name, types in _TYPES.items():
        if type(value) in types:
            return name
    return type(value).__name__
