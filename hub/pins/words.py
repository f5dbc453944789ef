"""Says in words what changed about a part of a server. Pure.

Every change has at least one sentence; what has no sentence of its own is told by its place.
"""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from hub.core.text import one_line
from hub.pins.canonical import DESTRUCTIVE, HINTS, Json, compact
from hub.pins.offer import Change, Kind
from hub.pins.schema_words import argument_words, schema_words
from hub.pins.visible import hidden_words, visible

NOUNS: Mapping[Kind, str] = {
    "tool": "tool",
    "prompt": "prompt",
    "prompt text": "text of the prompt",
    "template": "resource template",
    "resource": "resource",
    "instructions": "instructions",
}
_HINT_WORDS = {
    ("readOnlyHint", False): "became writable",
    ("readOnlyHint", True): "became read-only",
    ("destructiveHint", True): "became destructive",
    ("destructiveHint", False): "says that it is not destructive any more",
    ("idempotentHint", True): "says that calls may be repeated",
    ("idempotentHint", False): "says that calls may not be repeated any more",
    ("openWorldHint", True): "became open to the outside world",
    ("openWorldHint", False): "says that it keeps to a closed world now",
}
_FIRST = ("name", "uri", "title", "description", "annotations", "type", "role", "content")
_LONG = 60


def change_words(change: Change) -> list[str]:
    """Return what changed, one clause each, without the name of the part."""
    noun = NOUNS[change.kind]
    if change.what == "removed":
        return ["are gone" if change.kind == "instructions" else f"the {noun} is gone"]
    if change.what == "new" and change.copy_of:
        return [f"new: a copy of {quoted(change.copy_of)} under another name"]
    if change.what == "new":
        text = (change.now or {}).get("text" if change.kind == "instructions" else "description")
        return ["new", *_hidden("description", "", str(text or ""))]
    before, now = change.before or {}, change.now or {}
    if change.kind == "instructions":
        return list(_text_words("instructions", before["text"], now["text"]))
    if change.kind == "prompt text":
        old, new = _said(before), _said(now)
        return list(_text_words("instructions", old, new)) or ["changed"]
    return list(_part_words(before, now)) or ["changed"]


def change_line(change: Change) -> str:
    """Return the change as one printable line with the name of the part."""
    name = "instructions" if change.kind == "instructions" else f"{NOUNS[change.kind]} "
    name += quoted(change.name) if change.name else ""
    words = "; ".join(change_words(change))
    return f"{name} {words}" if words.startswith("changed: ") else f"{name}: {words}"


def why_held_back(change: Change) -> str:
    """Return why a part is not offered, on one line."""
    if change.what == "new" and not change.copy_of:
        return "new since the server was approved"
    words = "; ".join(change_words(change)).removeprefix("changed: ")
    return words if change.what == "new" else f"changed since it was approved: {words}"


def why_not_locked(change: Change) -> str:
    """Return why a part that differs from ``hub.lock`` is not offered, on one line."""
    words = "; ".join(change_words(change)).removeprefix("changed: ")
    return "not in hub.lock" if change.what == "new" else f"not as in hub.lock: {words}"


def text_diff(change: Change) -> str:
    """Return a unified diff of both forms, with hidden characters made visible."""
    lines = unified_diff(
        _lines(change.before),
        _lines(change.now),
        "approved" if change.before is not None else "(not there)",
        "now" if change.now is not None else "(gone)",
        lineterm="",
        n=2,
    )
    return "\n".join(lines)


def quoted(text: str) -> str:
    """Return a name in back quotes, on one printable line."""
    return f"`{one_line(visible(text), 100)}`"


def value_words(value: Any) -> str:
    """Return a JSON value, short and printable."""
    return one_line(visible(compact_text(value)), _LONG)


def compact_text(value: Any) -> str:
    """Return a JSON value as people read it: a text in quotes, the rest as it is written."""
    return f'"{value}"' if isinstance(value, str) else compact(value)


def _said(form: Json) -> str:
    """Return all that the messages of a prompt say."""
    contents = [part.get("content", {}) for part in form.get("messages", [])]
    return "\n".join(str(part.get("text", "")) for part in contents if isinstance(part, Mapping))


def _part_words(before: Json, now: Json) -> Iterator[str]:
    told = {"annotations", "inputSchema", "outputSchema", "description", "arguments"}
    yield from _hint_words(before.get("annotations", {}), now.get("annotations", {}))
    if "inputSchema" in before or "inputSchema" in now:
        yield from argument_words(before.get("inputSchema", {}), now.get("inputSchema", {}))
    yield from _prompt_argument_words(before.get("arguments", []), now.get("arguments", []))
    yield from _text_words("description", before.get("description", ""), now.get("description", ""))
    if (old := before.get("outputSchema")) != (new := now.get("outputSchema")):
        if old is None or new is None:
            yield f"output schema {'is new' if old is None else 'is gone'}"
        else:
            yield from (f"output schema: {words}" for words in schema_words(old, new))
    for key in sorted({*before, *now} - told):
        if compact(before.get(key)) != compact(now.get(key)):
            yield _value_change(key, before.get(key), now.get(key))


def _hint_words(before: Json, now: Json) -> Iterator[str]:
    for hint, default in HINTS.items():
        old, new = before.get(hint, default), now.get(hint, default)
        if hint == DESTRUCTIVE and hint in before and hint not in now and old is True is new:
            yield f"no longer says that it may destroy something ({hint} true is gone)"
        if compact(old) == compact(new):
            continue
        words = _HINT_WORDS.get((hint, new)) if isinstance(new, bool) else None
        yield f"{words or f'changed {hint}'} ({hint} {value_words(old)} → {value_words(new)})"
    for key in sorted({*before, *now} - set(HINTS)):
        if compact(before.get(key)) != compact(now.get(key)):
            yield _value_change(f"annotations.{key}", before.get(key), now.get(key))


def _prompt_argument_words(before: list[Any], now: list[Any]) -> Iterator[str]:
    old, new = _by_name(before), _by_name(now)
    for name in new:
        required = "required " if _is_required(new[name]) else ""
        if name not in old:
            yield f"new {required}argument {quoted(name)}"
        elif compact(old[name]) != compact(new[name]):
            if _is_required(old[name]) != _is_required(new[name]):
                words = "is required now" if required else "is not required any more"
                yield f"argument {quoted(name)} {words}"
            else:
                yield f"argument {quoted(name)} is described otherwise"
    yield from (f"argument {quoted(name)} is gone" for name in old if name not in new)
    if compact(before) != compact(now) and old == new:
        yield "arguments stand in another order, or twice"


def _by_name(arguments: list[Any]) -> dict[str, Any]:
    return {
        str(part.get("name")) if isinstance(part, Mapping) else compact(part): part
        for part in arguments
    }


def _is_required(argument: Any) -> bool:
    return isinstance(argument, Mapping) and bool(argument.get("required"))


def _text_words(what: str, before: str, now: str) -> Iterator[str]:
    if before == now:
        return
    verb = "gained", "lost"
    if what == "instructions":
        yield f"changed: {_growth(before, now, verb)}"
    elif not before:
        yield f"{what} is new"
    elif not now:
        yield f"{what} is gone"
    else:
        yield f"{what} {_growth(before, now, verb)}"
    yield from _hidden(what, before, now)


def _growth(before: str, now: str, verb: tuple[str, str]) -> str:
    grown = len(now.split()) - len(before.split())
    if not grown:
        return "reads otherwise"
    return f"{verb[grown < 0]} {abs(grown)} word{'s' if abs(grown) != 1 else ''}"


def _hidden(what: str, before: str, now: str) -> Iterator[str]:
    found = hidden_words(now)
    if found and found != hidden_words(before):
        yield f"{what} holds hidden characters ({found})"


def _value_change(place: str, before: Any, now: Any) -> str:
    if before is None:
        return f"{place} is new: {value_words(now)}"
    if now is None:
        return f"{place} is gone"
    return f"{place} {value_words(before)} → {value_words(now)}"


def _place(item: tuple[str, Any]) -> tuple[int, str]:
    """Return where a part stands in the text: what people read first comes first."""
    key = item[0]
    return (_FIRST.index(key) if key in _FIRST else len(_FIRST), key)


def _lines(form: Json | None) -> list[str]:
    """Return a form as lines: one for each value, and one for each line of a text."""
    return [] if form is None else list(_tree(form, ""))


def _tree(value: Any, indent: str, name: str = "") -> Iterator[str]:
    head = f"{indent}{visible(name).replace(chr(10), ' ')}: " if name else indent
    match value:
        case str() if "\n" in value:
            yield head.rstrip()
            yield from (f"{indent}  {line}" for line in visible(value).split("\n"))
        case Mapping() if value:
            if name:
                yield head.rstrip()
            for key, below in sorted(value.items(), key=_place):
                yield from _tree(below, indent + ("  " if name else ""), str(key))
        case list() if value and any(isinstance(item, Mapping | list) for item in value):
            yield head.rstrip()
            for item in value:
                yield from _tree(item, f"{indent}  ", "-")
        case str():
            yield f"{head}{visible(value)}"
        case _:
            yield f"{head}{visible(compact_text(value))}"
