"""Changes to the text of a YAML file that leave every other character as it is. Pure.

The file is not written anew from its data: the place of an entry is found in the text, and only
there something is put in or taken out. Whether the outcome is what was meant is for the caller to
check, since YAML has forms that nobody foresees.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import yaml
from msgspec import Struct, field

SECTION = "servers"
STEP = 2
"""Columns by which an entry is indented where the file shows no other way."""


class CannotEdit(Exception):
    """The file has a form in which the place cannot be found; the text says which."""


class Span(Struct):
    """One value in the text."""

    kind: Literal["text", "alias", "map", "list"]
    start: int
    """Offset of its first character."""
    end: int
    """Offset behind its last one; comments and empty lines do not belong to it."""
    column: int
    value: str = ""
    """What a text says."""
    flow: bool = False
    """It is written in braces or brackets."""
    pairs: list[tuple["Span", "Span"]] = field(default_factory=list)
    """Keys and values of a mapping."""

    def find(self, key: str) -> int:
        """Return the position of a key among the pairs, or -1."""
        found = (i for i, (name, _) in enumerate(self.pairs) if name.value == key)
        return next(found, -1)


def with_server(text: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text with a server added, or replaced where one of this name stands.

    Raises:
        CannotEdit: the file has a form in which the place cannot be found.
    """
    root = _read(text)
    if root is None:
        return _appended(text, len(text), _block({SECTION: {name: entry}}, 0))
    if root.kind != "map":
        raise CannotEdit("the file is no mapping")
    at = root.find(SECTION)
    if at < 0:
        return _inserted(text, root, {SECTION: {name: entry}})
    key, servers = root.pairs[at]
    if servers.kind == "map" and servers.pairs:
        index = servers.find(name)
        if index < 0:
            return _inserted(text, servers, {name: entry})
        return _replaced(text, servers, index, {name: entry})
    if servers.kind == "map" or (servers.kind == "text" and servers.value in _NULLS):
        return _filled(text, root, key, servers, {name: entry})
    raise CannotEdit(f"{SECTION!r} is no mapping of its own")


def without_server(text: str, name: str) -> str:
    """Return the text without a server.

    Raises:
        CannotEdit: it is not there, or the file has a form in which the place cannot be found.
    """
    root = _read(text)
    at = root.find(SECTION) if root is not None else -1
    if root is None or at < 0 or (index := root.pairs[at][1].find(name)) < 0:
        raise CannotEdit(f"there is no server {name!r}")
    servers = root.pairs[at][1]
    key, value = servers.pairs[index]
    if not servers.flow:
        start = _line_start(text, key.start)
        if text[start : key.start].strip(" "):
            raise CannotEdit(f"the server {name!r} does not begin a line")
        return text[:start] + text[_line_end(text, value.end) :]
    if index + 1 < len(servers.pairs):
        return text[: key.start] + text[servers.pairs[index + 1][0].start :]
    if index:
        return text[: servers.pairs[index - 1][1].end] + text[value.end :]
    return text[: key.start] + _COMMA.sub("", text[value.end :], count=1)


def lines_for(name: str, entry: Mapping[str, Any], newline: str = "\n") -> str:
    """Return the lines of a server as they stand below ``servers:``, to be shown or pasted."""
    return _block({SECTION: {name: entry}}, 0).replace("\n", newline)


_COMMA = re.compile(r"\A\s*,")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


def _inserted(text: str, mapping: Span, pair: Mapping[str, Any]) -> str:
    """Put a pair behind the last one of a mapping."""
    if mapping.flow:
        if not mapping.pairs:
            return f"{text[: mapping.start]}{{{_flow(pair)}}}{text[mapping.end :]}"
        end = mapping.pairs[-1][1].end
        return f"{text[:end]}, {_flow(pair)}{text[end:]}"
    return _appended(text, mapping.end, _block(pair, mapping.column))


def _replaced(text: str, mapping: Span, index: int, pair: Mapping[str, Any]) -> str:
    key, value = mapping.pairs[index]
    if mapping.flow:
        return text[: key.start] + _flow(pair) + text[value.end :]
    fresh = _block(pair, key.column)[key.column :].replace("\n", _newline(text))
    end = value.end
    if text[end - 1 : end] != "\n":
        fresh = fresh.removesuffix(_newline(text))
    return text[: key.start] + fresh + text[end:]


def _filled(text: str, root: Span, key: Span, value: Span, pair: Mapping[str, Any]) -> str:
    """Put the first pair into an empty section, behind whatever comment stands on its line."""
    if root.flow:
        fresh = f"{{{_flow(pair)}}}"
        space = "" if text[: value.start].endswith(" ") else " "
        return text[: value.start] + space + fresh + text[value.end :]
    end = _line_end(text, value.end)
    rest = text[value.end : end]
    before = text[: value.start]
    kept = before + rest
    if value.start != value.end:
        kept = before.rstrip(" ") + (f" {rest.lstrip(' ')}" if rest.strip() else rest)
    return _appended(kept + text[end:], len(kept), _block(pair, key.column + STEP))


def _appended(text: str, at: int, block: str) -> str:
    """Put whole lines behind the line in which an offset is."""
    newline = _newline(text)
    end = _line_end(text, at)
    gap = newline if end and text[end - 1] not in "\r\n" else ""
    return text[:end] + gap + block.replace("\n", newline) + text[end:]


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _line_end(text: str, at: int) -> int:
    """Return the offset behind a line; an offset at its very beginning ends the line before."""
    if at and text[at - 1] in "\r\n":
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


class _Dumper(yaml.SafeDumper):
    """Writes lists on one line, and texts of several lines with their escapes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    style = '"' if any(mark in data for mark in "\n\r\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(list, _list)
_Dumper.add_representer(str, _text)


def _block(data: Mapping[str, Any], column: int) -> str:
    text = yaml.dump(
        _plain(data),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=float("inf"),
        indent=STEP,
    )
    return "".join(f"{' ' * column}{line}\n" for line in text.splitlines())


def _flow(pair: Mapping[str, Any]) -> str:
    return json.dumps(_plain(pair), ensure_ascii=True)[1:-1]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _read(text: str) -> Span | None:
    """Return the only document of a text; None when it holds nothing.

    Raises:
        CannotEdit: it is broken, or there are several.
    """
    try:
        events = [
            event
            for event in yaml.parse(text, Loader=yaml.SafeLoader)
            if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent | yaml.DocumentStartEvent)
        ]
    except (yaml.YAMLError, RecursionError):
        raise CannotEdit("the file is broken") from None
    count = sum(isinstance(event, yaml.DocumentStartEvent) for event in events)
    if count > 1:
        raise CannotEdit("the file holds several documents")
    nodes = iter(event for event in events if not isinstance(event, yaml.DocumentStartEvent))
    first = next(nodes, None)
    if first is None:
        return None
    try:
        root = _span(first, nodes)
    except RecursionError:
        raise CannotEdit("the file nests too deeply") from None
    return None if root.kind == "text" and not root.value else root


def _span(event: Any, events: Iterator[Any]) -> Span:
    start, end = event.start_mark, event.end_mark
    if isinstance(event, yaml.ScalarEvent):
        return Span("text", start.index, end.index, start.column, value=event.value)
    if not isinstance(event, yaml.CollectionStartEvent):
        return Span("alias", start.index, end.index, start.column)
    is_map = isinstance(event, yaml.MappingStartEvent)
    span = Span("map" if is_map else "list", start.index, end.index, start.column)
    span.flow = bool(event.flow_style)
    for inner in events:
        end = inner.end_mark
        if isinstance(inner, yaml.CollectionEndEvent):
            span.end = end.index if span.flow else span.end
            break
        first = _span(inner, events)
        second = _span(next(events), events) if is_map else first
        if is_map:
            span.pairs.append((first, second))
        if not span.flow:
            span.end = max(span.end, second.end)
    return span
