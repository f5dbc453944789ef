"""The JSON text of a call's arguments: as valid as it can be made without guessing."""

import json
from typing import Any

from pydantic_core import from_json

from hub.core.text import without_surrogates


def canonical(text: str) -> str | None:
    """Return the arguments as valid JSON that encodes as UTF-8, or None when they do not parse.

    Valid text is returned as it is. Raw control characters inside strings are escaped and lone
    surrogates replaced; nothing is closed, cut or completed.
    """
    text = without_surrogates(text)
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        return _repaired(text)
    return text


def is_complete(text: str) -> bool:
    """Say whether the text is one whole JSON object."""
    return text.rstrip().endswith("}") and canonical(text) is not None


def wire_object(text: str) -> str:
    """Return JSON text of an object in any case; what does not parse is wrapped, not dropped."""
    if not text.strip():
        return "{}"
    valid = canonical(text)
    if valid is not None and valid.lstrip().startswith("{"):
        return valid
    return _dump({"_unparsable": text})


def from_value(value: Any) -> str:
    """Return the JSON text of arguments that a server sent as a value instead of as text."""
    return _dump(value)


def _repaired(text: str) -> str | None:
    try:
        value = json.loads(text, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return _dump(value)


def _dump(value: Any) -> str:
    return without_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
