"""The values that templates of scripts give: settled, as JSON, or as something to say."""

import json
from collections.abc import Iterator, Mapping, Set, ValuesView
from typing import Any

_PASSING = (Iterator, range, Set, ValuesView)
"""What jinja gives where a list is meant."""


class TemplateFault(Exception):
    """A template or an expression cannot be read, or fails on what it is given."""


def settled(value: Any, source: str) -> Any:
    """Return a value that can be looked at more than once: a list for what passes by.

    Raises:
        TemplateFault: it, or an item of it, is not defined.
    """
    if isinstance(value, _PASSING):
        value = _listed(value)
    for item in value if isinstance(value, list) else [value]:
        if _is_undefined(item):
            raise TemplateFault(f"{_why(item)} in {short(source)}")
    return value


def as_json(value: Any) -> str:
    """Return the JSON text of a rendered value.

    Raises:
        TemplateFault: it holds something that JSON has no form for.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_json_form)
    except (TypeError, ValueError, RecursionError) as error:
        raise TemplateFault(f"a value cannot be written as JSON: {error}") from None


def as_text(value: Any) -> str:
    """Return a rendered value as something to say: texts as they are, nothing as an empty text.

    Raises:
        TemplateFault: as `as_json`.
    """
    if value is None:
        return ""
    return as_json(value) if isinstance(value, list | tuple | Mapping) else str(value)


def short(source: str) -> str:
    """Return a template on one line for a message."""
    flat = " ".join(source.split())
    return repr(flat if len(flat) <= 120 else flat[:119] + "…")


def _why(undefined: Any) -> str:
    from jinja2 import UndefinedError

    try:
        return str(undefined)
    except UndefinedError as error:
        return error.message or "there is no value"


def _is_undefined(value: Any) -> bool:
    from jinja2 import Undefined

    return isinstance(value, Undefined)


def _listed(value: Any) -> list[Any]:
    """Return the items, those of a plain set by their text: its own order differs by process."""
    return sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)


def _json_form(value: Any) -> Any:
    if _is_undefined(value):
        raise TypeError("a name in it has no value")
    if isinstance(value, _PASSING):
        return _listed(value)
    raise TypeError(f"a {type(value).__name__} is in it; take one of its fields")
