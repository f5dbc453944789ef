"""What can be looked at without a run: the team, what a project asks for, earlier sessions."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import time
from typing import Any

import anyio
from msgspec import Struct, field

from hub.app.faults import one_fault
from hub.app.findings import of_server
from hub.app.pinned import pin_store
from hub.app.reach import check_team
from hub.app.servers import LazyServers
from hub.app.setup import Setup, find_sources, load_book, load_setup, store_path
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, build_catalog
from hub.config.keys import dotted
from hub.config.layers import Loaded, load_settings
from hub.config.offers import offers
from hub.config.paths import tidied
from hub.config.references import resolve_server
from hub.config.servers import server_specs
from hub.config.trust import Part, active_parts, digest
from hub.config.trust_store import TrustStore
from hub.core.clock import SystemClock
from hub.core.events import Event
from hub.core.servers import ServerSpec
from hub.core.team import Origin, Role
from hub.roles.finding import Finding
from hub.roles.idle import idle_tools
from hub.roles.load import RoleBook
from hub.roles.matrix import Matrix, granted, matrix
from hub.sessions.archive import SessionArchive
from hub.sessions.lines import Log
from hub.sessions.store import SqliteStore
from hub.sessions.summary import SessionInfo


class Team(Struct, frozen=True):
    """The roles of a workspace and the tools that they choose from."""

    loaded: Loaded
    book: RoleBook
    tools: tuple[str, ...]
    """Names of the tools that are known."""
    problems: tuple[str, ...] = ()
    """Servers whose tools are not known, and why."""
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names that tools would have without renaming and aliases."""

    def ordered(self) -> list[Role]:
        """Return the roles, the user-facing ones first."""
        return sorted(self.book.roles.values(), key=lambda role: (not role.user_facing, role.name))

    def tools_of(self, role: Role) -> list[str]:
        """Return the known tools that a role's own lists leave it."""
        return granted(role, self.tools, self.others)

    def matrix(self) -> Matrix:
        """Derive who may dispatch to whom and who may use what."""
        return matrix(self.book.roles, self.tools, self.others)

    def check(self) -> list[Finding]:
        """Return what cannot work, what looks wrong, what deserves a look."""
        more = (name for names in self.others.values() for name in names)
        found = check_team(self.loaded, self.book, (*self.tools, *more))
        return [*found, *idle_tools(self.book, self.tools, self.others, self._place_of)]

    def _place_of(self, server: str) -> Origin:
        start = f"{dotted(('servers', server))}."
        origins = self.loaded.origins
        return next(
            (leaf.origin for key, leaf in origins.items() if key.startswith(start)),
            Origin("default"),
        )


class TrustState(Struct, frozen=True):
    """What a project asks for, and whether the user agreed to it as it is now."""

    project: Path
    parts: tuple[Part, ...]
    trusted: bool


class Transcript(Struct, frozen=True):
    """A stored session with everything below it."""

    info: SessionInfo
    log: Log
    children: tuple["Transcript", ...] = ()
    """In the order of their start."""

    def as_dict(self) -> dict[str, Any]:
        """Return summary, events and children, for JSON."""
        return {
            **self.info.as_dict(),
            "events": [event.model_dump(mode="json") for event in self.log.events],
            "skipped": [{"seq": lost.seq, "why": lost.why} for lost in self.log.skipped],
            "children": [child.as_dict() for child in self.children],
        }


def list_sessions(
    limit: int,
    *,
    workspace: Path | None = None,
    roots_only: bool = True,
    environ: Mapping[str, str] | None = None,
) -> list[SessionInfo]:
    """Return the stored sessions that were used last, latest first.

    Raises:
        StoreError: the store cannot be read.
    """
    folder = None if workspace is None else str(tidied(workspace))
    with closing(SqliteStore(store_path(environ))) as store:
        return store.list_sessions(limit, workspace=folder, roots_only=roots_only)


def load_transcript(session: str, *, environ: Mapping[str, str] | None = None) -> Transcript:
    """Read a stored session, named by its id or the beginning of it, and everything below it.

    Raises:
        UsageError: no stored session fits, or several do.
        StoreError: the store cannot be read.
    """
    with closing(SqliteStore(store_path(environ))) as store:
        return read_transcript(store, session)


def read_transcript(archive: SessionArchive, session: str) -> Transcript:
    """Read a session, named by its id or the beginning of it, and everything below it.

    Raises:
        UsageError: no stored session fits, or several do.
        StoreError: the store cannot be read.
    """
    return _transcript(archive, archive.get_session(session))


def _transcript(archive: SessionArchive, info: SessionInfo) -> Transcript:
    children = tuple(_transcript(archive, child) for child in archive.children(info.id))
    return Transcript(info, archive.read(info.id), children)


def load_team(
    workspace: Path,
    *,
    team: Path | None = None,
    strict_mcp: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Team:
    """Load the team of a workspace; no server is started, so not every tool may be known.

    Raises:
        UsageError: the workspace, the settings or the roles are wrong.
    """
    sources = find_sources(workspace, environ=environ, team=team, strict_mcp=strict_mcp)
    setup = load_setup(workspace, sources)
    specs = server_specs(setup.loaded)
    cache = listing_cache(setup)
    catalog, pins = Catalog(), pin_store(setup)
    for spec in specs:
        if (listing := cache.load(spec)) is not None:
            catalog.add(spec, listing, lazy_servers(setup, specs), pins.check(spec, listing))
    catalog.settle(offers(setup.loaded, setup.workspace, sys.platform))
    return Team(setup.loaded, setup.book, tuple(catalog.tools), others=catalog.others())


async def load_whole_team(
    workspace: Path,
    *,
    team: Path | None = None,
    strict_mcp: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Team:
    """Load the team of a workspace; servers that were never seen before are asked for their tools.

    Raises:
        UsageError: the workspace, the settings or the roles are wrong.
    """
    sources = find_sources(workspace, environ=environ, team=team, strict_mcp=strict_mcp)
    setup = load_setup(workspace, sources)
    specs = server_specs(setup.loaded)
    servers = lazy_servers(setup, specs)
    async with one_fault(), anyio.create_task_group() as group:
        group.start_soon(servers.own)
        try:
            catalog = await build_catalog(
                specs,
                servers=servers,
                cache=servers.cache,
                pins=pin_store(setup),
                offers=offers(setup.loaded, setup.workspace, sys.platform),
            )
        finally:
            servers.stop()
    failed = tuple(f"server {name}: {of_server(name, why)}" for name, why in catalog.failed.items())
    return Team(setup.loaded, setup.book, tuple(catalog.tools), failed, catalog.others())


def lazy_servers(
    setup: Setup, specs: Sequence[ServerSpec], emit: Callable[[Event], None] = lambda event: None
) -> LazyServers:
    """Return the servers of a workspace; whoever needs one has to run ``own`` beside."""
    environ = setup.loaded.sources.environ
    return LazyServers(
        specs,
        workspace=setup.workspace,
        env=environ,
        resolve=partial(resolve_server, environ=environ),
        emit=emit,
        clock=SystemClock(),
        cache=listing_cache(setup),
        state=setup.loaded.sources.paths.state,
    )


def listing_cache(setup: Setup) -> ListingCache:
    """Return what servers listed the last time."""
    return ListingCache(setup.loaded.sources.paths.cache / "catalog")


def trust_state(workspace: Path, *, environ: Mapping[str, str] | None = None) -> TrustState:
    """Return what trusting a workspace puts into force, and whether it is trusted.

    Raises:
        UsageError: the workspace, the settings or the roles are wrong.
    """
    sources = find_sources(workspace, environ=environ)
    loaded = load_settings(sources)
    parts = tuple(active_parts(loaded, load_book(loaded).roles.values()))
    store = TrustStore(sources.paths.state)
    trusted = bool(parts) and store.is_trusted(sources.project, digest(parts))
    return TrustState(sources.project, parts, trusted)


def trust(state: TrustState, *, environ: Mapping[str, str] | None = None) -> None:
    """Record that the user agrees to what a workspace asks for.

    Raises:
        ConfigError: the trust records cannot be read or written.
    """
    lines = [str(part) for part in state.parts]
    _trust_store(state.project, environ).trust(
        state.project, digest(state.parts), parts=lines, at=time()
    )


def revoke(state: TrustState, *, environ: Mapping[str, str] | None = None) -> bool:
    """Forget that a workspace is trusted; say whether it was.

    Raises:
        ConfigError: the trust records cannot be read or written.
    """
    return _trust_store(state.project, environ).revoke(state.project)


def _trust_store(project: Path, environ: Mapping[str, str] | None) -> TrustStore:
    return TrustStore(find_sources(project, environ=environ).paths.state)
