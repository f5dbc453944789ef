"""The settings as a table, read from the schema and the texts under its fields."""

import ast
import inspect
import json
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

from hub.config import schema
from hub.config.keys import fields_of, is_mapping


class SettingRow(Struct, frozen=True):
    """One key of the settings."""

    key: str
    """Dotted; ``NAME`` stands for a name that the user chooses."""
    type: str
    default: str
    doc: str


def settings_table() -> list[SettingRow]:
    """Return every key with its type, default and meaning, in the order of the schema."""
    return list(_rows(schema.Settings, ""))


def _rows(model: type[BaseModel], prefix: str) -> Iterator[SettingRow]:
    docs = _docs(model)
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        annotation: Any = field.annotation
        below, value_type = _section(annotation), None
        if typing.get_origin(annotation) is Mapping:
            value_type = typing.get_args(annotation)[1]
            below = value_type if fields_of(value_type) else None
        if fields_of(below):
            yield from _rows(below, f"{key}.NAME." if value_type else f"{key}.")
        else:
            suffix = ".NAME" if is_mapping(annotation) else ""
            given = not (suffix or field.is_required())
            default = _default(field.get_default(call_default_factory=True)) if given else ""
            yield SettingRow(key + suffix, _type(value_type or annotation), default, docs[name])


def _section(annotation: Any) -> Any:
    """Return the section of an optional section; anything else as it is."""
    args = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
    return args[0] if len(args) == 1 and fields_of(args[0]) else annotation


def _docs(model: type[BaseModel]) -> dict[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    docs = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str(doc))):
                    docs[field.target.id] = " ".join(doc.split())
    return docs


def _type(annotation: Any) -> str:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(args[0])
    if origin is typing.Literal:
        return " or ".join(str(arg) for arg in args)
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        return " or ".join(_type(arg) for arg in args)
    if origin is tuple:
        return "list of text"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return "null" if annotation is type(None) else names.get(annotation, "anything")


def _default(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
