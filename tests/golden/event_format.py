"""The file format of events as plain data: what the golden file pins."""

import json
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hub.core.events import EVENT_TYPES, Event, Transient

GOLDEN = Path(__file__).parent / "events.json"
ENVELOPE = "every event"


def event_format() -> str:
    """Return type, durability and fields of every event, and of the records inside them."""
    nested: dict[str, type[BaseModel]] = {}
    found: dict[str, Any] = {ENVELOPE: {"fields": _fields(Event, set(), nested)}}
    for kind in EVENT_TYPES:
        own = {"type", *Event.model_fields}
        found[kind.model_fields["type"].default] = {
            "class": kind.__name__,
            "durable": kind.durable,
            "fields": _fields(kind, own, nested),
        }
    for name, model in sorted(nested.items()):
        found[f"record {name}"] = {"fields": _fields(model, set(), nested)}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def misplaced() -> list[str]:
    """Return the events whose class and whose durability disagree."""
    return [kind.__name__ for kind in EVENT_TYPES if kind.durable is issubclass(kind, Transient)]


def _fields(
    model: type[BaseModel], without: set[str], nested: dict[str, type[BaseModel]]
) -> dict[str, str]:
    return {
        name: _described(field, nested)
        for name, field in model.model_fields.items()
        if name not in without
    }


def _described(field: FieldInfo, nested: dict[str, type[BaseModel]]) -> str:
    kind = _kind(field.annotation, nested)
    if field.is_required():
        return f"{kind}, required"
    return f"{kind} = {json.dumps(field.get_default(call_default_factory=True))}"


def _kind(annotation: Any, nested: dict[str, type[BaseModel]]) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(json.dumps(choice) for choice in arguments)
    if origin in {typing.Union, types.UnionType}:
        return " | ".join(_kind(choice, nested) for choice in arguments)
    if origin is not None:
        inner = ", ".join(_kind(argument, nested) for argument in arguments)
        return f"{origin.__name__}[{inner}]"
    if annotation is Any:
        return "any"
    if annotation is types.NoneType:
        return "null"
    if issubclass(annotation, BaseModel):
        nested[annotation.__name__] = annotation
    return str(annotation.__name__)
