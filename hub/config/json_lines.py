"""JSON text with the line of each of its keys.

JSON is not read as YAML, since the two differ in tabs, escapes and surrogates.
"""

import json
import re
from typing import Any

from hub.config.documents import Document
from hub.config.keys import KeyPath
from hub.config.problems import Problem
from hub.core.text import one_line

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def parse_json(text: str, path: str) -> Document:
    """Read JSON text; a fault comes back as a problem with line, column and text."""
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as error:
        shown = one_line((text.split("\n") + [""])[error.lineno - 1], 100)
        where = f"{path}:{error.lineno}:{error.colno}"
        return Document(path, problems=(Problem(f"broken JSON: {error.msg}\n  | {shown}", where),))
    except RecursionError:
        return Document(path, problems=(Problem("broken JSON: nested too deeply", path),))
    except ValueError as error:
        return Document(path, problems=(Problem(f"broken JSON: {error}", path),))
    lines, twice = _lines(text)
    problems = tuple(
        Problem(f"the key {key[-1]!r} stands here twice, first in line {lines[key]}", f"{path}:{n}")
        for key, n in twice
    )
    return Document(path, data, lines, problems)


def _lines(text: str) -> tuple[dict[KeyPath, int], list[tuple[KeyPath, int]]]:
    """Walk the tokens of valid JSON; return the line of each key and item, and repeated keys."""
    lines: dict[KeyPath, int] = {}
    twice: list[tuple[KeyPath, int]] = []
    path: list[str | int] = []
    line, seen = 1, 0
    key: str | None = None
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        token = match[0]
        if path and isinstance(path[-1], int) and token not in "]},:":
            lines.setdefault(tuple(path), line)
        if token in "{[":
            path.append("" if token == "{" else 0)
        elif token in "}]":
            path.pop()
        elif token == "," and isinstance(path[-1], int):
            path[-1] += 1
        elif token == ":" and key is not None:
            path[-1] = key
            if tuple(path) in lines:
                twice.append((tuple(path), line))
            lines.setdefault(tuple(path), line)
        elif token.startswith('"') and path and isinstance(path[-1], str):
            key = json.loads(token)
    return lines, twice
