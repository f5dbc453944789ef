"""A full-text index over the tools of a catalog: SQLite FTS5, in memory, made when first asked.

Words are stemmed; names in snake and camel case are split. The rank is BM25 over weighted columns,
corrected by how well the tool's own name answers the query.
"""

import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hub.catalog.items import McpTool
from hub.catalog.ranking import (
    SHORT_FORMS,
    Name,
    Query,
    acts_of,
    merit,
    name_of,
    rarity,
    stem,
    words_of,
)

WEIGHTS = (5.0, 4.0, 4.0, 2.0, 1.0)
"""What a hit counts in name, server, title, description, arguments."""
DESCRIPTION_WORDS = 80
ARGUMENT_WORDS = 40
"""Words that are indexed; BM25 holds the length of the rest against a tool."""
CANDIDATES = 60
"""How many of the best by BM25 are ranked anew."""
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


class ToolIndex:
    """The tools of a catalog, findable by what they do. May be used from any thread."""

    def __init__(self, tools: Mapping[str, McpTool]) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._names: dict[str, Name] = {}
        self._rarity: dict[str, float] = {}

    def renew(self, tools: Mapping[str, McpTool]) -> None:
        """Hold other tools from now on."""
        with self._lock:
            self._tools, self._connection = tools, None

    def search(self, query: str) -> list[str]:
        """Return the names of tools that match, the best first; at most ``CANDIDATES``."""
        said = words_of(query)
        words = list(dict.fromkeys(word for word in said if word not in _STOP)) or said
        words = list(dict.fromkeys([*words, *(w for v in words for w in SHORT_FORMS.get(v, ()))]))
        if not words:
            return []
        with self._lock:
            found = self._filled().execute(
                f"SELECT tool, -bm25(tools, 0.0, {', '.join(map(str, WEIGHTS))}) AS score "
                "FROM tools WHERE tools MATCH ? ORDER BY score DESC, tool LIMIT ?",
                (" OR ".join(f'"{word}"' for word in words), CANDIDATES),
            )
            scores = dict(found.fetchall())
            known, rare = self._names, self._rarity
        asked = Query(tuple(dict.fromkeys(map(stem, words))), acts_of(map(stem, said)))
        best = max(scores.values(), default=1.0) or 1.0
        ranks = {
            name: score / best + merit(known[name], asked, rare) for name, score in scores.items()
        }
        return sorted(ranks, key=lambda name: (-ranks[name], name))

    def _filled(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            connection.execute(
                "CREATE VIRTUAL TABLE tools USING fts5("
                "tool UNINDEXED, name, server, title, description, arguments, "
                "tokenize = 'porter unicode61 remove_diacritics 2')"
            )
            connection.executemany(
                "INSERT INTO tools VALUES (?, ?, ?, ?, ?, ?)",
                (_row(name, tool) for name, tool in self._tools.items()),
            )
            self._names = {
                name: name_of(_own_name(tool), tool.item.server.name)
                for name, tool in self._tools.items()
            }
            self._rarity = rarity(self._names.values())
            self._connection = connection
        return self._connection


def _row(name: str, tool: McpTool) -> tuple[str, ...]:
    said, rule = tool.item.said, tool.item.rule
    description = (rule.description if rule else "") or said.description
    arguments = list(_arguments(said.input_schema))
    return (
        name,
        " ".join(words_of(_own_name(tool))),
        " ".join(words_of(tool.item.server.name)),
        said.title or str(said.annotations.get("title") or ""),
        " ".join(words_of(description)[:DESCRIPTION_WORDS]),
        " ".join(arguments[:ARGUMENT_WORDS]),
    )


def _own_name(tool: McpTool) -> str:
    """Return the server's name of a tool, and what it is called here where that is another."""
    item = tool.item
    return f"{item.name} {item.said.name}" if item.alias or item.renamed else item.said.name


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of the names, then of the descriptions of arguments."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name in properties:
        yield from words_of(str(name))
    for below in properties.values():
        if isinstance(below, Mapping) and isinstance(text := below.get("description"), str):
            yield from words_of(text)
