"""Dotted keys: how a place in the settings is written, split, and looked up in the schema."""

import re
import types
import typing
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

KeyPath = tuple[str | int, ...]
"""The keys and list positions that lead to a value."""

_PLAIN = re.compile(r"[^.\"\[\]]+")
_PIECE = re.compile(r'"([^"]*)"|([^."]+)')
_SECRET_KEYS = ("api_key",)
_SECRET_MAPS = ("headers", "env")


def dotted(path: KeyPath) -> str:
    """Write a path as ``models."gpt-5.1".base_url`` or ``permissions.allow[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        piece = part if _PLAIN.fullmatch(part) else f'"{part}"'
        text += f".{piece}" if text else piece
    return text


def split_key(text: str) -> tuple[str, ...] | None:
    """Split a dotted key, or return None when it is none; names with dots stand in quotes."""
    parts: list[str] = []
    position = 0
    while match := _PIECE.match(text, position):
        parts.append(match[1] if match[1] is not None else match[2])
        position = match.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            return None
        position += 1
    return None


def is_secret(path: KeyPath) -> bool:
    """Say whether the value at a path may be a secret and must not be shown."""
    if not path:
        return False
    return path[-1] in _SECRET_KEYS or any(part in _SECRET_MAPS for part in path[:-1])


def type_at(model: type[BaseModel], path: KeyPath) -> Any:
    """Return the annotation that the schema has at a path, or None when there is no such key."""
    found: Any = model
    for part in path:
        if (fields := fields_of(found)) is not None:
            found = fields.get(str(part))
        elif typing.get_origin(found) is Mapping:
            found = bare(typing.get_args(found)[1])
        else:
            return None
    return found


def names_at(model: type[BaseModel], path: KeyPath) -> Collection[str]:
    """Return the names that may stand at a path; empty where any or none may."""
    return (fields_of(type_at(model, path)) or {}).keys()


def is_mapping(annotation: Any) -> bool:
    """Say whether a mapping is expected where the schema has this annotation."""
    return fields_of(annotation) is not None or typing.get_origin(annotation) is Mapping


def bare(annotation: Any) -> Any:
    """Strip ``Annotated`` and ``| None`` from an annotation."""
    if typing.get_origin(annotation) is typing.Annotated:
        return bare(typing.get_args(annotation)[0])
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        given = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
        return bare(given[0])
    return annotation


def fields_of(annotation: Any) -> Mapping[str, Any] | None:
    """Return names and bare annotations of a model's fields; None for what is no model."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _fields(annotation)
    return None


@cache
def _fields(model: type[BaseModel]) -> Mapping[str, Any]:
    return {name: bare(field.annotation) for name, field in model.model_fields.items()}
