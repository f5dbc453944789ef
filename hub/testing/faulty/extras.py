"""What the faulty MCP server offers beside its tools: prompts and resources, odd where told so."""

from hub.testing.faulty.knobs import Knobs
from hub.testing.faulty.offer import Offer
from hub.testing.faulty.pages import page_of
from hub.testing.faulty.process import Process
from hub.testing.faulty.rpc import METHOD_NOT_FOUND, Message, RpcError

CHANGED = ("notifications/prompts/list_changed", "notifications/resources/list_changed")
"""What is announced when prompts and resources change."""

_ODD: list[object] = [
    {"description": "Has neither a name nor an address."},
    {"name": 7, "uri": [], "uriTemplate": {}},
    "not even an object",
]


def capabilities(knobs: Knobs) -> Message:
    """What the server says that it has."""
    tools: Message = {"tools": {"listChanged": True}, "logging": {}}
    if knobs.on("only_tools"):
        return tools
    return {**tools, "prompts": {"listChanged": True}, "resources": {"listChanged": True}}


def prompts_page(process: Process, offer: Offer, cursor: str | None) -> Message | None:
    """The result of prompts/list, or None when it stays without an answer.

    Raises:
        RpcError: The list is refused, or the cursor is not one of ours.
    """
    if process.knobs.on("exit_on_prompts"):
        process.crash(process.knobs.count("exit_on_prompts"), "unknown method prompts/list")
    more = [{"name": f"more-{number}"} for number in range(offer.more)]
    return _page(process.knobs, "prompts", [*offer.prompts(), *more], cursor)


def resources_page(process: Process, offer: Offer, cursor: str | None) -> Message | None:
    """The result of resources/list, or None when it stays without an answer.

    Raises:
        RpcError: The list is refused, or the cursor is not one of ours.
    """
    count = process.knobs.count("resources") + offer.more
    found: list[object] = [
        {"uri": f"note://{number}", "name": f"note {number}", "mimeType": "text/plain"}
        for number in range(count)
    ]
    return _page(process.knobs, "resources", found, cursor)


def templates_page(process: Process, _offer: Offer, cursor: str | None) -> Message | None:
    """The result of resources/templates/list, or None when it stays without an answer.

    Raises:
        RpcError: The list is refused, or the cursor is not one of ours.
    """
    if process.knobs.on("no_templates"):
        raise RpcError(METHOD_NOT_FOUND, "Method not found: resources/templates/list")
    found: list[object] = [{"uriTemplate": "note://{number}", "name": "one note"}]
    return _page(process.knobs, "resourceTemplates", found, cursor)


def _page(knobs: Knobs, key: str, members: list[object], cursor: str | None) -> Message | None:
    if knobs.on("extras_never"):
        return None
    if knobs.on("extras_error"):
        raise RpcError(knobs.count("extras_error"), f"The {key} cannot be listed")
    if knobs.on("odd_extras"):
        members = [*_ODD, *members]
    return page_of(knobs, members, cursor, key)
