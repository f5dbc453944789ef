"""Reads the form that a server wants filled in from its schema."""

from typing import Any

from msgspec.structs import replace

from hub.core.forms import Choice, FieldKind, FormField
from hub.core.text import without_surrogates

MOST_FIELDS = 50
MOST_CHOICES = 200
_KINDS: dict[str, FieldKind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "switch",
    "array": "choices",
}


class UnreadableForm(ValueError):
    """A form that nobody can be asked to fill in; the message says why."""


def fields_of(schema: dict[str, Any]) -> tuple[FormField, ...]:
    """Return the fields of a form in the order of the schema.

    Raises:
        UnreadableForm: the schema holds something that is no field of a form.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {}
    if len(properties) > MOST_FIELDS:
        raise UnreadableForm(f"the form has {len(properties)} fields, at most {MOST_FIELDS} may be")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    missing = [str(name) for name in names if name not in properties]
    if missing:
        raise UnreadableForm(f"the form requires {missing[0]!r:.100} and does not describe it")
    return tuple(
        _field(str(name), part, required=name in names) for name, part in properties.items()
    )


def _field(name: str, part: Any, *, required: bool) -> FormField:
    kind = _KINDS.get(str(part.get("type"))) if isinstance(part, dict) else None
    if kind is None:
        raise UnreadableForm(f"the field {name!r:.100} is of no kind that a form can have")
    if kind == "choices":
        choices = _choices(name, part.get("items"))
        least, most = part.get("minItems"), part.get("maxItems")
    else:
        choices = _choices(name, part) if _is_choice(part) else ()
        kind = "choice" if choices else kind
        least, most = _bounds(kind, part)
    field = FormField(
        name=without_surrogates(name),
        kind=kind,
        title=_text(part.get("title")),
        description=_text(part.get("description")),
        required=required,
        choices=choices,
        least=_number(least),
        most=_number(most),
        format=_text(part.get("format")),
    )
    return _with_default(field, part.get("default"))


def _with_default(field: FormField, default: Any) -> FormField:
    """Take a default in unless it could not be an answer."""
    if default is None or field.problem(default):
        return field
    return replace(field, default=default)


def _is_choice(part: dict[str, Any]) -> bool:
    return part.get("type") == "string" and any(key in part for key in ("enum", "oneOf", "anyOf"))


def _choices(name: str, part: Any) -> tuple[Choice, ...]:
    """Return the values of a choice, in either of the ways in which they can be listed."""
    found: list[Choice] = []
    if isinstance(part, dict):
        values, labels = part.get("enum"), part.get("enumNames")
        if isinstance(values, list):
            shown = labels if isinstance(labels, list) and len(labels) == len(values) else values
            found = [
                Choice(*pair) for pair in zip(map(_text, values), map(_text, shown), strict=True)
            ]
        for entry in part.get("oneOf") or part.get("anyOf") or ():
            if isinstance(entry, dict) and isinstance(entry.get("const"), str):
                value = _text(entry["const"])
                found.append(Choice(value, _text(entry.get("title")) or value))
    if not found or len(found) > MOST_CHOICES:
        raise UnreadableForm(f"the field {name!r:.100} has {len(found)} values to choose from")
    return tuple(found)


def _bounds(kind: FieldKind, part: dict[str, Any]) -> tuple[Any, Any]:
    if kind == "text":
        return part.get("minLength"), part.get("maxLength")
    return part.get("minimum"), part.get("maximum")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Any) -> str:
    return without_surrogates(value) if isinstance(value, str) else ""
