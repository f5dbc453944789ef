"""TOML text with the line of each of its keys.

The standard library reads the values; the lines come from a walk over the tokens, which needs to
know only what is a key, where a value ends, and which table is open.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from hub.config.documents import Document
from hub.config.keys import KeyPath
from hub.config.problems import Problem
from hub.core.text import one_line

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_TOKEN = re.compile(
    r'''
    (?P<text>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    | (?P<comment>\#[^\n]*)
    | (?P<line>\n)
    | (?P<mark>[\[\]{}=,.])
    | (?P<word>[^\s\[\]{}=,.\#"']+)
    ''',
    re.VERBOSE | re.DOTALL,
)


def parse_toml(text: str, path: str) -> Document:
    """Read TOML text; a fault comes back as a problem with line, column and text."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Document(path, problems=(_fault(str(error), text, path),))
    except RecursionError:
        return Document(path, problems=(Problem("broken TOML: nested too deeply", path),))
    return Document(path, data, _Walk(text).lines())


def _fault(message: str, text: str, path: str) -> Problem:
    match = _AT.search(message)
    reason = one_line(_AT.sub("", message))
    if match is None:
        return Problem(f"broken TOML: {reason}", path)
    line = int(match[1])
    shown = one_line((text.split("\n") + [""])[line - 1], 100)
    return Problem(f"broken TOML: {reason}\n  | {shown}", f"{path}:{line}:{match[2]}")


class _Token:
    __slots__ = ("kind", "line", "text")

    def __init__(self, kind: str, text: str, line: int) -> None:
        self.kind, self.text, self.line = kind, text, line


class _Walk:
    """Goes over the tokens of valid TOML and notes the line of each key."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._counts: dict[KeyPath, int] = {}

    def lines(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while token := self._peek():
            if token.kind == "line":
                self._at += 1
            elif token.text == "[":
                table = self._header(token.line)
            else:
                self._pair(table)
        return self._lines

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is(self, mark: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == "mark" and token.text == mark

    def _header(self, line: int) -> KeyPath:
        """Read ``[a.b]`` or ``[[a.b]]``; an element of a list of tables counts from 0."""
        opening = self._brackets("[")
        names = self._key()
        self._brackets("]")
        path: KeyPath = ()
        for index, name in enumerate(names, start=1):
            path = self._note((*path, name), line)
            if opening == 2 and index == len(names):
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = self._note((*path, self._counts[path]), line)
        return path

    def _brackets(self, mark: str) -> int:
        count = 0
        while self._is(mark):
            self._at += 1
            count += 1
        return count

    def _key(self) -> list[str]:
        """Read ``a."b c".d``."""
        names: list[str] = []
        while (token := self._peek()) and (token.kind in {"text", "word"} or token.text == "."):
            self._at += 1
            if token.kind == "word":
                names.append(token.text)
            elif token.kind == "text":
                names.append(_unquoted(token.text))
        return names

    def _pair(self, table: KeyPath) -> None:
        """Read ``key = value`` below a table."""
        line = self._tokens[self._at].line
        path = table
        for name in self._key():
            path = self._note((*path, name), line)
        self._at += 1
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip_lines()
        if self._is("{"):
            self._inline(path)
        elif self._is("["):
            self._list(path)
        else:
            # A date or a float holds marks such as '.', so a value ends at what follows it.
            while (token := self._peek()) and token.kind != "line" and token.text not in ",]}":
                self._at += 1

    def _inline(self, path: KeyPath) -> None:
        self._at += 1
        while self._skip_lines() and not self._is("}"):
            if self._is(","):
                self._at += 1
            else:
                self._pair(path)
        self._at += 1

    def _list(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while (token := self._skip_lines()) and not self._is("]"):
            if self._is(","):
                self._at += 1
                continue
            self._note((*path, index), token.line)
            self._value((*path, index))
            index += 1
        self._at += 1

    def _skip_lines(self) -> _Token | None:
        while (token := self._peek()) and token.kind == "line":
            self._at += 1
        return token

    def _note(self, path: KeyPath, line: int) -> KeyPath:
        self._lines.setdefault(path, line)
        return path


def _tokens(text: str) -> Iterator[_Token]:
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        kind = match.lastgroup or ""
        if kind != "comment":
            yield _Token(kind, match[0], line)


def _unquoted(text: str) -> str:
    found: Any = tomllib.loads(f"x = {text}")["x"]
    return str(found)
