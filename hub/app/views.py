"""What one agent is offered of the catalog: what its grant leaves, in the form for its model."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.catalog.arguments import Completion
from hub.catalog.explain import Profile
from hub.catalog.items import McpTool
from hub.catalog.profiles import translated
from hub.catalog.schemas import Untranslatable, lowered
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext, Tool
from hub.core.team import Grant

MANY = 500
"""Tools above which nobody looks at all of them before they are needed: a search loads them."""


def view(tools: Mapping[str, Tool], grant: Grant, profile: Profile) -> dict[str, Tool]:
    """Return the tools that a grant leaves, as models of a profile see them, in their order.

    A tool that such models cannot be offered in any form is left out; where there are very many,
    the search over them leaves it out.
    """
    found: dict[str, Tool] = {}
    for name, tool in tools.items():
        if isinstance(tool, McpTool):
            if grant.admits(name, *tool.item.other_names):
                found[name] = tool.to(profile)
        elif grant.admits(name):
            found[name] = tool
    if len(found) > MANY:
        return found
    return {name: tool for name, tool in found.items() if not _refused(tool)}


def refusals(tools: Mapping[str, Tool], grant: Grant, profile: Profile) -> list[str]:
    """Return the tools that a grant leaves and that models of a profile cannot be offered.

    Very many tools are not looked at, see ``view``.
    """
    found = {
        name: tool.to(profile)
        for name, tool in tools.items()
        if isinstance(tool, McpTool) and grant.admits(name, *tool.item.other_names)
    }
    if len(found) > MANY:
        return []
    return [
        f"tool {name} is withheld: {tool.withheld}" for name, tool in found.items() if tool.withheld
    ]


def _refused(tool: Tool) -> bool:
    return isinstance(tool, McpTool) and bool(tool.withheld)


class Fitted:
    """One of the hub's own tools in the form for the models of one profile."""

    def __init__(self, tool: Tool, profile: Profile) -> None:
        own = tool.spec
        sound = lowered(own.parameters).parameters
        form = translated(own.name, own.description, sound, profile)
        self.spec = replace(own, description=form.description, parameters=form.parameters)
        """How it is offered."""
        self.validation_schema: dict[str, Any] = (
            getattr(tool, "validation_schema", None) or own.parameters
        )
        """What its arguments are checked against."""
        self._tool = tool
        self._completion = Completion(restores=form.restores)

    def complete(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the tool takes them."""
        return self._completion.complete(arguments)

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        """Run it."""
        return await self._tool.call(arguments, context)


def fitted(tool: Tool, profile: Profile) -> Tool:
    """Return a tool of the hub itself in the form for a profile; others already are.

    Most profiles take them as they are; one that cannot take a tool is sent it as it is.
    """
    if profile != "gemini" or isinstance(tool, McpTool):
        return tool
    try:
        return Fitted(tool, profile)
    except Untranslatable:
        return tool
