"""From a client's file to a layer: each entry with its line, one bad entry costing only itself."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.config.clients.dialect import Around, Dialect, convert
from hub.config.documents import Document
from hub.config.keys import KeyPath
from hub.config.problems import validated
from hub.config.schema import ServerEntry
from hub.config.sources import Layer
from hub.core.team import Origin
from hub.core.text import one_line


class Taken(Struct, frozen=True):
    """What one file comes to."""

    layer: Layer
    notices: tuple[str, ...] = ()
    """What is left out, and why."""
    left_out: int = 0
    """Entries that cannot be used."""


def entries_at(document: Document, keys: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the entries below a path of keys: empty when absent, None when it is no mapping."""
    found: Any = document.data
    for key in keys:
        if not isinstance(found, dict):
            return None
        found = found.get(key, {})
    return found if isinstance(found, dict) else None


def layer_of(
    name: str, document: Document, keys: Sequence[str], dialect: Dialect, around: Around
) -> Taken:
    """Return the entries below a path of keys as a layer; there have to be a mapping there."""
    return _Taking(name, document, tuple(keys), dialect, around).taken()


class _Taking:
    def __init__(
        self, name: str, document: Document, keys: KeyPath, dialect: Dialect, around: Around
    ) -> None:
        self.name, self.document, self.keys = name, document, keys
        self.dialect, self.around = dialect, around
        self.below = self._lines()
        self.servers: dict[str, Any] = {}
        self.origins: dict[KeyPath, Origin] = {}
        self.notices: list[str] = []
        self.left_out = 0

    def taken(self) -> Taken:
        keys = [str(key) for key in self.keys]
        for given, entry in (entries_at(self.document, keys) or {}).items():
            self._take(given, entry)
        origin = Origin(self.name, self.document.path)
        layer = Layer(self.name, {"servers": self.servers}, origin, self.origins)
        return Taken(layer, tuple(self.notices), self.left_out)

    def _take(self, given: str, entry: object) -> None:
        line = self.document.lines.get((*self.keys, given), 0)
        place = Origin(self.name, self.document.path, line)
        converted = convert(entry, self.dialect, self.around)
        data, told = converted.data, converted.told
        name = server_name(given)
        if not name or name in self.servers:
            data, told = None, [f"its name comes to {name!r}, which is empty or taken"]
        if data is not None and (wrong := _wrong(data, place)):
            data, told = None, [*told, *wrong]
        state = "has " if data is not None else "is left out: "
        self.notices += [f"{place}: the server {one_line(given)!r} {state}{text}" for text in told]
        if data is None:
            self.left_out += 1
            return
        self.servers[name] = data
        self.origins["servers", name] = place
        for path, below in self.below.get(given, ()):
            ours = (self.dialect.plain(str(path[0])), *path[1:])
            origin = Origin(self.name, self.document.path, below)
            self.origins["servers", name, *ours] = origin

    def _lines(self) -> dict[str, list[tuple[KeyPath, int]]]:
        """Return the lines inside of each entry."""
        depth = len(self.keys)
        found: dict[str, list[tuple[KeyPath, int]]] = {}
        for path, line in self.document.lines.items():
            if len(path) > depth + 1 and path[:depth] == self.keys:
                found.setdefault(str(path[depth]), []).append((path[depth + 1 :], line))
        return found


def server_name(given: str) -> str:
    """Return the name that tools can carry for what another client calls a server."""
    return re.sub(r"[^A-Za-z0-9]+", lambda match: _joint(match[0]), given).strip("-_")


def _joint(text: str) -> str:
    return text if text in {"-", "_"} else "-"


def _wrong(data: Mapping[str, Any], place: Origin) -> list[str]:
    problems = validated(ServerEntry, data, lambda _: place)[1]
    return [f"{problem.where.partition(' ')[2]} {problem.message}" for problem in problems]
