"""Says in words what changed in a JSON Schema, above all in the arguments of a tool. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from hub.core.text import one_line
from hub.pins.canonical import compact
from hub.pins.visible import hidden_words, visible

_SHORT = 60
MOST = 20
"""Sentences about one schema; the text form has the rest."""


def argument_words(before: Any, now: Any) -> list[str]:
    """Return what changed about the arguments of a tool, one clause each."""
    return _bounded(_object_words(before, now, ""))


def schema_words(before: Any, now: Any) -> list[str]:
    """Return what changed in a schema, one clause each."""
    return _bounded(_object_words(before, now, "", noun="member"))


def _bounded(found: Iterator[str]) -> list[str]:
    words = list(found)
    more = len(words) - MOST
    return words if more <= 0 else [*words[:MOST], f"and {more} more changes"]


def _object_words(before: Any, now: Any, place: str, noun: str = "argument") -> Iterator[str]:
    """Tell of members, then of everything else that stands beside them."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        if compact(before) != compact(now):
            yield f"{place or 'the schema'} {_value(before)} → {_value(now)}"
        return
    old, new = _map(before.get("properties")), _map(now.get("properties"))
    needed_before, needed = _names(before.get("required")), _names(now.get("required"))
    for name in new:
        shown = _quoted(f"{place}{name}")
        if name not in old:
            yield f"new {'required' if name in needed else 'optional'} {noun} {shown}"
            yield from _hidden(f"{noun} {shown}", "", _described(new[name]))
            continue
        if (name in needed) != (name in needed_before):
            yield f"{noun} {shown} is {'required now' if name in needed else 'optional now'}"
        yield from _member_words(old[name], new[name], f"{place}{name}", noun)
    yield from (f"{noun} {_quoted(place + name)} is gone" for name in old if name not in new)
    strange = (needed ^ needed_before) - set(old) - set(new)
    if strange:
        yield f"required names {_value(sorted(needed_before))} → {_value(sorted(needed))}"
    yield from _other_words(before, now, place, {"properties", "required"})


def _member_words(before: Any, now: Any, place: str, noun: str) -> Iterator[str]:
    if compact(before) == compact(now):
        return
    shown = _quoted(place)
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        yield f"{noun} {shown} {_value(before)} → {_value(now)}"
        return
    told = {"description", "enum", "default", "type"}
    if before.get("type") != now.get("type"):
        yield f"type of {shown} {_value(before.get('type'))} → {_value(now.get('type'))}"
    yield from _enum_words(before, now, shown)
    if "default" in before or "default" in now:
        yield from _default_words(before, now, shown)
    old, new = before.get("description", ""), now.get("description", "")
    if old != new:
        grown = len(str(new).split()) - len(str(old).split())
        words = f"{'gained' if grown > 0 else 'lost'} {abs(grown)} words" if grown else "changed"
        yield f"description of {shown} {words}"
        yield from _hidden(f"description of {shown}", str(old), str(new))
    yield from _object_words(
        {key: part for key, part in before.items() if key not in told},
        {key: part for key, part in now.items() if key not in told},
        f"{place}.",
        noun,
    )


def _enum_words(before: Mapping[str, Any], now: Mapping[str, Any], shown: str) -> Iterator[str]:
    old, new = before.get("enum"), now.get("enum")
    if compact(old) == compact(new):
        return
    if not isinstance(old, list) or not isinstance(new, list):
        yield f"allowed values of {shown} {_value(old)} → {_value(new)}"
        return
    was, is_now = {compact(value) for value in old}, {compact(value) for value in new}
    if added := [value for value in new if compact(value) not in was]:
        yield f"{shown} may now be {', '.join(_value(value) for value in added[:5])}"
    if gone := [value for value in old if compact(value) not in is_now]:
        yield f"{shown} may not be {', '.join(_value(value) for value in gone[:5])} any more"
    if not added and not gone:
        yield f"allowed values of {shown} stand in another order"


def _default_words(before: Mapping[str, Any], now: Mapping[str, Any], shown: str) -> Iterator[str]:
    if "default" not in before:
        yield f"default of {shown} is new: {_value(now['default'])}"
    elif "default" not in now:
        yield f"default of {shown} ({_value(before['default'])}) is gone"
    elif compact(before["default"]) != compact(now["default"]):
        yield f"default of {shown} {_value(before['default'])} → {_value(now['default'])}"


def _other_words(
    before: Mapping[str, Any], now: Mapping[str, Any], place: str, told: set[str]
) -> Iterator[str]:
    for key in sorted({*before, *now} - told):
        if key in before and key in now and compact(before[key]) == compact(now[key]):
            continue
        where = f"{key} of {_quoted(place.removesuffix('.'))}" if place else key
        if key not in before:
            yield f"{where} is new: {_value(now[key])}"
        elif key not in now:
            yield f"{where} ({_value(before[key])}) is gone"
        else:
            yield f"{where} {_value(before[key])} → {_value(now[key])}"


def _hidden(what: str, before: str, now: str) -> Iterator[str]:
    found = hidden_words(now)
    if found and found != hidden_words(before):
        yield f"{what} holds hidden characters ({found})"


def _described(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _quoted(text: str) -> str:
    return f"`{one_line(visible(text), 100)}`"


def _value(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else compact(value)
    return one_line(visible(text), _SHORT)
