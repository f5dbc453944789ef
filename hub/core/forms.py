"""A form that a server wants filled in: its fields, and what may stand in them. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from math import isfinite
from typing import Any, Literal, NamedTuple

from msgspec import Struct

FieldKind = Literal["text", "number", "integer", "switch", "choice", "choices"]
Value = str | int | float | bool | list[str]
"""What a field can hold."""

YES = frozenset({"y", "yes", "true", "1", "on"})
NO = frozenset({"n", "no", "false", "0", "off"})
_SECRET = re.compile(
    r"passw|secret|token|api.?key|credential|private.?key|\bpin\b|\bcvv?\b", re.IGNORECASE
)
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


class Choice(NamedTuple):
    """One of the values that a field can have."""

    value: str
    label: str


class FormField(Struct, frozen=True):
    """One field of a form."""

    name: str
    kind: FieldKind = "text"
    title: str = ""
    description: str = ""
    required: bool = False
    default: Value | None = None
    choices: tuple[Choice, ...] = ()
    least: float | None = None
    """Smallest number, length of a text, or count of choices."""
    most: float | None = None
    format: str = ""
    """``email``, ``uri``, ``date`` or ``date-time``; others are not checked."""

    @property
    def secret(self) -> bool:
        """Say whether it seems to ask for something that no form should ask for."""
        words = f"{self.name} {self.title} {self.description}".replace("_", " ")
        return self.kind == "text" and (
            self.format == "password" or _SECRET.search(words) is not None
        )

    def problem(self, value: Any) -> str:
        """Say what is wrong with a value, as a sentence without a subject; empty for nothing."""
        match self.kind:
            case "text":
                return _text_problem(self, value)
            case "number" | "integer":
                return _number_problem(self, value)
            case "switch":
                return "" if isinstance(value, bool) else "has to be yes or no"
            case "choice":
                return _choice_problem(self, [value])
            case "choices":
                return _choices_problem(self, value)

    def read(self, typed: str) -> Value:
        """Return the value that a person typed.

        Choices are given by their number, counted from 1, by value or by label; several of them
        with commas between.

        Raises:
            ValueError: it cannot be in this field; the message says why.
        """
        value = self._parsed(typed.strip())
        if problem := self.problem(value):
            raise ValueError(problem)
        return value

    def _parsed(self, typed: str) -> Value:
        match self.kind:
            case "text":
                return typed
            case "integer":
                return _number(typed, int, "has to be a whole number")
            case "number":
                return _number(typed, float, "has to be a number")
            case "switch":
                return _switch(typed)
            case "choice":
                return _chosen(self, typed)
            case "choices":
                return [_chosen(self, part.strip()) for part in typed.split(",") if part.strip()]


def form_problems(fields: Sequence[FormField], content: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with a filled-in form, one line for each field; empty for nothing."""
    known = {field.name for field in fields}
    problems = [f"{name!r} is no field of the form" for name in content if name not in known]
    for field in fields:
        if field.name not in content:
            if field.required:
                problems.append(f"{field.name!r} is missing")
        elif problem := field.problem(content[field.name]):
            problems.append(f"{field.name!r} {problem}")
    return problems


def _number(typed: str, kind: type[int] | type[float], problem: str) -> int | float:
    try:
        return kind(typed)
    except ValueError:
        raise ValueError(problem) from None


def _switch(typed: str) -> bool:
    if typed.lower() in YES:
        return True
    if typed.lower() in NO:
        return False
    raise ValueError("has to be yes or no")


def _chosen(field: FormField, typed: str) -> str:
    for choice in field.choices:
        if typed == choice.value:
            return choice.value
    if typed.isdecimal() and 1 <= int(typed) <= len(field.choices):
        return field.choices[int(typed) - 1].value
    for choice in field.choices:
        if typed.lower() in {choice.value.lower(), choice.label.lower()}:
            return choice.value
    raise ValueError(f"has to be one of the numbers 1 to {len(field.choices)}")


def _text_problem(field: FormField, value: Any) -> str:
    if not isinstance(value, str):
        return "has to be text"
    if field.least is not None and len(value) < field.least:
        return f"needs at least {field.least:g} characters"
    if field.most is not None and len(value) > field.most:
        return f"may have at most {field.most:g} characters"
    return _format_problem(field.format, value)


def _format_problem(form: str, value: str) -> str:
    try:
        match form:
            case "email":
                return "" if _MAIL.fullmatch(value) else "has to be an e-mail address"
            case "uri":
                return "" if _ADDRESS.fullmatch(value) else "has to be an address with a scheme"
            case "date":
                date.fromisoformat(value)
            case "date-time":
                datetime.fromisoformat(value)
    except ValueError:
        example = "2026-07-28" if form == "date" else "2026-07-28T12:00:00Z"
        return f"has to be a {form} such as {example}"
    return ""


def _number_problem(field: FormField, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return "has to be a number"
    if field.kind == "integer" and value != int(value):
        return "has to be a whole number"
    if field.least is not None and value < field.least:
        return f"has to be {field.least:g} or more"
    if field.most is not None and value > field.most:
        return f"has to be {field.most:g} or less"
    return ""


def _choice_problem(field: FormField, values: Sequence[Any]) -> str:
    allowed = [choice.value for choice in field.choices]
    strange = [value for value in values if value not in allowed]
    return f"has to be one of {', '.join(allowed)}" if strange else ""


def _choices_problem(field: FormField, value: Any) -> str:
    if not isinstance(value, list | tuple):
        return "has to be a list"
    if field.least is not None and len(value) < field.least:
        return f"needs at least {field.least:g} of them"
    if field.most is not None and len(value) > field.most:
        return f"may have at most {field.most:g} of them"
    return _choice_problem(field, value)
