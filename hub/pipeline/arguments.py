"""From the text that a model wrote to arguments that a tool may be given."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

from hub.core.text import cut_middle, has_surrogates

MAX_ERRORS = 5
"""How many validation errors a model is told at once."""
MAX_ERROR_LENGTH = 300
"""Characters of one validation error; they quote the offending value."""


class Validator(Protocol):
    """What is used of a JSON Schema validator."""

    def iter_errors(self, instance: Any) -> Any:
        """Yield every error of an instance."""
        ...


class BadArguments(Exception):
    """The arguments cannot be used; the message is for the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def parse_arguments(text: str) -> dict[str, Any]:
    """Read the JSON object that a model wrote.

    Raw control characters inside of strings are accepted, an empty text counts as no arguments;
    everything else that is no JSON object of Unicode text is refused, and never repaired.

    Raises:
        BadArguments: with the line and column of the fault.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, strict=False, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        near = text[max(error.pos - 20, 0) : error.pos + 20]
        raise BadArguments(
            f"The arguments are not valid JSON: {error.msg} at line {error.lineno}, column "
            f"{error.colno}, near {near!r}. The call was not run; send it again, complete."
        ) from None
    except RecursionError:
        raise BadArguments("The arguments are nested too deeply. The call was not run.") from None
    except ValueError as error:
        raise BadArguments(
            f"The arguments cannot be read: {error}. The call was not run."
        ) from None
    if "\\u" in text and has_surrogates(json.dumps(value, ensure_ascii=False)):
        raise BadArguments("The arguments hold half of a surrogate pair. The call was not run.")
    if not isinstance(value, dict):
        raise BadArguments(
            f"The arguments must be a JSON object, not {_kind(value)}. The call was not run."
        )
    return value


def coerce(arguments: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Mend what models often get wrong at the top level, where the schema leaves no doubt.

    A number or boolean in quotes, an array or object as JSON text, and a null for an optional
    property that may not be null are turned into what they stand for.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    required = schema.get("required") or ()
    mended: dict[str, Any] = {}
    for key, value in arguments.items():
        wanted = properties.get(key)
        kind = wanted.get("type") if isinstance(wanted, dict) else None
        if value is None and isinstance(kind, str) and kind != "null" and key not in required:
            continue
        mended[key] = _coerced(value, kind) if isinstance(value, str) else value
    return mended


def schema_errors(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Check a value against a JSON Schema; name each offending place, at most ``MAX_ERRORS``.

    A schema that cannot be used is an error as well.
    """
    try:
        return found_errors(value, schema)
    except UnusableSchema as error:
        return [f"the schema cannot be used: {error}"]


class UnusableSchema(Exception):
    """A schema from a stranger that nothing can be checked against."""


def found_errors(value: Any, schema: Mapping[str, Any], *, root: str = "arguments") -> list[str]:
    """Check a value against a JSON Schema; name each offending place, at most ``MAX_ERRORS``.

    ``root`` is what the value itself is called.

    Raises:
        UnusableSchema: nothing can be checked against it.
    """
    try:
        return _found(value, schema, root)
    except UnusableSchema:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a stranger's schema does is its fault
        reason = str(error).partition("\n")[0]
        raise UnusableSchema(f"{type(error).__name__}: {reason:.200}") from None


def _outward(schema: Any) -> str | None:
    """Return a reference out of the document, which a validator would go and fetch."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            for key in ("$ref", "$dynamicRef", "$recursiveRef"):
                if isinstance(found := node.get(key), str) and not found.startswith("#"):
                    return found
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return None


def _found(value: Any, schema: Mapping[str, Any], root: str) -> list[str]:
    errors: list[str] = []
    for error in _validator(json.dumps(schema, sort_keys=True)).iter_errors(value):
        place = "/".join(str(part) for part in error.absolute_path) or root
        errors.append(f"{place}: {cut_middle(error.message, MAX_ERROR_LENGTH)}")
        if len(errors) == MAX_ERRORS:
            break
    return errors


def validate(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    """Check arguments against a tool's JSON Schema; one that cannot be used is left to the server.

    Raises:
        BadArguments: naming each offending place.
    """
    try:
        errors = found_errors(arguments, schema)
    except UnusableSchema:
        return
    if errors:
        raise BadArguments("The arguments do not fit the tool: " + "; ".join(errors))


@lru_cache(maxsize=1024)
def _validator(schema_text: str) -> Validator:
    from jsonschema import Draft202012Validator

    schema = json.loads(schema_text)
    if (reference := _outward(schema)) is not None:
        raise UnusableSchema(f"the reference {reference!r:.100} leads outside of it")
    validator: Validator = Draft202012Validator(schema)
    return validator


def _coerced(value: str, kind: object) -> Any:
    if kind in ("integer", "number", "boolean", "array", "object"):
        try:
            parsed = json.loads(value, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return value
        fits = {
            "integer": isinstance(parsed, int) and not isinstance(parsed, bool),
            "number": isinstance(parsed, int | float) and not isinstance(parsed, bool),
            "boolean": isinstance(parsed, bool),
            "array": isinstance(parsed, list),
            "object": isinstance(parsed, dict),
        }
        if fits[str(kind)]:
            return parsed
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")
