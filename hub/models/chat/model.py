"""The Model port over Chat Completions of any OpenAI-compatible server.

The `openai` package carries the requests; bodies are prepared here and answers are read as raw
bytes, because its own way walks the whole history for each request and builds an object for each
delta.
"""

import random
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import anyio
import httpx2
import openai
from msgspec.structs import replace

from hub.core.errors import ModelError
from hub.core.messages import Message, Usage
from hub.core.modelspec import ModelSpec
from hub.core.ports import Clock
from hub.core.prices import Price
from hub.core.requests import Completion, ModelRequest, RetryNotice
from hub.models.chat import verdict
from hub.models.chat.call_ids import ids_of
from hub.models.chat.check import check
from hub.models.chat.fault import AttemptFailed, Place, of_status, of_stream
from hub.models.chat.feed import Fed, Feed
from hub.models.chat.lanes import transport_to
from hub.models.chat.reader import read
from hub.models.chat.retry import Retries
from hub.models.chat.sse import NotEvents
from hub.models.chat.stream import Assembly, StreamFault
from hub.models.chat.transport import of_break, of_connecting, of_request
from hub.models.chat.watch import IdleWatch
from hub.models.chat.wire import Dialect, Encoder

_BROKEN = (httpx2.RequestError, ssl.SSLError, anyio.EndOfStream)
NO_KEY = "no-key"
"""Sent to servers that ask for no key; the SDK insists on one."""
MAX_ADAPTATIONS = 3

_HEADERS = {"content-type": "application/json", "accept": "text/event-stream"}


class Endpoint:
    """The connections to one base URL with one key, shared by the models that live there."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._client: openai.AsyncOpenAI | None = None

    @staticmethod
    def key(spec: ModelSpec) -> tuple[Any, ...]:
        """Return what two entries must have in common to share connections."""
        headers = tuple(sorted(spec.headers.items()))
        return (Place(spec).base_url, spec.api_key, headers, spec.connect_timeout)

    @asynccontextmanager
    async def sending(self, body: bytes) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a request for a chat completion and yield the bytes of its answer."""
        if self._client is None:
            self._client = client_for(self._spec)
        response = cast(
            "httpx2.Response",
            await self._client.post(
                "/chat/completions",
                content=body,
                cast_to=cast("Any", httpx2.Response),
                options={"headers": _HEADERS},
                stream=True,
                stream_cls=openai.AsyncStream[Any],
            ),
        )
        try:
            coded = "content-encoding" in response.headers
            async with aclosing(response.aiter_bytes() if coded else response.aiter_raw()) as raw:
                yield raw
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None


class ChatModel:
    """A model behind an OpenAI-compatible server."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        clock: Clock,
        endpoint: Endpoint | None = None,
        dice: random.Random | None = None,
    ) -> None:
        self._spec = spec
        self._place = Place(spec)
        self._clock = clock
        self._endpoint = endpoint or Endpoint(spec)
        self._dice = dice or random.Random()
        self._encoder = Encoder(spec)
        limit_key = "max_completion_tokens" if self._place.is_openai else "max_tokens"
        self._dialect = Dialect(limit_key, session=self._place.is_openai)

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self._spec.name

    @property
    def price(self) -> Price | None:
        """What its tokens cost, as the settings say; None when they do not."""
        return self._spec.price

    @property
    def output_cap(self) -> int | None:
        """Most tokens of one answer, as the settings say; None when they do not."""
        return self._spec.max_output_tokens

    def stream(self, request: ModelRequest) -> Fed:
        """Open the answer to a request. The last item is a Completion.

        Raises:
            ModelError: no usable answer.
        """
        check(self._place)
        return Fed(lambda feed: self._serve(request, feed))

    def leftover(self, messages: Sequence[Message]) -> str:
        """Return nothing: a real model has no script."""
        return ""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _serve(self, request: ModelRequest, feed: Feed) -> None:
        try:
            completion = await self._answer(request, feed)
        except ModelError as error:
            feed.close(error)
        else:
            feed.put(completion)
            feed.close()

    async def _answer(self, request: ModelRequest, feed: Feed) -> Completion:
        retries = Retries(self._spec.max_retries, self._clock, self._dice)
        spent = Usage()
        adaptations = 0
        while True:
            dialect = self._dialect
            try:
                completion = await self._attempt(request, feed, dialect)
                return _charged(completion, spent)
            except AttemptFailed as failed:
                failure = failed
            delay: float | None = 0.0
            if adaptations < MAX_ADAPTATIONS and self._adapts(failure, request, dialect):
                adaptations += 1
            else:
                delay = retries.delay(failure)
            if delay is None:
                if failure.partial is None:
                    raise failure.error
                return _charged(failure.partial, spent)
            spent += failure.usage or Usage()
            error = failure.error
            attempt = retries.failed + adaptations
            feed.put(RetryNotice(attempt, delay, error.message, error.status))
            await self._clock.sleep(delay)

    def _adapts(self, failure: AttemptFailed, request: ModelRequest, dialect: Dialect) -> bool:
        if failure.error.status not in {400, 422}:
            return False
        better = dialect.after(failure.error.message, self._encoder.parts(request))
        if better is None:
            return False
        self._dialect = better
        return True

    async def _attempt(self, request: ModelRequest, feed: Feed, dialect: Dialect) -> Completion:
        spec, place = self._spec, self._place
        body = self._encoder.body(request, dialect)
        assembly = Assembly(feed.text, feed.reasoning)
        with anyio.CancelScope() as scope:
            first = spec.connect_timeout + spec.idle_timeout
            watch = IdleWatch(scope, idle=spec.idle_timeout, first=first)
            try:
                async with self._endpoint.sending(body) as chunks:
                    await read(chunks, assembly, feed, watch)
            except openai.APIStatusError as error:
                raise of_status(
                    place, error.status_code, error.response.headers, error.body
                ) from None
            except openai.APIConnectionError as error:
                raise unreached(place, error.__cause__ or error) from None
            except StreamFault as fault:
                raise of_stream(place, fault.error) from None
            except NotEvents as odd:
                raise verdict.not_events(place, str(odd)) from None
            except _BROKEN:
                if not assembly.events:
                    raise of_break(place) from None
        if scope.cancelled_caught and not assembly.complete:
            raise verdict.idle(place, assembly)
        return verdict.usable(
            place, assembly, ids_of(request.messages) if assembly.calls else set()
        )


def client_for(spec: ModelSpec) -> openai.AsyncOpenAI:
    """Return a client of the SDK that retries nothing and has room for hundreds of requests."""
    place = Place(spec)
    parts = urlsplit(place.base_url)
    plain = parts.scheme == "http"
    http = httpx2.AsyncClient(
        transport=transport_to(plain=plain),
        verify=not plain,
        follow_redirects=not plain,
        timeout=httpx2.Timeout(None, connect=spec.connect_timeout),
        limits=httpx2.Limits(
            max_connections=None, max_keepalive_connections=512, keepalive_expiry=60.0
        ),
    )
    return openai.AsyncOpenAI(
        api_key=spec.api_key.strip() or NO_KEY,
        base_url=urlunsplit(parts._replace(query="", fragment="")),
        default_query=dict(parse_qsl(parts.query)) or None,
        default_headers=dict(spec.headers) or None,
        max_retries=0,
        http_client=http,
    )


def unreached(place: Place, cause: BaseException) -> AttemptFailed:
    """Return the failure of a request that the SDK could not bring to an answer."""
    unreached = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
    if isinstance(cause, unreached):
        return of_connecting(place, cause)
    if isinstance(cause, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        return of_request(place)
    return of_break(place)


def _charged(completion: Completion, spent: Usage) -> Completion:
    """Add what earlier attempts have cost; unknown stays unknown."""
    if completion.usage is None:
        return completion
    return replace(completion, usage=spent + completion.usage)
