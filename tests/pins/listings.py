"""Listings of the faulty server, as the tests of the pins need them."""

from collections.abc import Sequence
from typing import Any

from hub.core.ports import RemotePrompt, RemoteResource, RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.core.team import Origin
from hub.testing.faulty.knobs import Knobs, parse_knob
from hub.testing.faulty.offer import Offer as FaultyOffer

USER = Origin("user", "config.yaml", 3)


def remote_tool(said: dict[str, Any]) -> RemoteTool:
    """A tool as it is read from the wire."""
    return RemoteTool(
        name=said["name"],
        description=said.get("description", ""),
        input_schema=said.get("inputSchema", {"type": "object"}),
        output_schema=said.get("outputSchema"),
        title=said.get("title", ""),
        annotations=said.get("annotations", {}),
        meta=said.get("_meta", {}),
    )


def faulty_listing(*knobs: str) -> ServerListing:
    """What the faulty server lists with these knobs."""
    offer = FaultyOffer(Knobs([parse_knob(knob) for knob in knobs]))
    return listing(
        *map(remote_tool, offer.tools()),
        instructions=offer.instructions(),
        prompts=[RemotePrompt("greet", arguments=({"name": "name", "required": True},))],
    )


def listing(
    *tools: RemoteTool,
    instructions: str = "",
    prompts: Sequence[RemotePrompt] = (),
    resources: Sequence[RemoteResource] = (),
) -> ServerListing:
    """A listing of these parts."""
    return ServerListing(
        "own",
        "2025-06-18",
        tools,
        instructions=instructions,
        prompts=tuple(prompts),
        resources=tuple(resources),
    )


def stdio(*args: str, origin: Origin = USER, **parts: Any) -> ServerSpec:
    """A server on stdio that nobody starts."""
    return ServerSpec("own", "stdio", command="serve", args=args, origin=origin, **parts)
