"""Connections to one server without a shared pool to search.

A pool looks at each of its connections for each request, which with hundreds of agents is most of
a request's cost. Here each request in flight has a lane of its own, and lanes are used again.
"""

import ssl
import time
from collections import deque
from collections.abc import AsyncIterator
from urllib.request import getproxies

import httpx2

LANE_IDLE = 60.0
"""Seconds after which a lane that nobody uses is closed."""


class Lanes(httpx2.AsyncBaseTransport):
    """A transport that lends each request a transport with at most one connection."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._idle: deque[tuple[float, httpx2.AsyncHTTPTransport]] = deque()
        self._closed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request over a lane that is free; its end frees the lane again."""
        lane = self._idle.pop()[1] if self._idle else self._open()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._free(lane)
            raise
        response.stream = _Lent(response.stream, lane, self)
        return response

    async def aclose(self) -> None:
        """Close every lane that is free; the others close when their requests end."""
        self._closed = True
        while self._idle:
            await self._idle.pop()[1].aclose()

    async def take_back(self, lane: httpx2.AsyncHTTPTransport) -> None:
        """Free a lane, and close one that has been free for long."""
        self._free(lane)
        if self._closed or time.monotonic() - self._idle[0][0] > LANE_IDLE:
            await self._idle.popleft()[1].aclose()

    def _free(self, lane: httpx2.AsyncHTTPTransport) -> None:
        self._idle.append((time.monotonic(), lane))

    def _open(self) -> httpx2.AsyncHTTPTransport:
        limits = httpx2.Limits(
            max_connections=1, max_keepalive_connections=1, keepalive_expiry=LANE_IDLE
        )
        return httpx2.AsyncHTTPTransport(verify=self._context, limits=limits)


class _Lent(httpx2.AsyncByteStream):
    """The bytes of an answer, and the lane that they come over."""

    def __init__(self, stream: object, lane: httpx2.AsyncHTTPTransport, lanes: Lanes) -> None:
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError("an answer has to be an asynchronous stream")
        self._stream = stream
        self._lane: httpx2.AsyncHTTPTransport | None = lane
        self._lanes = lanes

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        lane, self._lane = self._lane, None
        try:
            await self._stream.aclose()
        finally:
            if lane is not None:
                await self._lanes.take_back(lane)


def transport_to(*, plain: bool) -> httpx2.AsyncBaseTransport | None:
    """Return the transport for a server; None where the environment names a proxy to go through."""
    if getproxies():
        return None
    if plain:
        # httpx2 takes 25 ms to make a context; this one trusts nobody and is never used
        return Lanes(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    return Lanes(httpx2.create_ssl_context())
