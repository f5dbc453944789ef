"""Sends the token of a sign-in with each request to a server, and renews it when need be.

A refresh token may be good for one use only, and several tasks of several processes may learn at
the same time that the token has run out. So it is renewed under a lock that all of them share;
whoever gets the lock reads the store first, and finds what another has renewed. What comes back is
stored before anybody can be cancelled. A provider that fails does not end a sign-in: only its
plain word that the grant is no longer valid does, and even then nothing is deleted.
"""

from collections.abc import AsyncGenerator

import anyio
import httpx2
from msgspec import Struct

from hub.connections.renewal import NotRenewed, SignedOut, renew
from hub.connections.tokens import SignIn, TokenStore
from hub.connections.watch import Watch
from hub.core.errors import HubError
from hub.core.ports import Clock
from hub.core.servers import ServerSpec

LEEWAY = 10.0
"""Seconds before its end from which on a token counts as run out."""
RENEW_LIMIT = 20.0
"""Seconds that the provider may take to renew a token."""
PATIENCE = 5.0
"""Seconds for which a failure of the provider is taken to last."""


class _Failure(Struct, frozen=True):
    """That a token could not be renewed."""

    stale: str
    error: SignedOut | NotRenewed
    until: float
    """Until when it is taken to last, on the clock's monotonic time."""


class Session:
    """Our sign-in at one server, shared by all requests of a connection."""

    def __init__(
        self, spec: ServerSpec, store: TokenStore, clock: Clock, *, secret: str = ""
    ) -> None:
        """Take a server in; ``secret`` is that of the client where the settings have one."""
        self._spec = spec
        self._store = store
        self._clock = clock
        self._secret = secret
        self._failure: _Failure | None = None
        self.sign_in: SignIn | None = None
        self.trouble = ""
        """Why the token could not be renewed, as a phrase; empty when it could or need not."""
        self.passing = False
        """That is no fault of the sign-in, which may be good again later."""

    async def token(self) -> str:
        """Return a token that has not run out if there is one to be had; empty for none."""
        if self.sign_in is None:
            self.sign_in = await self._store.load(self._spec)
        found = self.sign_in
        if found is None:
            return ""
        if found.expires_at is not None and self._clock.now() >= found.expires_at - LEEWAY:
            await self.renewed(found.access_token)
        return self.sign_in.access_token if self.sign_in else ""

    async def renewed(self, stale: str) -> str:
        """Return a token other than a stale one; empty when there is none, then see ``trouble``."""
        try:
            async with self._store.lock(self._spec):
                found = await self._store.load(self._spec)
                if found is not None and found.access_token == stale:
                    found = await self._renew(found)
        except (SignedOut, HubError) as error:
            self.trouble, self.passing = f"its token cannot be renewed: {error}", False
            return ""
        except (NotRenewed, TimeoutError) as error:
            reason = str(error) or "another process has been at it for too long"
            self.trouble, self.passing = f"its token could not be renewed: {reason}", True
            return ""
        self.trouble, self.passing = "", False
        self.sign_in = found
        return found.access_token if found else ""

    async def _renew(self, found: SignIn) -> SignIn:
        failure, stale = self._failure, found.access_token
        if failure and failure.stale == stale and self._clock.monotonic() < failure.until:
            raise failure.error
        # Nobody may be cancelled between the use of a refresh token and the keeping of the next.
        with anyio.CancelScope(shield=True):
            try:
                fresh = await renew(
                    found, secret=self._secret, now=self._clock.now, limit=RENEW_LIMIT
                )
            except SignedOut as error:
                self._failure = _Failure(stale, error, float("inf"))
                raise
            except NotRenewed as error:
                self._failure = _Failure(stale, error, self._clock.monotonic() + PATIENCE)
                raise
            await self._store.save(self._spec, fresh)
        return fresh


class SignedIn(httpx2.Auth):
    """Adds the token to each request; a token that is refused is renewed once."""

    def __init__(self, session: Session, watch: Watch, server: str) -> None:
        self._session = session
        self._watch = watch
        self._server = server

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request, at most twice, and note what its refusal means."""
        token = await self._session.token()
        self._put(request, token)
        response = yield request
        if response.status_code == 401 and token:
            newer = await self._session.renewed(token)
            if newer:
                self._put(request, newer)
                response = yield request
        self._judge(response, token)

    def _put(self, request: httpx2.Request, token: str) -> None:
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
            self._watch.hidden = {**self._watch.hidden, token: "(token)"}

    def _judge(self, response: httpx2.Response, token: str) -> None:
        """Note why a request was refused, as a phrase after the server's name, and what to do."""
        watch, status = self._watch, response.status_code
        login = f"hub mcp login {self._server}"
        reason = remedy = ""
        if status == 401 and not token:
            reason, remedy = "it wants you to sign in", f"Sign in with: {login}"
        elif status == 401:
            reason = self._session.trouble or "it refuses the token"
            remedy = f"Sign in again with: {login}"
            if self._session.passing:
                remedy = "You are still signed in; try again later"
        elif status == 403 and "insufficient_scope" in response.headers.get("www-authenticate", ""):
            reason = "it wants further permission"
            remedy = f"Sign in again with: {login} --scope SCOPE"
        watch.refusal = f"{reason} (HTTP status {status})" if reason else ""
        watch.remedy = remedy


def auth_for(
    spec: ServerSpec, tokens: TokenStore | None, clock: Clock, watch: Watch
) -> SignedIn | None:
    """Return what signs the requests to a server; None where the settings give a header for it."""
    given = any(name.lower() == "authorization" for name in spec.headers)
    if tokens is None or (given and spec.oauth is None):
        return None
    secret = spec.oauth.client_secret if spec.oauth else ""
    return SignedIn(Session(spec, tokens, clock, secret=secret), watch, spec.name)
