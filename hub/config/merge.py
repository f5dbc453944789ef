"""Layers of settings folded into one, with the origin of each value and what it shadowed. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from hub.config.keys import KeyPath, dotted, is_mapping, type_at
from hub.config.layer_names import FOREIGN_LAYERS
from hub.config.schema import Settings
from hub.config.sources import Layer
from hub.core.team import Origin

KINDS = ("command", "url", "bundled")
"""What a server entry is; a layer that says it anew replaces the entry of the layers below."""
ADDED = frozenset(("permissions", effect) for effect in ("allow", "ask", "deny"))
"""Lists to which each layer adds."""


ENTRY = 2
"""Length of the path of a model or server entry; an empty one is kept, since it has a name."""


NOT_SETTINGS = FOREIGN_LAYERS - {"project", "local"}
"""Layers out of files that are not ours; who replaces one of their servers is told so."""


class Shadowed(Struct, frozen=True):
    """A value that a higher layer hides."""

    value: Any
    origin: Origin


class Leaf(Struct, frozen=True):
    """One value of the settings, where it comes from and what it hides."""

    value: Any
    origin: Origin
    shadowed: tuple[Shadowed, ...] = ()
    """From the nearest layer below to the lowest."""


class Merged(Struct, frozen=True):
    """The outcome of folding layers."""

    data: dict[str, Any]
    leaves: Mapping[KeyPath, Leaf]
    notices: tuple[str, ...]


def merge(layers: Iterable[Layer]) -> Merged:
    """Fold layers, lowest first: scalars override, maps merge per key, permission rules add up."""
    fold = _Fold()
    for layer in layers:
        fold.add(layer)
    return Merged(_nested(fold.leaves), fold.leaves, tuple(fold.notices))


class _Fold:
    def __init__(self) -> None:
        self.leaves: dict[KeyPath, Leaf] = {}
        self.notices: list[str] = []

    def add(self, layer: Layer) -> None:
        for name in layer.data.get("servers", {}):
            self._make_way(layer, ("servers", name))
        self._walk(layer, (), layer.data)

    def _walk(self, layer: Layer, path: KeyPath, value: Any) -> None:
        if path in ADDED:
            taken = sum(1 for key in self.leaves if key[:-1] == path)
            for index, item in enumerate(value):
                origin = layer.origin_of((*path, index))
                self.leaves[*path, taken + index] = Leaf(item, origin)
        elif isinstance(value, Mapping) and is_mapping(type_at(Settings, path)):
            if not value and len(path) == ENTRY:
                self.leaves.setdefault(path, Leaf({}, layer.origin_of(path)))
            for key, below in value.items():
                self._walk(layer, (*path, key), below)
        else:
            self._set(path, value, layer.origin_of(path))

    def _set(self, path: KeyPath, value: Any, origin: Origin) -> None:
        entry = path[:ENTRY]
        if path != entry and entry in self.leaves:
            del self.leaves[entry]
        hidden = self.leaves.get(path)
        shadowed: tuple[Shadowed, ...] = ()
        if hidden is not None:
            shadowed = (Shadowed(hidden.value, hidden.origin), *hidden.shadowed)
        self.leaves[path] = Leaf(value, origin, shadowed)

    def _make_way(self, layer: Layer, path: KeyPath) -> None:
        """Drop what lower layers say of a server that this layer defines anew."""
        entry = layer.data["servers"][path[1]]
        if not any(entry.get(kind) for kind in KINDS):
            return
        below = [key for key in self.leaves if key[:2] == path]
        lost = [self.leaves[key].origin for key in below]
        origin = next((one for one in lost if one.layer in NOT_SETTINGS), None)
        if origin is not None and not self._says_the_same(layer, path, below):
            self.notices.append(
                f"The server {path[1]!r} of {origin} is not used: "
                f"{_described(layer.origin_of(path))} has one of the same name."
            )
        for key in below:
            if key[2:] and key[2] not in entry:
                del self.leaves[key]

    def _says_the_same(self, layer: Layer, path: KeyPath, below: list[KeyPath]) -> bool:
        """Say whether a server that two clients list is one and the same."""
        given = dict(_flat(layer.data["servers"][path[1]], path))
        return given == {key: self.leaves[key].value for key in below}


def _flat(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, Mapping) and value and is_mapping(type_at(Settings, path)):
        for key, below in value.items():
            yield from _flat(below, (*path, key))
    else:
        yield path, value


def _described(origin: Origin) -> str:
    return "the hub" if origin.layer == "default" else str(origin)


def _nested(leaves: Mapping[KeyPath, Leaf]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for path, leaf in leaves.items():
        node = data
        for part in path[:-1]:
            node = node.setdefault(str(part), {})
        if path[:-1] in ADDED:
            continue
        if leaf.value == {}:
            node.setdefault(str(path[-1]), {})
        else:
            node[str(path[-1])] = leaf.value
    for section, effect in ADDED:
        rules = [leaf.value for key, leaf in leaves.items() if key[:-1] == (section, effect)]
        if rules:
            data[section][effect] = rules
    return data


def keyed(leaves: Mapping[KeyPath, Leaf]) -> dict[str, Leaf]:
    """Return the leaves by dotted key."""
    return {dotted(path): leaf for path, leaf in leaves.items()}
