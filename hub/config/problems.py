"""What is wrong in a file as values, so that all of it can be told at once."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hub.config.keys import KeyPath, dotted, is_secret, names_at
from hub.core.errors import UsageError
from hub.core.team import Origin
from hub.core.text import one_line

_Error = TypeVar("_Error", bound=UsageError)
_Model = TypeVar("_Model", bound=BaseModel)

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_pattern_mismatch": "a name of letters, digits, '-' and '_'",
    "bool_type": "true or false",
    "float_type": "a number",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_KINDS = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}


class Problem(Struct, frozen=True):
    """One thing that is wrong: what, where, and what to do."""

    message: str
    where: str = ""
    """``path:line:column (key)``, as far as known."""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class BadFile(Exception):
    """A file that cannot be read at all."""

    problem: Problem


def place(origin: Origin, path: KeyPath = ()) -> str:
    """Return ``path:line (key)`` for messages."""
    return f"{origin} ({dotted(path)})" if path else str(origin)


def fault(error: type[_Error], problems: Sequence[Problem]) -> _Error:
    """Make one error of all problems found; at least one is given."""
    first = problems[0]
    if len(problems) == 1:
        return error(first.message, where=first.where, remedy=first.remedy)
    lines = [f"{len(problems)} problems:"]
    for problem in problems:
        where = f"{problem.where}: " if problem.where else ""
        text = f"{where}{problem.message}"
        lines.append("- " + text.replace("\n", "\n  "))
        if problem.remedy:
            lines.append(f"  {problem.remedy}")
    return error("\n".join(lines))


def nearest(name: str, candidates: Collection[str]) -> str:
    """Return `` Did you mean 'x'?``-style advice, or the empty text when nothing is near."""
    found = get_close_matches(name, sorted(candidates), n=1)
    return f"Did you mean {found[0]!r}?" if found else ""


def validated(
    model: type[_Model], data: object, origin_of: Callable[[KeyPath], Origin]
) -> tuple[_Model | None, list[Problem]]:
    """Validate data from a file; what is wrong comes back as problems with file and line."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        return None, [_problem(model, detail, origin_of) for detail in details]


def _problem(
    model: type[BaseModel], detail: ErrorDetails, origin_of: Callable[[KeyPath], Origin]
) -> Problem:
    path: KeyPath = detail["loc"]
    where = place(origin_of(path), path)
    if detail["type"] == "extra_forbidden":
        known = names_at(model, path[:-1])
        listed = f"Known here: {', '.join(sorted(known))}." if known else ""
        advice = nearest(str(path[-1]), known) or listed
        return Problem(f"unknown key {str(path[-1])!r}", where, advice)
    value = detail["input"]
    unquoted = detail["type"] == "string_type" and isinstance(value, bool | int | float)
    remedy = "Put the value in quotes." if unquoted else ""
    return Problem(f"expected {_expected(detail)}, got {_got(value, path)}", where, remedy)


def _expected(detail: ErrorDetails) -> str:
    context: dict[str, Any] = detail.get("ctx") or {}
    match detail["type"]:
        case "literal_error":
            return f"one of {context['expected']}"
        case "greater_than_equal":
            return f"at least {context['ge']:g}"
        case "greater_than":
            return f"more than {context['gt']:g}"
        case kind:
            return _EXPECTED.get(kind, detail["msg"].removeprefix("Value error, "))


def _got(value: object, path: KeyPath) -> str:
    if value is None:
        return "nothing"
    kind = _KINDS.get(type(value), "a mapping")
    if is_secret(path) or isinstance(value, dict | list):
        return kind
    return one_line(repr(value), 60)
