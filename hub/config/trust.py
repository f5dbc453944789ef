"""Workspace trust: what a project's own files may start, redirect or allow, and who agreed to it.

A project's files come with a clone, so possibly from strangers. Until the user trusts the
workspace, its servers, its model endpoints, its scripts in place of a model, the commands by which
its roles accept work and everything that makes permissions or the user's own limits wider have no
effect. The record holds a digest of
exactly those parts; a change of one of them asks again.
"""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from hub.config.keys import KeyPath, dotted, is_secret
from hub.config.layers import PROJECT_LAYERS, Loaded, fold, load_settings
from hub.config.models import SCRIPT
from hub.config.references import holds_reference
from hub.config.sources import Layer
from hub.config.trust_store import TrustStore
from hub.core.errors import ConfigError
from hub.core.team import MODE_ORDER, Origin, PermissionMode, Role
from hub.core.text import one_line

PROJECT_ROLES = frozenset({"project", "claude_agents"})
"""Layers of role files that come with the project."""
_REDIRECTING = frozenset({"base_url", "api_key", "headers", "extra_body"})
_HARMLESS = frozenset({"start_timeout", "call_timeout"})

MAX_NAME = 500
"""Characters of a part's name that are shown."""

PartKind = Literal["server", "model", "script", "allow", "mode", "limit", "alias", "role"]


class Part(Struct, frozen=True):
    """One thing in a project's files that has no effect until the workspace is trusted."""

    kind: PartKind
    name: str
    """The server, model, script, pattern, mode, limit or role."""
    detail: str
    """All that counts, as compact JSON; literal secrets appear as a digest."""
    origin: Origin

    @property
    def words(self) -> str:
        """Name and detail on one line, so that a name cannot look like further parts."""
        return f"{one_line(self.name, MAX_NAME)} {self.detail}".rstrip()

    def __str__(self) -> str:
        return f"{self.kind} {self.words} ({self.origin})"


class Trusted(Struct, frozen=True):
    """Settings and roles as they are in force, and what is withheld."""

    loaded: Loaded
    roles: Mapping[str, Role]
    withheld: tuple[Part, ...] = ()


def active_parts(loaded: Loaded, roles: Iterable[Role] = ()) -> list[Part]:
    """Return what trusting the project puts into force, in the order of the files."""
    parts: list[Part] = []
    for layer in loaded.layers:
        if layer.name in PROJECT_LAYERS:
            parts += _servers(loaded, layer)
            parts += _models(layer)
            parts += _permissions(loaded, layer)
            parts += _limits(loaded, layer)
            parts += _aliases(layer)
    for role in roles:
        if role.origin.layer in PROJECT_ROLES and (asked := _asked_by(role)):
            parts.append(Part("role", role.name, _compact(asked), role.origin))
    return parts


def digest(parts: Iterable[Part]) -> str:
    """Return a digest that changes when a part is added, changed or removed, not when it moves."""
    lines = sorted(_compact([part.kind, part.name, part.detail]) for part in parts)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def withhold(loaded: Loaded, parts: Sequence[Part]) -> Loaded:
    """Return the settings without the parts; what they hid in other layers is in force again."""
    dropped = {(part.origin.layer, path) for part in parts if (path := _path(part))}
    if not dropped:
        return loaded
    layers = tuple(_without(layer, dropped) for layer in loaded.layers)
    keys = frozenset(dotted(path) for _, path in dropped)
    folded = fold(layers, loaded.sources, loaded.notices)
    return replace(folded, withheld=loaded.withheld | keys)


def withhold_roles(roles: Mapping[str, Role], parts: Iterable[Part]) -> dict[str, Role]:
    """Return the roles without the allow rules, scripts and commands that are withheld."""
    named = {part.name for part in parts if part.kind == "role"}
    return {name: _tamed(role) if name in named else role for name, role in roles.items()}


def apply_trust(
    loaded: Loaded,
    roles: Mapping[str, Role],
    store: TrustStore,
    *,
    approved: Collection[str] = (),
) -> Trusted:
    """Withhold what the project asks for, unless the user trusts the workspace as it is now.

    ``approved`` names servers that the user approved one by one; they are let through.

    Raises:
        ConfigError: the trust records cannot be read.
    """
    parts = active_parts(loaded, roles.values())
    project = loaded.sources.project
    if not parts or store.is_trusted(project, digest(_asked_about(loaded, roles, parts))):
        return Trusted(loaded, roles)
    parts = [part for part in parts if part.kind != "server" or part.name not in approved]
    return Trusted(withhold(loaded, parts), withhold_roles(roles, parts), tuple(parts))


def _asked_about(loaded: Loaded, roles: Mapping[str, Role], parts: list[Part]) -> list[Part]:
    """Return what the user was asked about: also the servers that a single file now replaces."""
    if loaded.sources.strict_mcp is None:
        return parts
    try:
        whole = load_settings(dataclasses.replace(loaded.sources, strict_mcp=None))
    except ConfigError:
        return parts
    return active_parts(whole, roles.values())


def _servers(loaded: Loaded, layer: Layer) -> Iterator[Part]:
    for name, entry in layer.data.get("servers", {}).items():
        counts = {key: value for key, value in entry.items() if key not in _HARMLESS}
        effective = any(
            leaf.origin.layer == layer.name
            for key, leaf in loaded.origins.items()
            if key.startswith(f"{dotted(('servers', name))}.")
        )
        if counts and effective and loaded.settings.servers[name].enabled:
            detail = _shown(counts, ("servers", name))
            yield Part("server", name, detail, layer.origin_of(("servers", name)))


def _models(layer: Layer) -> Iterator[Part]:
    for name, entry in layer.data.get("models", {}).items():
        if _REDIRECTING & entry.keys():
            path = ("models", name)
            yield Part("model", name, _shown(entry, path), layer.origin_of(path))
    if _is_script(model := layer.data.get("model") or ""):
        yield Part("script", model, "", layer.origin_of(("model",)))


def _is_script(model: str) -> bool:
    return model.startswith(SCRIPT)


def _asked_by(role: Role) -> dict[str, Any]:
    asked: dict[str, Any] = {"allow": list(role.allow)} if role.allow else {}
    if role.acceptance.command:
        asked["acceptance"] = {
            "command": role.acceptance.command,
            "timeout": role.acceptance.timeout,
        }
    return asked | ({"model": role.model} if _is_script(role.model) else {})


def _tamed(role: Role) -> Role:
    model = "" if _is_script(role.model) else role.model
    return replace(role, allow=(), model=model, acceptance=replace(role.acceptance, command=""))


def _permissions(loaded: Loaded, layer: Layer) -> Iterator[Part]:
    rules = layer.data.get("permissions", {})
    for index, pattern in enumerate(rules.get("allow", ())):
        origin = layer.origin_of(("permissions", "allow", index))
        yield Part("allow", pattern, "", origin)
    mode: PermissionMode | None = rules.get("mode")
    if mode is not None and _is_wider(mode, _own_mode(loaded)):
        yield Part("mode", mode, "", layer.origin_of(("permissions", "mode")))


def _own_mode(loaded: Loaded) -> PermissionMode:
    """Return the mode that would hold without the project's files."""
    mode: PermissionMode = "default"
    for layer in loaded.layers:
        if layer.name not in PROJECT_LAYERS:
            mode = layer.data.get("permissions", {}).get("mode", mode)
    return mode


def _is_wider(mode: PermissionMode, than: PermissionMode) -> bool:
    """Say whether a mode lets something happen that another does not.

    ``deny`` runs what an allow rule names, ``plan`` no change at all.
    """
    if (mode, than) == ("deny", "plan"):
        return True
    return MODE_ORDER.index(mode) > MODE_ORDER.index(than)


def _limits(loaded: Loaded, layer: Layer) -> Iterator[Part]:
    """Yield the bounds that are wider than those that the user chose."""
    for name, value in layer.data.get("limits", {}).items():
        own = _own_limit(loaded, name)
        if own is not None and (value is None or value > own):
            origin = layer.origin_of(("limits", name))
            yield Part("limit", name, _compact(value), origin)


def _aliases(layer: Layer) -> Iterator[Part]:
    """Yield the aliases, since a tool under another name may pass a rule of the user's."""
    for short, target in layer.data.get("aliases", {}).items():
        yield Part("alias", short, _compact(target), layer.origin_of(("aliases", short)))


def _own_limit(loaded: Loaded, name: str) -> float | None:
    """Return the bound that the user chose; None for none, and where only the default holds."""
    own: float | None = None
    for layer in loaded.layers:
        if layer.name not in PROJECT_LAYERS and layer.name != "default":
            own = layer.data.get("limits", {}).get(name, own)
    return own


def _path(part: Part) -> KeyPath:
    match part.kind:
        case "server":
            return ("servers", part.name)
        case "model":
            return ("models", part.name)
        case "allow":
            return ("permissions", "allow")
        case "mode":
            return ("permissions", "mode")
        case "script":
            return ("model",)
        case "limit":
            return ("limits", part.name)
        case "alias":
            return ("aliases", part.name)
        case "role":
            return ()


def _without(layer: Layer, dropped: set[tuple[str, KeyPath]]) -> Layer:
    gone = {path for name, path in dropped if name == layer.name}
    models = {path[1] for _, path in dropped if path[0] == "models"}
    data: dict[str, Any] = {}
    for section, value in layer.data.items():
        if section == "model" and _names_withheld(layer, value, models, gone):
            continue
        if isinstance(value, dict):
            value = {key: below for key, below in value.items() if (section, key) not in gone}
        data[section] = value
    return replace(layer, data=data)


def _names_withheld(layer: Layer, model: Any, models: set[Any], gone: set[KeyPath]) -> bool:
    return ("model",) in gone or (model in models and layer.name in PROJECT_LAYERS)


def _shown(value: Any, path: KeyPath) -> str:
    return _compact(_hidden(value, path))


def _hidden(value: Any, path: KeyPath) -> Any:
    """Replace literal secrets by a digest; a server's variables stay, to be judged."""
    if isinstance(value, dict):
        return {key: _hidden(below, (*path, key)) for key, below in value.items()}
    if isinstance(value, str) and value and not holds_reference(value) and _is_hidden(path):
        return f"sha256:{hashlib.sha256(value.encode()).hexdigest()[:12]}"
    return value


def _is_hidden(path: KeyPath) -> bool:
    return is_secret(path) and "env" not in path[2:-1]


def _compact(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
