"""Where settings come from: files, environment variables and flags, each as one layer."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.config.documents import parse_yaml, read_text
from hub.config.keys import KeyPath, dotted, is_mapping, names_at, split_key, type_at
from hub.config.patterns import bad_patterns
from hub.config.problems import Problem, validated
from hub.config.schema import Settings
from hub.core.team import Origin

ENV_PREFIX = "HUB_"
NOT_SETTINGS = frozenset({"HUB_STATE_DIR"})
"""Variables of the hub that are no settings."""


class Layer(Struct, frozen=True):
    """The settings of one source; what it does not hold is decided elsewhere."""

    name: str
    """``default``, ``mcp_json``, ``user``, ``project``, ``local``, ``file``, ``env``, ``flag``."""
    data: Mapping[str, Any]
    origin: Origin
    """The source as a whole."""
    origins: Mapping[KeyPath, Origin] = field(default_factory=dict)

    def origin_of(self, path: KeyPath) -> Origin:
        """Return the place of a value, or of the nearest thing around it that has one."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, self.origin)


def file_layer(name: str, path: Path) -> tuple[Layer, list[Problem]]:
    """Read a settings file and check it against the schema.

    Raises:
        BadFile: it cannot be read at all.
    """
    document = parse_yaml(read_text(path), str(path))
    problems = list(document.problems)
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        problem = Problem("a settings file holds 'key: value' lines", f"{path}:1")
        return Layer(name, {}, Origin(name, str(path))), [*problems, problem]
    origins = {key: Origin(name, str(path), line) for key, line in document.lines.items()}
    layer = Layer(name, without_empty(data), Origin(name, str(path)), origins)
    return layer, problems + check(layer)


def env_layer(environ: Mapping[str, str]) -> tuple[Layer, list[Problem], list[str]]:
    """Read ``HUB_…`` variables; an empty one counts as not set.

    Returns:
        The layer, what is wrong with it, and notices about names that look mistyped.
    """
    builder = _Builder("env")
    notices: list[str] = []
    for name, text in sorted(environ.items()):
        if not name.startswith(ENV_PREFIX) or name in NOT_SETTINGS or not text:
            continue
        path = tuple(part.lower() for part in name.removeprefix(ENV_PREFIX).split("__"))
        right = _nearest_path(path) or _nearest_path(path[:1])
        advice = f"Did you mean {_variable(right)}?" if right else ""
        if path[0] not in Settings.model_fields:
            if advice:
                notices.append(f"The environment variable {name} is no setting. {advice}")
        elif right == path[: len(right)]:
            builder.read(path, text, Origin("env", name))
        else:
            where = f"{name} ({dotted(path)})"
            builder.problems.append(Problem(f"there is no setting {dotted(path)}", where, advice))
    layer = builder.layer()
    return layer, builder.problems + check(layer), notices


def _nearest_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the setting that is nearest to a path: itself if it is one, nothing if none is."""
    right: tuple[str, ...] = ()
    for part in path:
        known = names_at(Settings, right)
        near = [part] if part in known or not known else get_close_matches(part, known, n=1)
        if not near:
            return ()
        right = (*right, near[0])
    return right


def _variable(path: tuple[str, ...]) -> str:
    return ENV_PREFIX + "__".join(part.upper() for part in path)


def flag_layer(
    flags: Mapping[str, tuple[object, str]], assignments: Sequence[str]
) -> tuple[Layer, list[Problem]]:
    """Read command-line flags and ``--set key=value`` texts; a flag of None is not given."""
    builder = _Builder("flag")
    for text in assignments:
        key, equals, value = text.partition("=")
        path = split_key(key.strip())
        origin = Origin("flag", f"--set {key}")
        if path is None or not equals:
            remedy = "Write it as --set key=value, such as --set limits.steps=50."
            builder.problems.append(Problem(f"{text!r} is no assignment", "--set", remedy))
        else:
            builder.read(path, value, origin)
    for key, (flag_value, flag) in flags.items():
        path = split_key(key)
        if flag_value is not None and path is not None:
            builder.put(path, flag_value, Origin("flag", flag))
    layer = builder.layer()
    return layer, builder.problems + check(layer)


def check(layer: Layer) -> list[Problem]:
    """Return what in a layer does not fit the schema, and rules that are none."""
    if not layer.data:
        return []
    problems = validated(Settings, layer.data, layer.origin_of)[1]
    return problems or bad_patterns(layer.data, layer.origin_of)


def without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Turn each section that was left empty, such as ``servers:`` alone, into an empty mapping."""
    return {key: _filled(value, (key,)) for key, value in data.items()}


def _filled(value: object, path: KeyPath) -> object:
    if not is_mapping(type_at(Settings, path)):
        return value
    if value is None:
        return {}
    if isinstance(value, dict):
        return {key: _filled(below, (*path, key)) for key, below in value.items()}
    return value


class _Builder:
    """Collects single values into one layer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data: dict[str, Any] = {}
        self.origins: dict[KeyPath, Origin] = {}
        self.problems: list[Problem] = []

    def read(self, path: tuple[str, ...], text: str, origin: Origin) -> None:
        """Read a value from text: as it stands where text is expected, as YAML elsewhere."""
        if type_at(Settings, path) is str:
            self.put(path, text, origin)
            return
        document = parse_yaml(text, str(origin))
        if document.problems:
            message = f"cannot read the value {text!r}"
            self.problems.append(Problem(message, f"{origin} ({dotted(path)})"))
            return
        self.put(path, document.data, origin)

    def put(self, path: tuple[str, ...], value: object, origin: Origin) -> None:
        """Set the value at a path; the later of two wins."""
        node = self.data
        for depth, part in enumerate(path[:-1], start=1):
            below = node.setdefault(part, {})
            if not isinstance(below, dict):
                message = f"{dotted(path[:depth])} is set as a whole already, to {below!r}"
                self.problems.append(Problem(message, f"{origin} ({dotted(path)})"))
                return
            node = below
        node[path[-1]] = value
        self.origins[path] = origin

    def layer(self) -> Layer:
        """Return what was collected."""
        return Layer(self.name, without_empty(self.data), Origin(self.name), self.origins)
