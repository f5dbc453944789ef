"""The settings of the faulty MCP server: how a command line or a file turns its knobs."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hub.testing.faulty.registry import KNOBS, Knob

Value = str | int | float | bool
"""What a knob can hold once it is parsed."""

_SPELLING = re.compile(r"(?P<name>\w+)(?:@(?P<starts>\d*-?\d*))?(?:=(?P<value>.*))?", re.DOTALL)


class KnobError(ValueError):
    """A knob that does not exist or that cannot hold the value it was given."""


class Setting(NamedTuple):
    """One knob turned to one value, for some or all starts of the process."""

    name: str
    value: Value
    first: int = 1
    """The first start that it holds for, counted from 1."""
    last: int | None = None
    """The last start that it holds for; None is for ever."""

    def holds(self, start: int) -> bool:
        """Whether the setting is in force at this start."""
        return self.first <= start and (self.last is None or start <= self.last)


class Knobs:
    """The settings in force in one process; an absent knob means that nothing is spoiled."""

    def __init__(self, settings: Iterable[Setting] = (), start: int = 1) -> None:
        self.start = start
        """Which start of this server the process is, counted from 1."""
        self._values = {item.name: item.value for item in settings if item.holds(start)}

    def on(self, name: str) -> bool:
        """Whether the knob is turned at all."""
        value = self._value(name)
        return value is not None and value is not False

    def number(self, name: str) -> float:
        """The knob as a number; 0 when it is not turned."""
        return float(self._value(name) or 0)

    def count(self, name: str) -> int:
        """The knob as a whole number; 0 when it is not turned."""
        return int(self.number(name))

    def text(self, name: str) -> str:
        """The knob as text; empty when it is not turned."""
        value = self._value(name)
        return "" if value is None else str(value)

    def words(self, name: str) -> tuple[str, ...]:
        """The knob as a comma-separated list; empty when it is not turned."""
        return tuple(word for word in self.text(name).split(",") if word)

    def _value(self, name: str) -> Value | None:
        knob = KNOBS[name]
        return self._values.get(name, knob.always)


def parse_knob(spelled: str) -> Setting:
    """Read `NAME`, `NAME=VALUE` or `NAME@STARTS=VALUE`, where STARTS is `2`, `2-` or `1-3`.

    Raises:
        KnobError: The name is unknown, or the value or the range does not fit.
    """
    found = _SPELLING.fullmatch(spelled)
    if found is None:
        raise KnobError(f"{spelled!r} is not NAME, NAME=VALUE or NAME@STARTS=VALUE")
    return _setting(found["name"], found["starts"], found["value"])


def parse_mapping(values: Mapping[str, object]) -> list[Setting]:
    """Read the knobs of a file, `{"NAME@STARTS": VALUE}`; true stands for a knob's default.

    Raises:
        KnobError: As for `parse_knob`.
    """
    settings = []
    for key, value in values.items():
        name, _, starts = str(key).partition("@")
        if value is False or value is None:
            continue
        spelled = None if value is True else _spell(value)
        settings.append(_setting(name, starts or None, spelled))
    return settings


def _spell(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _setting(name: str, starts: str | None, value: str | None) -> Setting:
    knob = KNOBS.get(name)
    if knob is None:
        near = difflib.get_close_matches(name, KNOBS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise KnobError(f"no knob is named {name!r}; {hint}--list-knobs prints them all")
    first, last = _range(name, starts)
    return Setting(name, _fit(knob, value), first, last)


def _range(name: str, starts: str | None) -> tuple[int, int | None]:
    if starts is None:
        return 1, None
    first, dash, last = starts.partition("-")
    if not first and not last:
        raise KnobError(f"knob {name!r} needs its starts after the @, as in {name}@2 or {name}@1-3")
    lowest = int(first or 1)
    return lowest, (int(last) if last else None) if dash else lowest


def _fit(knob: Knob, value: str | None) -> Value:
    if value is None:
        if knob.default is None:
            raise KnobError(f"knob {knob.name!r} needs a value: {knob.name}={knob.takes}")
        return knob.default
    if not knob.takes:
        raise KnobError(f"knob {knob.name!r} is a switch and takes no value, not {value!r}")
    if knob.is_number:
        return _number(knob, value)
    words = value.split(",") if knob.is_list else [value]
    wrong = [word for word in words if knob.choices and word not in knob.choices]
    if wrong:
        allowed = ", ".join(knob.choices)
        raise KnobError(f"knob {knob.name!r} cannot be {wrong[0]!r}; it takes {allowed}")
    return value


def _number(knob: Knob, value: str) -> float | int:
    try:
        return float(value) if knob.takes == "SECONDS" else int(value)
    except ValueError:
        raise KnobError(
            f"knob {knob.name!r} takes {knob.takes} as a number, not {value!r}"
        ) from None
