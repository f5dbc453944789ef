"""YAML text as plain values that remember their lines, and every fault with its place.

Only plain data is read. A file that is too big, nests too deeply or unfolds to too much through
its aliases is refused, since a project's files come from strangers.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field
from yaml.constructor import SafeConstructor

from hub.config.keys import KeyPath
from hub.config.problems import BadFile, Problem
from hub.core.text import one_line

MAX_BYTES = 1_000_000
"""Size of the largest file that is read."""
MAX_NODES = 20_000
"""Number of values that one file may unfold to."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTRUCTOR = SafeConstructor()
_TAG = "tag:yaml.org,2002:"
_BLOCK = re.compile(r"(?m)^[^\s#\-\[\]{},&*!|>%@`][^\n:]*:(?=\s|$)")
_SCALARS = {
    f"{_TAG}int": _CONSTRUCTOR.construct_yaml_int,
    f"{_TAG}float": _CONSTRUCTOR.construct_yaml_float,
    f"{_TAG}bool": _CONSTRUCTOR.construct_yaml_bool,
    f"{_TAG}null": _CONSTRUCTOR.construct_yaml_null,
}
_MERGE = f"{_TAG}merge"
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_TEXT_TAGS = (f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}value")


class Document(Struct, frozen=True):
    """One file's data and the line of each of its values."""

    path: str
    data: Any = None
    """Mappings with text as keys, lists and scalars; None for an empty file."""
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    """Line of each key and list item, from 1."""
    problems: tuple[Problem, ...] = ()
    """What could not be read; the data holds the rest."""


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """Return a file's text, without a byte order mark and with plain line ends.

    Raises:
        BadFile: it is missing, unreadable, no regular file, too big or not UTF-8.
    """
    where = str(path)
    try:
        # A pipe or a terminal would be waited for, so nothing is opened in a way that waits.
        with os.fdopen(os.open(path, _OPEN), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadFile(Problem("it is a folder, device or pipe, not a file", where))
            content = file.read(limit + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BadFile(Problem(f"cannot read the file: {reason}", where)) from None
    if len(content) > limit:
        raise BadFile(Problem(f"the file is larger than {limit:,} bytes", where))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFile(
            Problem("the file is not UTF-8 text", f"{where}:{line}", "Save it as UTF-8.")
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_yaml(text: str, path: str, *, first_line: int = 1) -> Document:
    """Read YAML text; faults come back as problems, each with line, column and text.

    After a fault each top-level key is read by itself, so that the faults behind the first and
    the keys without fault are found as well.
    """
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, RecursionError) as error:
        return _recovered(text, path, first_line, _fault(error, text, path, first_line))
    return _document(node, path, first_line)


def _document(node: yaml.Node | None, path: str, first_line: int) -> Document:
    if node is None:
        return Document(path)
    reader = _Reader(path, first_line)
    data = reader.value(node, ())
    return Document(path, data, reader.lines, tuple(reader.problems))


def _recovered(text: str, path: str, first_line: int, fault: Problem) -> Document:
    data: dict[str, Any] = {}
    lines: dict[KeyPath, int] = {}
    problems: list[Problem] = []
    for line, block in _blocks(text):
        try:
            node = yaml.compose(block, Loader=_LOADER)
        except (yaml.YAMLError, RecursionError) as error:
            problems.append(_fault(error, block, path, first_line + line))
            continue
        part = _document(node, path, first_line + line)
        problems += part.problems
        if isinstance(part.data, dict):
            data |= part.data
            lines |= part.lines
    if not problems:
        return Document(path, problems=(fault,))
    return Document(path, data, lines, tuple(problems))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    starts = [match.start() for match in _BLOCK.finditer(text)]
    if starts and text[: starts[0]].strip():
        starts.insert(0, 0)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        yield text.count("\n", 0, start), text[start:end]


def _fault(error: Exception, text: str, path: str, first_line: int) -> Problem:
    shown = [*text.split("\n"), ""]
    reason, (line, column) = one_line(str(getattr(error, "reason", "nested too deeply"))), (0, 0)
    if isinstance(error, yaml.MarkedYAMLError):
        reason = " ".join(filter(None, (error.context, error.problem)))
        marks = [mark for mark in (error.problem_mark, error.context_mark) if mark]
        places = [(min(mark.line, len(shown) - 1), mark.column) for mark in marks]
        telling = (place for place in places if shown[place[0]].strip())
        line, column = next(telling, (0, 0))
    elif isinstance(position := getattr(error, "position", None), int):
        before = text.encode()[:position].decode(errors="ignore")
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
    excerpt = f"\n  | {one_line(shown[line], 100)}" if shown[line].strip() else ""
    remedy = "Text that begins with '*' has to stand in quotes." if "alias" in reason else ""
    where = f"{path}:{line + first_line}:{column + 1}"
    return Problem(f"broken YAML: {reason}{excerpt}", where, remedy)


class _Reader:
    """Turns the nodes of one file into values, and notes their lines."""

    def __init__(self, path: str, first_line: int) -> None:
        self.path = path
        self.first_line = first_line
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        """Return a node's value; what cannot be read becomes None and a problem."""
        self._count += 1
        if self._count > MAX_NODES:
            if self._count == MAX_NODES + 1:
                self._complain(node, f"the file unfolds to more than {MAX_NODES:,} values")
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            self._complain(node, "an alias stands inside of what it refers to")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return self._list(node, path)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        construct = _SCALARS.get(node.tag)
        if construct is None:
            if node.tag not in _TEXT_TAGS:
                self._complain(node, f"the tag {node.tag!r} is not supported")
            return node.value
        if ":" in node.value:
            return node.value
        try:
            return construct(node)
        except ValueError:
            return node.value

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merged = self._merge(value_node, path) | merged
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self._complain(key_node, "a key must be plain text")
                continue
            key = key_node.value
            line = self.first_line + key_node.start_mark.line
            if key in found:
                first = self.lines[*path, key]
                self._complain(
                    key_node, f"the key {key!r} stands here twice, first in line {first}"
                )
            self.lines[*path, key] = line
            found[key] = self.value(value_node, (*path, key))
        return merged | found

    def _merge(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in sources:
            value = self.value(source, path)
            if isinstance(value, dict):
                merged = value | merged
            else:
                self._complain(source, "only a mapping can be merged with '<<'")
        return merged

    def _list(self, node: yaml.Node, path: KeyPath) -> list[Any]:
        items: list[Any] = []
        for index, item in enumerate(node.value):
            self.lines[*path, index] = self.first_line + item.start_mark.line
            items.append(self.value(item, (*path, index)))
        return items

    def _complain(self, node: yaml.Node, message: str) -> None:
        mark = node.start_mark
        where = f"{self.path}:{mark.line + self.first_line}:{mark.column + 1}"
        self.problems.append(Problem(message, where))
