"""A workspace's settings and roles as they are in force, for whoever looks or starts a run."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hub.app.approved import asked_servers, held_back, without_unapproved
from hub.config.layers import Loaded, Sources, load_settings
from hub.config.paths import find_paths, find_project, tidied
from hub.config.trust import Part, apply_trust, withhold_roles
from hub.config.trust_store import TrustStore
from hub.core.errors import UsageError
from hub.core.servers import ServerSpec
from hub.pins.approvals import Approvals
from hub.roles.files import Defaults
from hub.roles.load import RoleBook, RoleFolder, load_roles, role_folders

STORE = "hub.db"
"""The session store in the state folder."""


class Setup(Struct, frozen=True):
    """What a workspace comes to before anything is started."""

    workspace: Path
    """The folder to work on, absolute."""
    loaded: Loaded
    """The settings without what is withheld."""
    book: RoleBook
    """The roles without what is withheld."""
    withheld: tuple[Part, ...]
    """What the project asks for and does not get until it is trusted."""
    pending: tuple[ServerSpec, ...] = ()
    """Servers that are withheld until the user approves them, as they would be launched."""
    asked: Loaded | None = None
    """The settings with what is withheld; None when nothing is."""


def store_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the file in which sessions are stored; it need not exist yet."""
    return find_paths(os.environ if environ is None else environ).state / STORE


def find_sources(
    workspace: Path,
    *,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, tuple[object, str]] | None = None,
    assignments: Sequence[str] = (),
    team: Path | None = None,
    strict_mcp: Path | None = None,
) -> Sources:
    """Work out where the settings of a workspace are.

    ``strict_mcp`` is a file whose MCP servers are the only ones, from the current folder.

    Raises:
        UsageError: the workspace is no folder.
    """
    given = os.environ if environ is None else environ
    folder = tidied(workspace)
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"the workspace {folder} {problem}", remedy="Give a folder with -C DIR.")
    return Sources(
        project=find_project(folder),
        paths=find_paths(given),
        environ=given,
        cwd=Path.cwd(),
        flags=flags or {},
        assignments=assignments,
        team=_team(team),
        strict_mcp=strict_mcp,
    )


def _team(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    team = tidied(folder)
    if not team.is_dir():
        raise UsageError(
            f"there is no team folder {team}",
            remedy="Give a folder that holds roles/ and, if need be, a config.yaml.",
        )
    return team


def load_setup(workspace: Path, sources: Sources) -> Setup:
    """Read settings and roles, and withhold what an untrusted project asks for.

    Raises:
        ConfigError: settings or trust records are wrong.
        RoleError: role files are wrong.
    """
    loaded = load_settings(sources)
    book = load_book(loaded)
    asked = asked_servers(loaded, Approvals(sources.paths.state))
    approved = frozenset(name for name, server in asked.items() if server.approved)
    store = TrustStore(sources.paths.state)
    trusted = apply_trust(loaded, book.roles, store, approved=approved)
    if trusted.withheld:
        # Roles take bounds from the settings, so they are read again over those in force.
        book = load_book(trusted.loaded)
    active = without_unapproved(trusted.loaded, asked)
    return Setup(
        workspace=tidied(workspace),
        loaded=active,
        book=replace(book, roles=withhold_roles(book.roles, trusted.withheld)),
        withheld=trusted.withheld,
        pending=held_back(asked, active),
        asked=None if active is loaded else loaded,
    )


def load_book(loaded: Loaded) -> RoleBook:
    """Read the roles that the settings lead to.

    Raises:
        RoleError: role files are wrong.
    """
    sources, settings = loaded.sources, loaded.settings
    folders = role_folders(
        sources.project, sources.paths.user_roles, claude_agents=settings.claude_agents
    )
    if sources.team is not None:
        folders.insert(0, RoleFolder("team", sources.team / "roles"))
    defaults = Defaults(loaded.limits(), loaded.chosen_limits(), tuple(settings.models))
    return load_roles(folders, defaults)
