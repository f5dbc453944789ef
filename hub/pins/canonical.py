"""The canonical form of what a server says of itself: what means the same looks the same. Pure.

Order of keys, ``1`` and ``1.0``, and a value that says what its absence says make no difference.
Everything else does: the forms of two descriptions are equal only when no client can tell the two
apart.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hub.core.ports import RemotePrompt, RemoteResource, RemoteTool

Json = dict[str, Any]

HINTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""What MCP takes a tool to be where its annotations do not say."""
DESTRUCTIVE = "destructiveHint"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of a schema that names none."""

_ABSENT: Mapping[str, tuple[str, ...]] = {
    "required": ("[]",),
    "properties": ("{}",),
    "patternProperties": ("{}",),
    "dependentRequired": ("{}",),
    "dependentSchemas": ("{}",),
    "$defs": ("{}",),
    "definitions": ("{}",),
    "propertyNames": ("true", "{}"),
    "title": ('""',),
    "description": ('""',),
    "$comment": ('""',),
    "examples": ("[]",),
    "minItems": ("0",),
    "minLength": ("0",),
    "minProperties": ("0",),
    "uniqueItems": ("false",),
    "deprecated": ("false",),
    "readOnly": ("false",),
    "writeOnly": ("false",),
}
"""Keywords of JSON Schema with the values that say no more than their absence."""
_OPEN: Mapping[str, tuple[str, ...]] = {
    "additionalProperties": ("true", "{}"),
    "items": ("true", "{}"),
}
"""The same, unless something in the document asks what has been evaluated."""
_ASKING = ("unevaluatedProperties", "unevaluatedItems")
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTS = ("prefixItems", "allOf", "anyOf", "oneOf")
_SINGLE = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SETS = ("required", "type")
"""Lists of words whose order says nothing."""


def compact(value: Any) -> str:
    """Return canonical JSON values as text: one text for one value, whatever it holds.

    Raises:
        RecursionError: it is nested too deeply.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: Any) -> str:
    """Return the SHA-256 of canonical JSON values, in hex digits."""
    return hashlib.sha256(compact(value).encode("ascii")).hexdigest()


def canonical_tool(tool: RemoteTool) -> Json:
    """Return the canonical form of a tool.

    Raises:
        RecursionError: a schema is nested too deeply to be compared.
    """
    form: Json = {"name": tool.name, "inputSchema": canonical_schema(tool.input_schema)}
    form |= _texts(title=tool.title, description=tool.description)
    if tool.output_schema is not None:
        form["outputSchema"] = canonical_schema(tool.output_schema)
    if hints := _hints(tool.annotations):
        form["annotations"] = hints
    if tool.meta:
        form["_meta"] = plain(tool.meta)
    return form


def canonical_prompt(prompt: RemotePrompt) -> Json:
    """Return the canonical form of a prompt; the order of its arguments counts."""
    form: Json = {"name": prompt.name} | _texts(title=prompt.title, description=prompt.description)
    if prompt.arguments:
        form["arguments"] = [_argument(argument) for argument in prompt.arguments]
    return form


def canonical_resource(resource: RemoteResource) -> Json:
    """Return the canonical form of a resource or a template."""
    return {"uri": resource.uri} | _texts(
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mimeType=resource.mime_type,
    )


def canonical_schema(schema: Any) -> Any:
    """Return the canonical form of a whole JSON Schema.

    Raises:
        RecursionError: it is nested too deeply.
    """
    form = _schema(schema, absent=_ABSENT if _asks(schema) else {**_ABSENT, **_OPEN})
    if isinstance(form, dict) and str(form.get("$schema", "")).removesuffix("#") == DIALECT:
        del form["$schema"]
    return form


def plain(value: Any) -> Any:
    """Return JSON values with keys in order and each number in one form."""
    match value:
        case bool() | None | str() | int():
            return value
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {str(key): plain(value[key]) for key in sorted(value, key=str)}
        case list() | tuple():
            return [plain(item) for item in value]
    return str(value)


def _schema(schema: Any, absent: Mapping[str, tuple[str, ...]]) -> Any:
    if not isinstance(schema, Mapping):
        return plain(schema)
    form: Json = {}
    for key in sorted(schema, key=str):
        part = _member(key, schema[key], absent)
        if key not in absent or (isinstance(part, dict) and part) or _says(part, absent[key]):
            form[str(key)] = part
    return form


def _says(part: Any, nothing: tuple[str, ...]) -> bool:
    """Say whether a value is another one than those that say nothing."""
    return compact(part) not in nothing


def _member(key: str, part: Any, absent: Mapping[str, tuple[str, ...]]) -> Any:
    """Return the canonical form of what stands under one keyword."""
    if key in _MAPS and isinstance(part, Mapping):
        return {str(name): _schema(part[name], absent) for name in sorted(part, key=str)}
    if (key in _LISTS or key == "items") and isinstance(part, list):
        return [_schema(below, absent) for below in part]
    if key in _SINGLE:
        return _schema(part, absent)
    if key in _SETS and isinstance(part, list) and all(isinstance(word, str) for word in part):
        return sorted(part)
    return plain(part)


def _asks(schema: Any) -> bool:
    """Say whether a document asks what has been evaluated, so that open parts mean something."""
    if isinstance(schema, Mapping):
        return any(key in _ASKING or _asks(below) for key, below in schema.items())
    return isinstance(schema, list) and any(_asks(below) for below in schema)


def _hints(annotations: Mapping[str, Any]) -> Json:
    found = plain(annotations)
    for hint, default in HINTS.items():
        if hint in found and (found[hint] is None or found[hint] is default):
            del found[hint]
    if annotations.get(DESTRUCTIVE) is True and found.get("readOnlyHint") is True:
        # Said of a tool that only reads, it takes that word back, as its absence does not.
        found[DESTRUCTIVE] = True
    if not found.get("title", True):
        del found["title"]
    return dict(found)


def _argument(argument: Mapping[str, Any]) -> Any:
    form = plain(argument)
    for key in ("description", "title"):
        if not form.get(key, True):
            del form[key]
    if form.get("required", True) in (False, None):
        del form["required"]
    return form


def _texts(**texts: str) -> Json:
    return {key: text for key, text in texts.items() if text}
