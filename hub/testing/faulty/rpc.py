"""JSON-RPC words of the faulty MCP server: messages, errors, and the place that messages go to."""

from typing import Any, Protocol

from hub.testing.faulty.knobs import Knobs

Message = dict[str, Any]
"""One JSON object of the wire."""

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

HANDSHAKE_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"


def server_info(knobs: Knobs) -> Message:
    """How the server introduces itself."""
    return {"name": "faulty", "version": knobs.text("server_version") or "1.0"}


class RpcError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def member(self) -> Message:
        """The member `error` of the reply."""
        error: Message = {"code": self.code, "message": str(self)}
        return error if self.data is None else {**error, "data": self.data}


class Outlet(Protocol):
    """Where messages for the client go: the pipe, or the response to one POST."""

    def send(self, message: Message) -> None:
        """Write one message."""

    def tear(self, message: Message) -> None:
        """Write half of a message."""

    def drop(self) -> None:
        """Close the connection without a word, where there is one."""

    def withhold(self) -> None:
        """Leave the request that this outlet answers without a reply."""

    def gone(self) -> bool:
        """Whether the client has closed the connection."""


def notification(method: str, **params: Any) -> Message:
    """A message that asks for no reply."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    return {**message, "params": params} if params else message


def reply(request: Message, result: Message) -> Message:
    """The answer to a request."""
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def refusal(request: Message, error: RpcError) -> Message:
    """The answer to a request that failed."""
    return {"jsonrpc": "2.0", "id": request.get("id"), "error": error.member()}
