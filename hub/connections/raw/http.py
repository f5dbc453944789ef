"""A server under test that is reached over HTTP, through the transport that runs use as well."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import jsonrpc_message_adapter

from hub.connections.faults import telling_leaf
from hub.connections.mending import LISTS, ORIGINALS
from hub.connections.opening import Place, open_server
from hub.connections.raw.wire import Json, Wire
from hub.connections.watch import Watch
from hub.core.errors import HubError, ServerError
from hub.core.servers import ServerSpec

_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)


@asynccontextmanager
async def address_under_test(spec: ServerSpec, place: Place, watch: Watch) -> AsyncIterator[Wire]:
    """Connect to an address; leaving the block ends the connection.

    Raises:
        ServerError: it cannot be reached, or the connection breaks.
        ConfigError: a variable that the spec refers to is not set.
    """
    try:
        async with _connected(spec, place, watch) as wire:
            yield wire
    except HubError:
        raise
    except (Exception, BaseExceptionGroup) as error:
        fault = telling_leaf(error)
        if not isinstance(fault, Exception):
            raise
        words = watch.told(f"{type(fault).__name__}: {fault}")
        message = f"cannot be reached, or broke the connection: {words}"
        raise ServerError(message, server=spec.name, where=str(spec.origin)) from None


@asynccontextmanager
async def _connected(spec: ServerSpec, place: Place, watch: Watch) -> AsyncIterator[Wire]:
    async with await open_server(spec, place, watch) as (incoming, outgoing):

        async def send(message: Json, headers: Mapping[str, str]) -> None:
            parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
            metadata = ClientMessageMetadata(headers=dict(headers) or None)
            await outgoing.send(SessionMessage(parsed, metadata))

        wire = Wire(send)
        async with anyio.create_task_group() as group:
            group.start_soon(_read, wire, incoming, send)
            try:
                yield wire
            finally:
                group.cancel_scope.cancel()


async def _read(wire: Wire, incoming: Any, send: Any) -> None:
    with suppress(*_GONE):
        async for item in incoming:
            if isinstance(item, Exception):
                wire.traffic.malformed.append(f"{type(item).__name__}: {item}"[:200])
                continue
            message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            answer = wire.take(_unmended(message))
            if answer is not None:
                await send(answer, {})
    wire.close()


def _unmended(message: Json) -> Json:
    """Put the members of a page back where the server had them."""
    result = message.get("result")
    if not isinstance(result, dict):
        return message
    meta = result.get("_meta")
    if isinstance(meta, dict) and ORIGINALS in meta:
        listed = next((name for name in LISTS if name in result), "tools")
        rest = {key: value for key, value in meta.items() if key != ORIGINALS}
        return {**message, "result": {**result, listed: meta[ORIGINALS], "_meta": rest}}
    return message
