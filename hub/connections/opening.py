"""How each kind of server is reached: what goes into an MCP client, and with which environment."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from msgspec import Struct, field

from hub.connections.masking import hidden_values
from hub.connections.mending import Mending
from hub.connections.oauth import SignedIn, auth_for
from hub.connections.sse import sse_transport
from hub.connections.stdio import PROBE, server_environment, stdio_transport
from hub.connections.tokens import TokenStore
from hub.connections.watch import Watch
from hub.core.asking import Answers, NoAnswers
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.core.events import Event
from hub.core.ports import Clock
from hub.core.servers import ServerSpec

BUNDLED: Mapping[str, str] = {
    "files": "hub_servers.files",
    "shell": "hub_servers.shell",
    "notes": "hub_servers.notes",
}
"""The servers that come with the hub, and the module of each."""
KEYRING = "${keyring:"
HTTP_READ_LIMIT = 3600.0
"""Seconds that an HTTP response may be silent; calls have limits of their own, far below."""


class Place(Struct, frozen=True):
    """Where servers run and what they may see."""

    workspace: Path
    env: Mapping[str, str]
    """Our own environment; servers get an allow-list of it."""
    resolve: Callable[[ServerSpec], ServerSpec]
    """Replaces references to variables and secrets at the moment of the start.

    Raises an error that names the server's place when one is missing."""
    tokens: TokenStore | None = None
    """Where sign-ins are kept; None when nobody is ever signed in."""
    clock: Clock = field(default_factory=SystemClock)
    answers: Answers = field(default_factory=NoAnswers)
    """Who answers what servers ask."""
    emit: Callable[[Event], None] = lambda event: None
    """Is told that they asked, where that belongs to no call."""


async def open_server(spec: ServerSpec, place: Place, watch: Watch) -> Any:
    """Return what an MCP client connects to: a server object, or a transport.

    Raises:
        ServerError: a bundled server of this name does not exist.
        HubError: a variable that the spec refers to is not set.
    """
    written, spec = spec, await _resolved(spec, place)
    watch.hidden = hidden_values(written, spec)
    if spec.transport == "http":
        return _http(spec, place, watch)
    if spec.transport == "sse":
        return sse_transport(
            spec.url,
            headers=spec.headers,
            watch=watch,
            open_http=partial(_sse_client, auth_for(spec, place.tokens, place.clock, watch)),
            limit=spec.start_timeout,
            read_limit=HTTP_READ_LIMIT,
        )
    if spec.transport == "memory":
        return import_module(_module(spec)).create_server(place.workspace)
    return _stdio(spec, place, watch)


async def _resolved(spec: ServerSpec, place: Place) -> ServerSpec:
    """Put in what the spec refers to; a keyring may wait for its user, so it is asked aside."""
    if KEYRING in repr(spec):
        return await anyio.to_thread.run_sync(place.resolve, spec, abandon_on_cancel=True)
    return place.resolve(spec)


def _stdio(spec: ServerSpec, place: Place, watch: Watch) -> AbstractAsyncContextManager[Any]:
    return stdio_transport(
        [spec.command, *spec.args],
        cwd=place.workspace / spec.cwd if spec.cwd else place.workspace,
        env=server_environment(place.env, spec.env),
        watch=watch,
        probe_limit=spec.start_timeout / 2,
    )


def _module(spec: ServerSpec) -> str:
    if spec.command not in BUNDLED:
        raise ServerError(
            f"there is no bundled server {spec.command!r}",
            server=spec.name,
            where=str(spec.origin),
            remedy=f"The bundled servers are: {', '.join(BUNDLED)}.",
        )
    return BUNDLED[spec.command]


def _sse_client(auth: SignedIn | None, **given: Any) -> Any:
    return create_mcp_http_client(**{**given, "auth": auth})


@asynccontextmanager
async def _http(spec: ServerSpec, place: Place, watch: Watch) -> AsyncIterator[Any]:
    async def notice(response: Any) -> None:
        if response.request.method == "POST":
            watch.status = response.status_code if response.status_code >= 400 else 0

    async def hurry(request: Any) -> None:
        if request.headers.get("mcp-method") == PROBE:
            # The SDK waits for ten seconds, which may leave too little of the limit.
            request.extensions.setdefault("timeout", {})["read"] = spec.start_timeout / 2

    auth = auth_for(spec, place.tokens, place.clock, watch)
    async with create_mcp_http_client(headers=dict(spec.headers), auth=auth) as http:
        # In the order of httpx2: connect, read, write, pool.
        http.timeout = (spec.start_timeout, HTTP_READ_LIMIT, spec.start_timeout, spec.call_timeout)
        http.event_hooks = {"request": [hurry], "response": [notice]}
        async with streamable_http_client(spec.url, http_client=http, max_sse_event_size=None) as (
            incoming,
            outgoing,
        ):
            yield Mending(incoming, watch), outgoing
