"""The composition root: from options to an open hub."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import count

import anyio
from msgspec import Struct
from msgspec.structs import replace

from hub.app.asking import RunAnswers
from hub.app.desk import desk_for, root_of, shelf_for
from hub.app.faults import one_fault
from hub.app.fork import fork
from hub.app.hub import Hub, News
from hub.app.isolation import Isolation, changes_of, recovered
from hub.app.live import LiveCatalog
from hub.app.options import InitInfo, NobodyToAsk, RunOptions
from hub.app.pinned import held_parts, held_problems, pin_store, tell_held_back
from hub.app.policies import deriver
from hub.app.reach import (
    lacks_tools,
    not_for_users,
    require_reach,
    require_tools,
    rule_problems,
)
from hub.app.reporting import Reporting, acceptance_commands
from hub.app.resume import Stored, reopen, require_same
from hub.app.role_models import RoleModels
from hub.app.run import Run
from hub.app.seat import Seat
from hub.app.servers import LazyServers
from hub.app.setup import STORE, Setup, find_sources, load_setup
from hub.app.states import server_states
from hub.app.views import refusals
from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, build_catalog
from hub.catalog.gathering import Patience
from hub.config.offers import offers
from hub.config.references import resolve_server
from hub.config.rule_values import with_values
from hub.config.servers import bundled_servers, server_specs
from hub.core.cancel import CancelToken
from hub.core.clock import SystemClock
from hub.core.errors import UsageError
from hub.core.ids import new_id
from hub.core.jobs import Denials
from hub.core.ledger import Ledger
from hub.core.servers import ServerSpec
from hub.core.team import Grant, PermissionMode, Role
from hub.dispatch.caps import Caps, in_process
from hub.models.registry import Models
from hub.permissions.policy import Effect, Rule
from hub.pipeline.arguments import schema_errors
from hub.results.shelf import TreeShelf
from hub.roles.matrix import grant_for
from hub.sessions.store import SqliteStore
from hub.worktrees.making import Maker
from hub.worktrees.records import Records

_EFFECTS: Mapping[str, Effect] = {"allow": "allow", "ask": "ask", "deny": "deny"}


class _Start(Struct, frozen=True):
    """What is settled before anything is started."""

    options: RunOptions
    setup: Setup
    role: Role
    session: str
    stored: Stored | None
    """What the session to go on with has come to; None for a new one."""
    store: SqliteStore
    shelf: TreeShelf

    @property
    def mode(self) -> PermissionMode:
        """The widest permission mode of the tree."""
        return self.setup.loaded.settings.permissions.mode


@asynccontextmanager
async def open_hub(options: RunOptions | None = None) -> AsyncIterator[Hub]:
    """Open a hub over a workspace; leaving the block ends its servers and connections.

    Raises:
        UsageError: the workspace, the settings, the roles or the session to resume are wrong.
        StoreError: the session store cannot be used.
    """
    options = options or RunOptions()
    start = _start(options, await recovered(options.env))
    clock = SystemClock()
    models = Models(clock)
    news = News()
    loaded = start.setup.loaded
    specs = server_specs(loaded)
    environ = loaded.sources.environ
    asker = start.options.asker or NobodyToAsk()
    answers = RunAnswers(start.options.elicitor or NobodyToAsk(), asker)
    servers = LazyServers(
        specs,
        workspace=start.setup.workspace,
        env=environ,
        resolve=partial(resolve_server, environ=environ),
        emit=news.emit,
        clock=clock,
        cache=ListingCache(loaded.sources.paths.cache / "catalog"),
        state=loaded.sources.paths.state,
        pins=pin_store(start.setup),
        answers=answers,
    )
    try:
        async with one_fault(), anyio.create_task_group() as group:
            group.start_soon(servers.own)
            try:
                hub = await _hub(start, specs, servers, models, news, answers)
                group.start_soon(hub.welcome)
                yield hub
            finally:
                servers.stop()
    finally:
        with anyio.CancelScope(shield=True):
            await models.aclose()
        start.store.close()


def _start(options: RunOptions, records: Records) -> _Start:
    environ = os.environ if options.env is None else options.env
    flags = dict(options.flags)
    flags |= {"model": options.model, "permissions.mode": options.mode}
    sources = find_sources(
        options.workspace,
        environ=environ,
        flags={key: (value, _flag(key)) for key, value in flags.items()},
        assignments=options.assignments,
        team=options.team,
        strict_mcp=options.strict_mcp_config,
    )
    setup = load_setup(options.workspace, sources)
    if options.strict and setup.withheld:
        parts = "\n".join(f"  {part}" for part in setup.withheld)
        raise UsageError(
            f"the workspace is not trusted, and --strict forbids to go on without:\n{parts}",
            remedy="Look at it and trust it with: hub trust",
        )
    store = SqliteStore(sources.paths.state / STORE)
    if options.fork is not None:
        source = store.get_session(options.fork)
        require_same(source.workspace, setup.workspace, source.id)
        options = replace(options, resume=fork(store, source.id, SystemClock()), fork=None)
    if options.resume is None:
        role = setup.book.get(options.role or setup.loaded.settings.role)
        session = new_id("s")
        shelf = shelf_for(setup.loaded, session)
        return _Start(options, setup, role, session, None, store, shelf)
    info = store.get_session(options.resume)
    require_same(info.workspace, setup.workspace, info.id)
    role = setup.book.get(options.role or info.role)
    try:
        store.hold(info.id)
        shelf = shelf_for(setup.loaded, root_of(store, info.id))
        stored = reopen(store, info.id, SystemClock(), shelf, changes_of(records))
    except BaseException:
        store.close()
        raise
    return _Start(options, setup, role, info.id, stored, store, shelf)


def _flag(key: str) -> str:
    names = {"permissions.mode": "--mode", "limits.seconds": "--timeout"}
    return names.get(key) or "--" + key.replace("limits.", "max-").replace("_", "-")


async def _hub(
    start: _Start,
    specs: list[ServerSpec],
    servers: LazyServers,
    models: Models,
    news: News,
    answers: RunAnswers,
) -> Hub:
    setup, loaded = start.setup, start.setup.loaded
    models_of = RoleModels(setup, models)
    root_model = models_of.model(start.role)
    require_reach(setup, start.role, models_of.model)
    live = await _live(setup, specs, servers)
    news.attend(live.heard)
    if lacks_tools(setup, start.role, live.catalog):
        await live.wait_for_all()
    catalog = live.catalog
    require_tools(setup, start.role, catalog)
    run = Run(
        workspace=setup.workspace,
        roles=setup.book.roles,
        tools=live.tools(),
        rules=tuple(
            Rule(_EFFECTS[rule.effect], rule.pattern, rule.origin) for rule in loaded.rules()
        ),
        store=start.store,
        clock=SystemClock(),
        asker=answers.asker,
        elicitor=start.options.elicitor or NobodyToAsk(),
        at_work=answers.at_work,
        model_for=models_of.model,
        profile_for=models_of.profile,
        derive=deriver(start.mode),
        reporting=Reporting(schema_errors, acceptance_commands(loaded.sources.environ).run),
        isolation=Isolation(Maker(loaded.sources.paths.state, loaded.sources.environ), servers),
        release=servers.release,
        desk=desk_for(loaded, start.shelf, catalog.tools, news.ailment),
        bundled=bundled_servers(loaded),
        caps=Caps(anyio.CapacityLimiter(loaded.settings.jobs.in_tree), in_process()),
        answer_seconds=loaded.settings.jobs.answer_seconds,
    )
    grant = grant_for(start.role, mode=start.mode)
    granted = run.offered(grant, start.role)
    catalog.problems += refusals(run.tools, grant, models_of.profile(start.role))
    catalog.problems += run.desk.problems(granted)
    seat = _seat(start, grant)
    init = _init(start, specs, catalog, root_model.name, list(granted))
    return Hub(
        run=run, seat=seat, init=init, servers=servers, live=live, news=news, stored=start.stored
    )


async def _live(setup: Setup, specs: list[ServerSpec], servers: LazyServers) -> LiveCatalog:
    """Put the catalog together, and leave servers whose tools were cached to be compared."""
    offered = offers(setup.loaded, setup.workspace, sys.platform)
    ruled, unset = with_values(specs, setup.loaded.sources.environ)
    catalog = await build_catalog(
        ruled,
        servers=servers,
        cache=servers.cache,
        pins=servers.pins,
        offers=offered,
        patience=Patience(setup.loaded.settings.catalog.patience, servers.doubtful),
    )
    catalog.problems += unset
    tell_held_back(catalog, servers)
    servers.cached = tuple(spec for spec in specs if spec.name in catalog.cached)
    return LiveCatalog(
        catalog, ruled, servers=servers, offers=offered, pins=servers.pins, cache=servers.cache
    )


def _seat(start: _Start, grant: Grant) -> Seat:
    """Return the place of the root, with what its session has come to so far."""
    seat = Seat(
        role=start.role,
        session=start.session,
        path=start.role.name,
        depth=0,
        grant=grant,
        ledger=Ledger(start.role.name, start.role.limits),
        cancel=CancelToken(),
        denials=Denials(),
    )
    if start.stored is not None:
        seat.conversation = start.stored.conversation
        seat.seq, seat.turn = start.stored.seq, start.stored.turn
        seat.numbers = count(start.stored.jobs + 1)
        start.stored.spent.charge_to(seat.ledger)
        seat.loaded = start.stored.loaded
        seat.left = start.stored.left
    return seat


def _init(
    start: _Start, specs: list[ServerSpec], catalog: Catalog, model: str, tools: list[str]
) -> InitInfo:
    loaded = start.setup.loaded
    files = [layer.origin.path for layer in loaded.layers if layer.origin.path]
    return InitInfo(
        session_id=start.session,
        role=start.role.name,
        model=model,
        workspace=str(start.setup.workspace),
        mode=start.mode,
        tools=tools,
        servers=server_states(specs, catalog, start.setup.pending),
        withheld=[str(part) for part in start.setup.withheld],
        quarantined=held_parts(catalog),
        config_files=files,
        problems=[
            *loaded.notices,
            *start.setup.book.notes,
            *catalog.problems,
            *held_problems(catalog),
            *rule_problems(start.setup, start.role, catalog),
            *not_for_users(start.role),
        ],
    )
