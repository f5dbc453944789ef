"""What one agent is offered of the catalog: what its grant leaves, in the form for its model."""

from collections.abc import Mapping

from hub.catalog.explain import Profile
from hub.catalog.items import McpTool
from hub.core.ports import Tool
from hub.core.team import Grant


def view(tools: Mapping[str, Tool], grant: Grant, profile: Profile) -> dict[str, Tool]:
    """Return the tools that a grant leaves, as models of a profile see them, in their order.

    A tool that such models cannot be offered in any form is left out.
    """
    found: dict[str, Tool] = {}
    for name, tool in tools.items():
        if isinstance(tool, McpTool):
            if grant.admits(name, *tool.item.other_names):
                seen = tool.to(profile)
                if not seen.withheld:
                    found[name] = seen
        elif grant.admits(name):
            found[name] = tool
    return found


def refusals(tools: Mapping[str, Tool], grant: Grant, profile: Profile) -> list[str]:
    """Return the tools that a grant leaves and that models of a profile cannot be offered."""
    return [
        f"tool {name} is withheld: {tool.to(profile).withheld}"
        for name, tool in tools.items()
        if isinstance(tool, McpTool)
        and grant.admits(name, *tool.item.other_names)
        and tool.to(profile).withheld
    ]
