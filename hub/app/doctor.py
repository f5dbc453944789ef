"""What a run needs, looked at piece by piece: each finding a value with what to do about it."""

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path

import anyio
from msgspec.structs import replace

from hub.app.endpoints import start_role, tell_models
from hub.app.faults import one_fault
from hub.app.findings import Finding, broken, of_server
from hub.app.mcp.opened import opened
from hub.app.pinned import parts_of
from hub.app.reach import check_team
from hub.app.servers import LazyServers
from hub.app.setup import Setup, find_sources, load_setup
from hub.catalog.catalog import Catalog
from hub.config.layers import Sources, load_settings
from hub.config.offers import offers
from hub.config.paths import LOCAL_SETTINGS, MCP_JSON, PROJECT_DIR, SETTINGS
from hub.config.servers import server_specs
from hub.core import events as ev
from hub.core.errors import HubError
from hub.core.ports import Quarantine
from hub.core.servers import ServerSpec
from hub.pins.approvals import launch_words

DISTRIBUTION = "dispatch-hub"

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*([^;]*)")
_BOUND = re.compile(r"(>=|<|==)\s*(\d+(?:\.\d+)*)")


async def examine(
    workspace: Path,
    *,
    model: str | None = None,
    team: Path | None = None,
    strict_mcp: Path | None = None,
    environ: Mapping[str, str] | None = None,
    tell: Callable[[Finding], None],
) -> None:
    """Look at all that a run would need, and tell each finding as soon as it is known.

    Raises:
        UsageError: the workspace or the team's folder is no folder.
    """
    tell(python_version(sys.version_info[:3]))
    tell(packages())
    sources = find_sources(
        workspace,
        environ=environ,
        flags={"model": (model, "--model")},
        team=team,
        strict_mcp=strict_mcp,
    )
    tell(state_folder(sources.paths.state))
    found = files(sources)
    for finding in found:
        tell(finding)
    if any(finding.state == "error" for finding in found):
        return
    try:
        setup = load_setup(workspace, sources)
    except HubError as error:
        tell(broken("roles", error))
        return
    for finding in withheld(setup):
        tell(finding)
    async with one_fault(), anyio.create_task_group() as group:
        group.start_soon(partial(tell_models, setup, named=model is not None, tell=tell))
        group.start_soon(_tell_servers_and_roles, setup, tell)


def python_version(version: Sequence[int]) -> Finding:
    """Look at the interpreter."""
    words = ".".join(map(str, version))
    if tuple(version) < (3, 11):
        return Finding("python", "error", f"{words} is too old", "Install Python 3.11 or newer.")
    return Finding("python", "ok", f"{words} ({sys.executable})")


def packages(requirements: Sequence[str] | None = None) -> Finding:
    """Look at the packages that this distribution needs, by name and version."""
    if requirements is None:
        requirements = metadata.requires(DISTRIBUTION) or ()
    found, wrong = [], []
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None or "extra ==" in requirement:
            continue
        name, bounds = match[1], match[2].strip()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        found.append(f"{name} {version}")
        if not fits(version, bounds):
            wrong.append(f"{name} is {version}, needed is {bounds}")
    if wrong:
        remedy = f"Run: {sys.executable} -m pip install --upgrade {DISTRIBUTION}"
        return Finding("packages", "error", "; ".join(wrong), remedy)
    return Finding("packages", "ok", ", ".join(found))


def fits(version: str, bounds: str) -> bool:
    """Say whether a version is within bounds such as ``>=4.9,<5``."""
    numbers = _numbers(version)
    for operator, bound in _BOUND.findall(bounds):
        limit = _numbers(bound)
        if operator == ">=" and numbers < limit:
            return False
        if operator == "<" and numbers >= limit:
            return False
        if operator == "==" and numbers != limit:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def state_folder(folder: Path) -> Finding:
    """Look at whether sessions can be stored; nothing is created."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        remedy = "Make it writable, or name another folder in HUB_STATE_DIR."
        return Finding("state", "error", f"{folder} cannot be written", remedy)
    words = "" if nearest == folder else " (will be created)"
    return Finding("state", "ok", f"{folder}{words}")


def files(sources: Sources) -> list[Finding]:
    """Look at which settings files there are, and whether they can be read."""
    folder = sources.project / PROJECT_DIR
    paths = (
        sources.paths.user_settings,
        folder / SETTINGS,
        folder / LOCAL_SETTINGS,
        sources.strict_mcp or sources.project / MCP_JSON,
        *([sources.team / SETTINGS] if sources.team else []),
    )
    present = [str(path) for path in paths if path.exists()]
    try:
        loaded = load_settings(sources)
    except HubError as error:
        return [broken("settings", error)]
    words = ", ".join(present) or f"no file; {sources.paths.user_settings} would be one"
    notices = [Finding("settings", "warning", notice) for notice in loaded.notices]
    return [Finding("settings", "ok", words), *notices]


def roles(setup: Setup, tools: Collection[str]) -> list[Finding]:
    """Look at the roles and their graph, over the tools that there are."""
    found = [
        Finding(
            "roles" if item.role else "settings",
            item.severity,
            f"{item.role}: {item.message}" if item.role else item.message,
            f"See {item.origin}.",
        )
        for item in check_team(setup.loaded, setup.book, tools)
        if item.severity != "info"
    ]
    if lost := start_role(setup):
        found.insert(0, lost)
    if any(item.state == "error" for item in found):
        return found
    return [Finding("roles", "ok", ", ".join(sorted(setup.book.roles))), *found]


def withheld(setup: Setup) -> list[Finding]:
    """Look at what others ask for without being approved or trusted."""
    servers = {spec.name: spec for spec in setup.pending}
    found = [
        Finding(
            f"server {name}",
            "warning",
            f"not approved, so it was not started; {spec.origin} asks for {launch_words(spec)}",
            f"Look at it with hub mcp status {name}; approve it with: hub mcp approve {name}",
        )
        for name, spec in servers.items()
    ]
    return found + [
        Finding("trust", "warning", f"withheld: {part}", "Look at it with: hub trust")
        for part in setup.withheld
        if not (part.kind == "server" and part.name in servers)
    ]


async def _tell_servers_and_roles(setup: Setup, tell: Callable[[Finding], None]) -> None:
    try:
        specs = server_specs(setup.loaded)
    except HubError as error:
        tell(broken("servers", error))
        return
    stderr: dict[str, str] = {}

    def hear(event: ev.Event) -> None:
        if isinstance(event, ev.ServerFailed):
            stderr[event.server] = event.stderr

    catalog = Catalog()
    async with opened(setup, specs, hear) as servers, anyio.create_task_group() as asking:
        for spec in specs:
            asking.start_soon(_tell_server, servers, spec, stderr, catalog, tell)
    catalog.settle(offers(setup.loaded, setup.workspace, sys.platform))
    for finding in roles(setup, catalog.names()):
        tell(finding)


async def _tell_server(
    servers: LazyServers,
    spec: ServerSpec,
    stderr: Mapping[str, str],
    catalog: Catalog,
    tell: Callable[[Finding], None],
) -> None:
    name = f"server {spec.name}"
    started = anyio.current_time()
    try:
        listing = await servers.listing(spec.name)
    except HubError as error:
        finding = broken(name, error)
        message = of_server(spec.name, finding.message)
        said = stderr.get(spec.name, "").strip()
        if said and said not in message:
            message = f"{message}; it wrote:\n{said}"
        closer = f"Look closer with: hub mcp test {spec.name}, or hub mcp logs {spec.name}"
        tell(replace(finding, message=message, remedy=finding.remedy or closer))
        return
    took = anyio.current_time() - started
    servers.cache.save(spec, listing)
    held = servers.pins.check(spec, listing) if servers.pins is not None else Quarantine()
    catalog.add(spec, listing, servers, held)
    tell(Finding(name, "ok", f"{len(listing.tools)} tools in {took:.1f} s, MCP {listing.protocol}"))
    for warning in listing.warnings:
        tell(Finding(name, "warning", warning))
    for part, why in parts_of(held).items():
        remedy = f"See hub mcp diff {spec.name}; accept it with: hub mcp approve {spec.name}"
        tell(Finding(name, "warning", f"{part} is held back: {why}", remedy))
