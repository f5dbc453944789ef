"""How two listings of one MCP server differ."""

from hub.core.events import CatalogChanged
from hub.core.ports import ServerListing


def listing_change(before: ServerListing, now: ServerListing) -> CatalogChanged | None:
    """Return what changed between two listings of one server; None when nothing did."""
    old = {tool.name: tool for tool in before.tools}
    new = {tool.name: tool for tool in now.tools}
    prompts, resources = before.prompts != now.prompts, before.resources != now.resources
    if old == new and not prompts and not resources:
        return None
    return CatalogChanged(
        server=now.server,
        added=[name for name in new if name not in old],
        removed=[name for name in old if name not in new],
        changed=[name for name in new if name in old and new[name] != old[name]],
        prompts=prompts,
        resources=resources,
    )
