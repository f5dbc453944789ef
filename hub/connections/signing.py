"""Signs the user in at a remote server: OAuth 2.1 with PKCE, in a browser that comes back to us.

The SDK's client finds the provider (RFC 9728, RFC 8414), registers hub there (RFC 7591) unless the
settings name a client, and checks what comes back. Here is what it is given: an address on
loopback, our settings, and a place to put the result.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio
import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
)
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthToken,
)
from msgspec import Struct
from pydantic import AnyUrl

from hub.connections.callback import Callback, open_callback
from hub.connections.masking import masked
from hub.connections.registration import Memory, Metadata, choose_method, known_client, port_of
from hub.connections.renewal import expiry
from hub.connections.tokens import SignIn, TokenStore
from hub.core.errors import ConfigError, ServerError
from hub.core.ports import Clock
from hub.core.servers import OAuth, ServerSpec
from hub.core.text import one_line
from hub.version import __version__

REQUEST_LIMIT = 30.0
"""Seconds that a single request may take."""
VERSION = "2025-11-25"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": {"name": "hub", "version": __version__},
    },
}
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LOGGER = "mcp"
_UNHEARD = logging.NullHandler()

ShowAddress = Callable[[str], Awaitable[None]]
"""Takes the user to an address, or tells it."""


class Site(Struct, frozen=True):
    """What is needed to sign in at a server."""

    spec: ServerSpec
    """With every reference replaced."""
    store: TokenStore
    clock: Clock
    scopes: tuple[str, ...] = ()
    """What is asked for; empty asks for what the settings or else the server name."""

    @property
    def oauth(self) -> OAuth:
        """What the settings say of it."""
        return self.spec.oauth or OAuth()


class _Flow:
    """One sign-in on its way."""

    def __init__(
        self, site: Site, callback: Callback, show: ShowAddress, before: SignIn | None
    ) -> None:
        self.site = site
        self.memory = Memory(known_client(site.oauth, before, callback.address))
        self.hidden = {site.oauth.client_secret: "(secret)"} if site.oauth.client_secret else {}
        self._callback = callback
        self._show = show
        wanted = site.scopes or site.oauth.scopes
        self.provider = OAuthClientProvider(
            site.spec.url,
            Metadata(
                client_name="hub",
                software_id="hub",
                software_version=__version__,
                redirect_uris=[AnyUrl(callback.address)],
                token_endpoint_auth_method="none",
                scope=" ".join(wanted) or None,
            ),
            self.memory,
            self._redirect,
            self._landed,
        )

    async def knock(self) -> None:
        """Send a request that the server refuses until the user has signed in.

        Raises:
            ServerError: the server refuses it afterwards, too.
        """
        headers = {
            **self.site.spec.headers,
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
        }
        async with create_mcp_http_client(auth=self.provider) as http:
            http.timeout = (REQUEST_LIMIT,) * 4
            if self.site.spec.transport == "sse":
                sent = http.stream("GET", self.site.spec.url, headers=headers)
            else:
                sent = http.stream("POST", self.site.spec.url, headers=headers, json=_HELLO)
            async with sent as response:
                status, session = response.status_code, response.headers.get("mcp-session-id")
            if session:
                await http.delete(
                    self.site.spec.url, headers={**headers, "mcp-session-id": session}
                )
        if status >= 400:
            raise _fault(self.site, f"it refuses the request (HTTP status {status})")

    def result(self, tokens: OAuthToken) -> SignIn:
        """Return what is to be kept.

        Raises:
            ServerError: the provider takes tokens without https.
        """
        context, client = self.provider.context, self.memory.client
        assert client is not None
        metadata = context.oauth_metadata
        endpoint = str(metadata.token_endpoint) if metadata else ""
        endpoint = endpoint or urljoin(self.site.spec.url, "/token")
        self._require_safe(endpoint, "the provider's address for tokens")
        now = self.site.clock.now()
        return SignIn(
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token or "",
            expires_at=expiry({"expires_in": tokens.expires_in}, now),
            scope=tokens.scope or "",
            token_endpoint=endpoint,
            resource=context.get_resource_url(),
            issuer=str(metadata.issuer) if metadata else "",
            client_id=client.client_id,
            client_secret="" if self.site.oauth.client_id else client.client_secret or "",
            auth_method=client.token_endpoint_auth_method or "",
            redirect_uri=self._callback.address,
            registered=not self.site.oauth.client_id,
            signed_in_at=now,
        )

    async def _redirect(self, address: str) -> None:
        """Show the user where to sign in, once it is safe to go there."""
        self._require_safe(address, "the page to sign in")
        choose_method(self.provider)
        (self._callback.state,) = parse_qs(urlsplit(address).query)["state"]
        await self._show(address)

    async def _landed(self) -> AuthorizationCodeResult:
        """Wait until the user has signed in."""
        landing = await self._callback.landing()
        if landing.error:
            more = f": {one_line(landing.description, 200)}" if landing.description else ""
            raise _fault(self.site, f"the sign-in was refused ({one_line(landing.error)}){more}")
        self.hidden[landing.code] = "(code)"
        return AuthorizationCodeResult(code=landing.code, state=landing.state, iss=landing.issuer)

    def _require_safe(self, address: str, what: str) -> None:
        if not _is_safe(address):
            raise _fault(self.site, f"{what} is not behind https: {urlsplit(address).netloc}")


async def sign_in(site: Site, show: ShowAddress, *, limit: float) -> tuple[SignIn, str]:
    """Sign the user in; they have ``limit`` seconds. Returns the result and where it is kept.

    Raises:
        ServerError: it came to nothing, and why.
        ConfigError: the result cannot be stored.
    """
    if not _is_safe(site.spec.url):
        raise _fault(site, "a token is never sent to an address without https")
    before = await _known(site)
    port, exact = port_of(site.oauth, before)
    fault: ServerError | None = None
    try:
        async with open_callback(port, exact=exact) as callback:
            flow = _Flow(site, callback, show, before)
            with anyio.move_on_after(limit) as scope, _quiet():
                fault = await _run(flow)
    except OSError as error:
        words = f"the browser cannot come back to port {port}: {error.strerror}"
        raise _fault(site, words, f"Change servers.{site.spec.name}.oauth.redirect_port.") from None
    if scope.cancelled_caught:
        raise _fault(site, f"nobody signed in within {limit:g} s")
    if fault is not None:
        raise fault
    if flow.memory.tokens is None:
        raise _fault(site, "it does not ask anybody to sign in, so there is nothing to do")
    found = flow.result(flow.memory.tokens)
    try:
        async with site.store.lock(site.spec):
            return found, await site.store.save(site.spec, found)
    except TimeoutError:
        raise _fault(site, "another process has held the sign-in for too long") from None


async def _run(flow: _Flow) -> ServerError | None:
    """Take a sign-in to its end; return why it came to nothing, if it did."""
    site = flow.site
    try:
        await flow.knock()
    except ServerError as error:
        return error
    except OAuthRegistrationError as error:
        return _fault(
            site,
            f"hub cannot register itself there: {_told(error, flow)}",
            f"Register it by hand, and set servers.{site.spec.name}.oauth.client_id.",
        )
    except (OAuthFlowError, ValueError) as error:
        return _fault(site, _told(error, flow))
    except httpx2.HTTPError as error:
        reason = _told(error, flow) or type(error).__name__
        return _fault(site, f"the server or its provider cannot be reached: {reason}")
    return None


async def _known(site: Site) -> SignIn | None:
    """Return the sign-in so far; one that cannot be read is replaced."""
    with suppress(ConfigError):
        return await site.store.load(site.spec)
    return None


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def _told(error: Exception, flow: _Flow) -> str:
    """Return what an error says, without what is secret."""
    return one_line(masked(str(error), flow.hidden), 300)


def _fault(site: Site, reason: str, remedy: str = "") -> ServerError:
    spec = site.spec
    return ServerError(
        f"MCP server {spec.name!r}: {reason}",
        server=spec.name,
        where=str(spec.origin),
        remedy=remedy,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the SDK from printing errors, which we tell in our own words and without secrets."""
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(_UNHEARD)
    try:
        yield
    finally:
        logger.removeHandler(_UNHEARD)
