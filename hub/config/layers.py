"""Settings out of all their layers, each value with where it came from and what it hides.

Low to high: files of other clients, ``.mcp.json``, the defaults, the user's file, the project's
file, the project's local file, a team's file, a file named by a flag, ``HUB_…`` variables, flags.
(Clients and ``.mcp.json`` are below the defaults, so that they cannot take the name of a bundled
server.) What reads the files of clients is imported when there is one to read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.config.keys import dotted, split_key
from hub.config.layer_names import CLIENT_LAYERS as CLIENT_LAYERS
from hub.config.layer_names import FOREIGN_LAYERS as FOREIGN_LAYERS
from hub.config.layer_names import PROJECT_LAYERS as PROJECT_LAYERS
from hub.config.merge import Leaf, keyed, merge
from hub.config.paths import LOCAL_SETTINGS, MCP_JSON, PROJECT_DIR, SETTINGS, Paths
from hub.config.problems import BadFile, Problem, fault, validated
from hub.config.schema import BUNDLED, LimitSettings, Settings
from hub.config.sources import Layer, env_layer, file_layer, flag_layer
from hub.core.errors import ConfigError
from hub.core.limits import Limits
from hub.core.team import Origin

READERS = "hub.config.clients"
"""The package that reads the files of other clients."""
STRICT = "strict"
"""The layer of a file named by ``--strict-mcp-config``."""


class PermissionRule(Struct, frozen=True):
    """One line of a permission list."""

    effect: str
    """``allow``, ``ask`` or ``deny``."""
    pattern: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to look for settings."""

    project: Path
    """The project's folder, absolute."""
    paths: Paths
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path = field(default_factory=Path)
    """Where the command was typed; relative files of flags and variables start here."""
    flags: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    """Values of flags by dotted key, each with the flag's name; None is not given."""
    assignments: Sequence[str] = ()
    """``key=value`` texts of ``--set``."""
    file: Path | None = None
    """A settings file named by a flag; it has to exist."""
    team: Path | None = None
    """A team's folder, absolute; its ``config.yaml`` need not exist."""
    strict_mcp: Path | None = None
    """A list of MCP servers, in any known format, whose servers are the only ones."""


class Loaded(Struct, frozen=True):
    """The settings in force, and how they came about."""

    settings: Settings
    origins: Mapping[str, Leaf]
    """Each value by dotted key."""
    layers: tuple[Layer, ...]
    """What was folded, lowest first."""
    sources: Sources
    notices: tuple[str, ...] = ()
    """What a user should know although it is no error."""
    withheld: frozenset[str] = frozenset()
    """Keys that the project sets and that have no effect until it is trusted."""

    def origin(self, key: str) -> Origin:
        """Return where a value, or the nearest thing that holds or is held by it, came from."""
        if leaf := self.origins.get(key):
            return leaf.origin
        inside = (leaf for name, leaf in self.origins.items() if name.startswith(f"{key}."))
        if leaf := next(inside, None):
            return leaf.origin
        parts = split_key(key) or ()
        return self.origin(dotted(parts[:-1])) if len(parts) > 1 else Origin("default")

    def rules(self) -> tuple[PermissionRule, ...]:
        """Return the permission rules of all layers, each with its place."""
        found = []
        for key, leaf in self.origins.items():
            section, _, rest = key.partition(".")
            if section == "permissions" and rest.endswith("]"):
                effect = rest.partition("[")[0]
                found.append(PermissionRule(effect, leaf.value, leaf.origin))
        return tuple(found)

    def limits(self) -> Limits:
        """Return the bounds that hold for each role that sets none of its own."""
        return self.settings.limits.as_limits()

    def chosen_limits(self) -> frozenset[str]:
        """Return the names of the bounds that somebody chose; a role can only tighten those."""
        names = LimitSettings.model_fields
        return frozenset(n for n in names if self.origin(f"limits.{n}").layer != "default")


def load_settings(sources: Sources) -> Loaded:
    """Read every layer and fold them.

    Raises:
        ConfigError: with all that is wrong in all layers, each with its place.
    """
    found = _Found()
    mcp_json = sources.project / MCP_JSON
    if sources.strict_mcp is None and mcp_json.is_file():
        found.add(*_reader("mcp_json").mcp_json_layer(mcp_json, _around(sources)))
    found.layers.append(_defaults())
    for name, path in _files(sources):
        try:
            found.add(*file_layer(name, path))
        except BadFile as error:
            found.problems.append(error.problem)
    found.add(*env_layer(sources.environ))
    found.add(*flag_layer(sources.flags, sources.assignments))
    if sources.strict_mcp is not None:
        _take_strictly(found, sources, sources.cwd / sources.strict_mcp.expanduser())
    if found.problems:
        raise fault(ConfigError, found.problems)
    if sources.strict_mcp is None:
        _take_clients(found, sources)
    return fold(tuple(found.layers), sources, tuple(found.notices))


class _Found:
    """What has been read so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notices: list[str] = []
        self.layers: list[Layer] = []

    def add(self, layer: Layer, problems: Sequence[Problem], notices: Sequence[str] = ()) -> None:
        self.layers.append(layer)
        self.problems += problems
        self.notices += notices


def _take_strictly(found: _Found, sources: Sources, path: Path) -> None:
    """Put the servers of one file in the place of all others."""
    found.layers = [
        replace(layer, data={key: layer.data[key] for key in layer.data if key != "servers"})
        for layer in found.layers
    ]
    taken, problems = _reader("recognising").recognised_layer(STRICT, path, _around(sources))
    found.add(taken.layer, problems, taken.notices)


def _take_clients(found: _Found, sources: Sources) -> None:
    """Put the servers of the clients that ``servers_from`` names below all others."""
    named: dict[str, tuple[str, ...]] = {
        layer.name: tuple(layer.data["servers_from"])
        for layer in found.layers
        if "servers_from" in layer.data
    }
    wanted = next(reversed(named.values()), ())
    if not wanted:
        return
    own = {client for layer in named.keys() - PROJECT_LAYERS for client in named[layer]}
    where = _reader("table").Surroundings(sources.environ)
    layers, notices = _reader("reading").client_layers(wanted, own, _around(sources), where)
    found.layers = [*layers, *found.layers]
    found.notices += notices


def _reader(name: str) -> Any:
    """Import a module that most runs do not need."""
    return import_module(f"{READERS}.{name}")


def _around(sources: Sources) -> Any:
    """Return what entries of other clients may refer to."""
    home = _reader("table").Surroundings(sources.environ).home
    return _reader("dialect").Around(sources.project, home)


def fold(layers: tuple[Layer, ...], sources: Sources, notices: tuple[str, ...]) -> Loaded:
    """Make settings of layers that are each valid by themselves.

    Raises:
        ConfigError: what they come to is not valid.
    """
    merged = merge(layers)
    origins = keyed(merged.leaves)

    def origin_of(path: tuple[str | int, ...]) -> Origin:
        leaf = merged.leaves.get(path)
        return leaf.origin if leaf else Origin("default")

    settings, problems = validated(Settings, merged.data, origin_of)
    if settings is None:
        raise fault(ConfigError, problems)
    return Loaded(settings, origins, layers, sources, notices + merged.notices)


def _files(sources: Sources) -> list[tuple[str, Path]]:
    folder = sources.project / PROJECT_DIR
    files = [
        ("user", sources.paths.user_settings),
        ("project", folder / SETTINGS),
        ("local", folder / LOCAL_SETTINGS),
    ]
    if sources.team is not None:
        files.append(("team", sources.team / SETTINGS))
    present = [(name, path) for name, path in files if path.exists()]
    if sources.file is not None:
        present.append(("file", sources.cwd / sources.file))
    return present


@cache
def _defaults() -> Layer:
    plain = Settings()
    data = {
        "model": plain.model,
        "role": plain.role,
        "claude_agents": plain.claude_agents,
        "permissions": {"mode": plain.permissions.mode},
        "limits": plain.limits.model_dump(),
        "servers": {name: {"bundled": name} for name in BUNDLED},
    }
    return Layer("default", data, Origin("default"))
