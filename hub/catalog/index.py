"""A full-text index over the tools of a catalog: SQLite FTS5, in memory, made when first asked.

Words are stemmed; names in snake and camel case are split. The rank is BM25 over weighted columns,
and more for each word of the query that the tool's own name holds.
"""

import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hub.catalog.items import McpTool

COLUMNS = ("name", "server", "title", "description", "arguments")
WEIGHTS = (10.0, 4.0, 6.0, 3.0, 1.0)
"""What a hit in each column counts."""
CANDIDATES = 60
"""How many of the best by BM25 are ranked again."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can could do does for from get give given has have how i if "
        "in into is it its let like me my need of off on one or our out please some something "
        "that the their them then there these this those to tool tools up us use used uses using "
        "via want was we what when where which who will with you your",
    )
)
"""Words that say nothing of a tool."""


@cache
def fts5_works() -> bool:
    """Say whether the SQLite of this Python can search texts."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(a)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words; names in snake and camel case fall into theirs."""
    return [word.lower() for word in _WORD.findall(text)]


class ToolIndex:
    """The tools of a catalog, findable by what they do. May be used from any thread."""

    def __init__(self, tools: Mapping[str, McpTool]) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def search(self, query: str) -> list[str]:
        """Return the names of tools that match, the best first; at most ``CANDIDATES``."""
        words = list(dict.fromkeys(word for word in words_of(query) if word not in _STOP))
        words = words or list(dict.fromkeys(words_of(query)))
        if not words:
            return []
        with self._lock:
            connection = self._filled()
            found = connection.execute(
                f"SELECT tool, bm25(tools, 0.0, {', '.join(map(str, WEIGHTS))}) AS rank "
                "FROM tools WHERE tools MATCH ? ORDER BY rank, tool LIMIT ?",
                (" OR ".join(f'"{word}"' for word in words), CANDIDATES),
            ).fetchall()
        return [name for name, _ in found]

    def _filled(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            connection.execute(
                f"CREATE VIRTUAL TABLE tools USING fts5(tool UNINDEXED, {', '.join(COLUMNS)}, "
                "tokenize = 'porter unicode61 remove_diacritics 2')"
            )
            connection.executemany(
                f"INSERT INTO tools VALUES (?{', ?' * len(COLUMNS)})",
                (_row(name, tool) for name, tool in self._tools.items()),
            )
            self._connection = connection
        return self._connection


def _row(name: str, tool: McpTool) -> tuple[str, ...]:
    said, rule = tool.item.said, tool.item.rule
    description = (rule.description if rule else "") or said.description
    return (
        name,
        _spaced(said.name if not tool.item.alias else f"{tool.item.alias} {said.name}"),
        _spaced(tool.item.server.name),
        said.title or str(said.annotations.get("title") or ""),
        _spaced(description),
        " ".join(_arguments(said.input_schema)),
    )


def _spaced(text: str) -> str:
    return " ".join(words_of(text))


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield names and descriptions of arguments, as far as the schema is one."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, below in properties.items():
        yield _spaced(str(name))
        if isinstance(below, Mapping) and isinstance(text := below.get("description"), str):
            yield _spaced(text)
