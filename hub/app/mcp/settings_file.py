"""Adds servers to the settings files that a user may change, and takes them out again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from hub.app.mcp.naming import unknown_server
from hub.config.edit import put_servers, remove_server, server_entries
from hub.config.keys import dotted
from hub.config.layers import Loaded, Sources, fold, load_settings
from hub.config.paths import LOCAL_SETTINGS, PROJECT_DIR, SETTINGS
from hub.config.problems import Problem, fault
from hub.config.schema import BUNDLED
from hub.config.servers import server_specs
from hub.config.sources import Layer, check
from hub.core.errors import ConfigError, UsageError
from hub.core.team import Origin

Scope = Literal["user", "project", "local"]
"""Which file: yours, the project's, or yours in this project."""
SCOPES: tuple[Scope, ...] = ("user", "project", "local")


class Added(Struct, frozen=True):
    """What was written, and where."""

    name: str
    path: Path
    replaced: bool
    needs_approval: bool
    """The file belongs to the project, so the server is not the user's own."""


class Removed(Struct, frozen=True):
    """What was taken out, and where."""

    name: str
    path: Path
    still: str = ""
    """Where a server of this name comes from now; empty when there is none any more."""


def file_of(sources: Sources, scope: Scope) -> Path:
    """Return the settings file of a scope; it need not exist."""
    if scope == "user":
        return sources.paths.user_settings
    name = SETTINGS if scope == "project" else LOCAL_SETTINGS
    return sources.project / PROJECT_DIR / name


def add_server(
    sources: Sources, name: str, entry: Mapping[str, Any], *, scope: Scope, replace: bool = False
) -> Added:
    """Write one server into the settings file of a scope.

    Raises:
        UsageError: a server of this name stands there, or is bundled, and is not to be replaced.
        ConfigError: the entry cannot be used, or the file cannot be changed.
    """
    path = file_of(sources, scope)
    require_usable(sources, name, entry, scope)
    existing = server_entries(path)
    if not replace and (clash := clash_of(existing, name)):
        raise UsageError(clash, where=str(path), remedy="Take another name, or give --replace.")
    put_servers(path, {name: entry}, private=scope != "project")
    return Added(name, path, name in existing, scope != "user")


def clash_of(existing: Mapping[str, Any], name: str) -> str:
    """Return why a name is taken; empty when it is free."""
    if name in existing:
        return f"there is a server {name!r} already"
    return f"{name!r} is a server of the hub itself" if name in BUNDLED else ""


def require_usable(sources: Sources, name: str, entry: Mapping[str, Any], scope: str) -> None:
    """Refuse an entry that a run could not use.

    Raises:
        ConfigError: with all that is wrong.
    """
    origin = Origin(scope)
    layer = Layer(scope, {"servers": {name: dict(entry)}}, origin)
    if problems := check(layer):
        raise fault(ConfigError, [Problem(one.message, remedy=one.remedy) for one in problems])
    server_specs(fold((layer,), sources, ()))


def remove(sources: Sources, name: str, *, scope: Scope | None = None) -> Removed:
    """Take a server out of the settings file in which it stands.

    Raises:
        UsageError: it stands in none of them, or in several and no scope is named.
        ConfigError: the file cannot be changed.
    """
    scopes = [scope] if scope else SCOPES
    holding = [one for one in scopes if name in server_entries(file_of(sources, one))]
    if not holding:
        raise _not_ours(sources, name, scope)
    if len(holding) > 1:
        places = " and ".join(str(file_of(sources, one)) for one in holding)
        raise UsageError(
            f"there is a server {name!r} in {places}",
            remedy=f"Say which: --scope {' or --scope '.join(holding)}.",
        )
    path = file_of(sources, holding[0])
    remove_server(path, name)
    return Removed(name, path, _where(_loaded(sources), name))


def _where(loaded: Loaded | None, name: str) -> str:
    """Return where a server of this name comes from; empty when there is none."""
    if loaded is None or name not in loaded.settings.servers:
        return ""
    origin = loaded.origin(dotted(("servers", name)))
    return "the hub itself" if origin.layer == "default" else str(origin)


def _loaded(sources: Sources) -> Loaded | None:
    try:
        return load_settings(sources)
    except ConfigError:
        return None


def _not_ours(sources: Sources, name: str, scope: Scope | None) -> UsageError:
    loaded = _loaded(sources)
    where = _where(loaded, name)
    if not where:
        return unknown_server(name, list(loaded.settings.servers) if loaded else [])
    if scope is not None:
        return UsageError(
            f"there is no server {name!r} in {file_of(sources, scope)}; it comes from {where}",
            remedy="Leave --scope out, or name the right one.",
        )
    return UsageError(
        f"the server {name!r} comes from {where}, which hub does not change",
        remedy=f"Switch it off in your settings: servers: {{{name}: {{enabled: false}}}}",
    )
