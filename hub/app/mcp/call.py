"""One call of one tool by the user, on the way that calls of a run take."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from msgspec import Struct

from hub.app.mcp.catalog import Known
from hub.app.mcp.looks import View, look_around
from hub.app.mcp.opened import opened
from hub.app.mcp.rights import judge
from hub.app.mcp.target import not_approved
from hub.app.servers import LazyServers
from hub.catalog.catalog import Catalog, build_catalog
from hub.catalog.items import McpTool
from hub.config.offers import offers
from hub.core.asking import Elicitation, Elicited, Elicitor, Sampled, Sampling
from hub.core.errors import ServerError, UsageError
from hub.core.events import Event
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext
from hub.core.servers import ServerSpec
from hub.permissions.policy import Ruling
from hub.pipeline.arguments import BadArguments, coerce, parse_arguments, validate

STOPPED = ToolOutcome(
    "stopped; the call was cancelled and may have run", is_error=True, kind="cancelled"
)
"""What a call comes to that the user stops."""
Progress = Callable[[str, float | None, float | None], None]
"""Is told how far the call is: message, progress, total."""


class _UserAnswers(Struct):
    """The Answers port where the user calls and no agent is at work."""

    elicitor: Elicitor

    async def elicit(self, question: Elicitation) -> Elicited:
        """Put the question to the user."""
        return await self.elicitor.elicit(question)

    async def sample(self, request: Sampling, context: CallContext) -> Sampled:
        """Refuse: there is no agent whose model could answer."""
        return Sampled(refused="the user made this call, so that no model is at work")


class Called(Struct, frozen=True):
    """What became of a call."""

    tool: str
    """The model-facing name."""
    outcome: ToolOutcome
    ruling: Ruling = Ruling("allow", "the user asked for it")

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        outcome = self.outcome
        return {
            "tool": self.tool,
            "ok": not outcome.is_error,
            "kind": outcome.kind,
            "text": outcome.text,
            "structured": outcome.structured,
            "blocks": list(outcome.blocks),
            "warnings": list(outcome.warnings),
            "permission": {
                "effect": self.ruling.effect,
                "reason": self.ruling.reason,
                "origin": self.ruling.origin,
            },
        }


async def call_tool(
    workspace: Path,
    name: str,
    arguments: str,
    *,
    progress: Progress,
    stop: anyio.Event,
    elicitor: Elicitor,
    strict_mcp: Path | None = None,
    emit: Callable[[Event], None] = lambda event: None,
) -> Called:
    """Call a tool, named as ``server/tool`` or as models see it, with arguments as JSON text.

    Its server has to be approved, what it says of itself has to agree with the pins, and no rule
    may deny the call. A rule that would ask counts as a yes, since the user asks for the call. All
    that goes wrong from there on is an outcome. ``stop`` cancels the call at the server;
    ``elicitor`` is asked what the server asks the user.

    Raises:
        UsageError: there is no such tool, it is withheld, or its server is not approved.
        ServerError: the server has to be asked for its tools and does not start.
    """
    view = look_around(workspace, strict_mcp=strict_mcp)
    spec = _server_of(view, name)
    answers = _UserAnswers(elicitor)
    async with opened(view.setup, [spec], emit, answers=answers) as servers:
        # The servers stay open while a call is cancelled, so that they can be told.
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_on, stop, scope)
                called = await _called(view, spec, servers, name, arguments, progress)
                group.cancel_scope.cancel()
            return called
        return Called(name, STOPPED)


async def _cancel_on(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


async def _called(
    view: View,
    spec: ServerSpec,
    servers: LazyServers,
    name: str,
    arguments: str,
    progress: Progress,
) -> Called:
    tool = await _tool(view, spec, servers, name)
    ruling = judge(view.setup, tool.spec)
    if ruling.effect == "deny":
        text = f"denied: {ruling.reason}. The call did not run."
        return Called(tool.spec.name, ToolOutcome(text, is_error=True, kind="denied"), ruling)
    try:
        ready = _ready(tool, arguments)
    except (BadArguments, ValueError) as error:
        outcome = ToolOutcome(str(error), is_error=True, kind="invalid_arguments")
    else:
        outcome = await tool.call(ready, CallContext("", "user", "call", progress))
    return Called(tool.spec.name, outcome, ruling)


def arguments_of(given: str | None, pairs: Sequence[str]) -> str:
    """Return arguments as JSON text, out of a JSON object or of ``key=value`` texts.

    A value stays a text; what the tool's schema wants to be a number, a boolean, an array or an
    object is made one later.

    Raises:
        UsageError: both are given, or a text is no pair.
    """
    if given is not None and pairs:
        raise UsageError("give arguments with --args or as key=value, not both")
    if given is not None:
        return given
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(
                f"{pair!r} is no argument",
                remedy='Write key=value, or a JSON object: --args \'{"key": "value"}\'.',
            )
        found[key] = value
    return json.dumps(found)


def _ready(tool: McpTool, arguments: str) -> dict[str, Any]:
    """Return the arguments as the server is to have them."""
    schema: Mapping[str, Any] = tool.validation_schema
    complete = tool.complete(parse_arguments(arguments))
    ready = coerce(complete, dict(schema))
    validate(ready, dict(schema))
    return ready


def _server_of(view: View, name: str) -> ServerSpec:
    """Return the server of a tool, from its name alone where that is enough."""
    server, slash, _ = name.partition("/")
    look = view.find(server) if slash else None
    if look is None:
        look = view.find(Known(view).find(name).server.name)
    if look.standing is None:
        raise UsageError(
            f"the MCP server {look.spec.name!r} is switched off",
            where=f"{look.spec.origin} (servers.{look.spec.name})",
        )
    if not look.standing.approved:
        raise not_approved(look.spec)
    return look.spec


async def _tool(view: View, spec: ServerSpec, servers: LazyServers, name: str) -> McpTool:
    """Return the tool, ready to be called; a server that was never listed is asked first."""
    setup = view.setup
    offered = offers(setup.loaded, setup.workspace, sys.platform)
    catalog = await build_catalog(
        [spec], servers=servers, cache=servers.cache, pins=servers.pins, offers=offered
    )
    if spec.name in catalog.failed:
        raise ServerError(catalog.failed[spec.name], server=spec.name)
    return _picked(catalog, view, name)


def _picked(catalog: Catalog, view: View, name: str) -> McpTool:
    found = Known(view, catalog).find(name)
    tool = catalog.tools.get(found.name)
    if tool is not None and tool.item is found:
        return tool
    server = found.server.name
    raise UsageError(
        f"the tool {found.said.name!r} of {server!r} is withheld: {found.withheld}",
        where=f"{found.server.origin} (servers.{server})",
        remedy=f"See why with: hub mcp explain {server}/{found.said.name}",
    )
