"""How the faulty MCP server answers a client's first request, in both eras."""

import time

from hub.testing.faulty.extras import capabilities
from hub.testing.faulty.offer import Offer
from hub.testing.faulty.process import Process
from hub.testing.faulty.rpc import (
    HANDSHAKE_VERSION,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN_VERSION,
    UNSUPPORTED_VERSION,
    Message,
    RpcError,
    server_info,
)


def initialize(process: Process, offer: Offer) -> Message | None:
    """The result of initialize, or None when it stays without an answer.

    Raises:
        RpcError: The handshake is refused.
    """
    knobs = process.knobs
    if knobs.on("exit_on_initialize"):
        process.crash(knobs.count("exit_on_initialize"), "cannot open its database")
    if knobs.text("era") == "modern":
        versions = {"supported": [MODERN_VERSION]}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", versions)
    if knobs.on("initialize_error"):
        raise RpcError(knobs.count("initialize_error"), "The server is not ready")
    if knobs.on("initialize_never"):
        return None
    time.sleep(knobs.number("initialize_delay"))
    result: Message = {
        "protocolVersion": knobs.text("version") or HANDSHAKE_VERSION,
        "capabilities": capabilities(knobs),
    }
    if not knobs.on("no_server_info"):
        result["serverInfo"] = server_info(knobs)
    return _instructed(offer, result)


def discover(process: Process, offer: Offer, *, modern: bool) -> Message | None:
    """The result of server/discover, or None when it stays without an answer.

    Raises:
        RpcError: The server does not speak without a handshake.
    """
    if modern:
        time.sleep(process.knobs.number("initialize_delay"))
        result = {
            "supportedVersions": [MODERN_VERSION],
            "capabilities": capabilities(process.knobs),
        }
        return _instructed(offer, result)
    how = process.knobs.text("discover")
    if how == "silent":
        return None
    if how == "exit":
        process.crash(1, "unknown method server/discover")
    if how == "invalid_params":
        raise RpcError(INVALID_PARAMS, "Invalid request parameters")
    raise RpcError(METHOD_NOT_FOUND, "Method not found: server/discover")


def _instructed(offer: Offer, result: Message) -> Message:
    text = offer.instructions()
    return {**result, "instructions": text} if text else result
