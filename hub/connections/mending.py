"""Mends what servers answer, so that one bad part costs only itself.

The SDK checks each result as a whole against the protocol: one tool without a schema would make
the server's whole list unusable, and one block of a new kind would turn a call that ran into an
error. What the checks would refuse is therefore taken out before; the members of a list go beside
it, as the server wrote them.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol

import anyio
from mcp import types
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import TypeAdapter, ValidationError

from hub.connections.watch import Watch

ORIGINALS = "hub/members"
"""Key in ``_meta`` under which the members of a page stand as the server wrote them."""
LISTS = ("tools", "prompts", "resources", "resourceTemplates")
"""The members of results that are lists of what a server offers."""

_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)


class Incoming(Protocol):
    """What is used of a transport's stream of messages."""

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message."""
        ...

    async def aclose(self) -> None:
        """Close the stream."""
        ...


def message_of(line: bytes, watch: Watch) -> SessionMessage | None:
    """Read one line of a stdio server; what is no message is counted and left out."""
    line = line.removeprefix(b"\xef\xbb\xbf").strip()
    if not line:
        return None
    if line.startswith(b"{"):
        text = line.decode("utf-8", "replace")
        try:
            return mended(
                SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
            )
        except ValueError:
            pass
    watch.skipped(line)
    return None


def mended(message: SessionMessage) -> SessionMessage:
    """Mend the result in a message, if it has one that needs it."""
    inner = message.message
    if isinstance(inner, types.JSONRPCResponse):
        result = inner.result
        if "content" in result or "structuredContent" in result:
            _mend_content(result)
        elif (listed := next((key for key in LISTS if key in result), None)) is not None:
            _mend_page(result, listed)
        elif "protocolVersion" in result and not isinstance(result.get("serverInfo"), Mapping):
            result["serverInfo"] = {"name": "", "version": ""}
    return message


def _mend_page(result: dict[str, Any], listed: str) -> None:
    members, meta = result[listed], result.get("_meta")
    entries = members if isinstance(members, list) else []
    result[listed] = []
    result["_meta"] = {**(meta if isinstance(meta, dict) else {}), ORIGINALS: entries}
    if not isinstance(result.get("nextCursor"), str):
        result.pop("nextCursor", None)


def _mend_content(result: dict[str, Any]) -> None:
    content = result.get("content")
    if not isinstance(content, list):
        content = []
    result["content"] = [_legal_block(block) for block in content]
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = True


def _legal_block(block: Any) -> Any:
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        kind = block.get("type") if isinstance(block, Mapping) else type(block).__name__
        return {
            "type": "text",
            "text": f"[a block of the unknown or broken type {str(kind)[:40]!r}]",
        }
    return block


class Mending:
    """A transport's stream of messages, each mended on its way."""

    def __init__(self, inner: Incoming, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    @property
    def last_context(self) -> Any:
        """The context of whoever sent the latest message, where the transport keeps it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Wait for the next message."""
        try:
            message = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._watch.closed.set()
            raise
        return mended(message) if isinstance(message, SessionMessage) else message

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> "Mending":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "Mending":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
