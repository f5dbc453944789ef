"""The provider's side: registers clients, lets users in, gives tokens out and renews them.

Pure: a request comes in as values, the answer goes out as values. Refresh tokens are good for one
use, as those of strict providers are; whoever uses one twice is signed out.
"""

import base64
import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from msgspec import Struct, field

RefreshFault = Literal["503", "html", "not_json", "invalid_grant"]
Form = dict[str, str]


class Knobs(Struct):
    """What is odd about the provider; a test may turn them at any time."""

    expires_in: int | str | None = 3600
    """What token answers say; None leaves it out."""
    refresh_faults: list[RefreshFault] = field(default_factory=list)
    """What the next renewals come to, one each; none left: renewed."""
    refresh_delay: float = 0.0
    """Seconds that a renewal takes; the refresh token is used up at its beginning."""
    denies: bool = False
    """Whoever is asked says no."""
    registers: bool = True
    """Clients may register themselves."""
    wrong_state: bool = False
    """The browser comes back with a state that nobody gave it, too."""
    auth_methods: tuple[str, ...] = ("none", "client_secret_basic", "client_secret_post")
    clients: dict[str, str] = field(default_factory=dict)
    """Secrets of clients that were registered by hand, by client."""
    scope_needed: str = ""
    """Scope without which the server answers 403."""
    metadata: bool = True
    """Whether the server says where its provider is."""


class Answer(Struct, frozen=True):
    """What goes back over HTTP."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class _Grant(Struct):
    client: str
    scope: str
    resource: str


class _Code(Struct):
    grant: _Grant
    challenge: str
    redirect: str


class Provider:
    """Clients, codes and tokens."""

    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs
        self.issuer = ""
        """Root of its addresses, once it listens."""
        self.refreshes: list[str] = []
        """Each renewal that was asked for, and what it came to."""
        self.secrets: set[str] = set()
        """Every code, token, verifier and secret that was ever seen."""
        self.authorized: list[Form] = []
        """Each request to let a user in."""
        self._numbers = itertools.count(1)
        self._clients: dict[str, dict[str, Any]] = {}
        self._codes: dict[str, _Code] = {}
        self._access: dict[str, _Grant] = {}
        self._refresh: dict[str, _Grant] = {}

    def forget_access(self) -> None:
        """Refuse every access token that was given out so far."""
        self._access.clear()

    def admits(self, header: str) -> str | None:
        """Return the scope of a request's token; None when it is not admitted."""
        kind, _, token = header.partition(" ")
        grant = self._access.get(token) if kind == "Bearer" else None
        return None if grant is None else grant.scope

    def metadata(self) -> Answer:
        """Say where everything is (RFC 8414)."""
        found: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": list(self.knobs.auth_methods),
            "scopes_supported": ["read", "write"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.knobs.registers:
            found["registration_endpoint"] = f"{self.issuer}/register"
        return _json(200, found)

    def register(self, body: bytes) -> Answer:
        """Register a client (RFC 7591)."""
        if not self.knobs.registers:
            return _json(403, {"error": "access_denied"})
        wanted = json.loads(body)
        client = f"client-{next(self._numbers)}"
        self._clients[client] = wanted
        return _json(201, {**wanted, "client_id": client, "token_endpoint_auth_method": "none"})

    def authorize(self, query: str) -> Answer:
        """Ask the user, who answers as the knobs say, and send the browser back."""
        form = _form(query)
        self.authorized.append(form)
        self.secrets |= {form.get("code_challenge", ""), form.get("state", "")} - {""}
        if not self._knows(form.get("client_id", ""), form.get("redirect_uri", "")):
            return _json(400, {"error": "invalid_client"})
        back = {"state": form.get("state", ""), "iss": self.issuer}
        if self.knobs.denies:
            back |= {"error": "access_denied", "error_description": "The user said no."}
        else:
            grant = _Grant(form["client_id"], form.get("scope", ""), form.get("resource", ""))
            code = self._secret("code")
            redirect = form["redirect_uri"]
            self._codes[code] = _Code(grant, form.get("code_challenge", ""), redirect)
            back["code"] = code
        return Answer(302, headers={"location": f"{form['redirect_uri']}?{urlencode(back)}"})

    def token(self, body: bytes, authorization: str) -> Answer:
        """Give a token for a code or for a refresh token."""
        form = _form(body.decode())
        self.secrets |= {form.get("code_verifier", ""), form.get("client_secret", "")} - {""}
        if not self._proves(form, authorization):
            return _json(401, {"error": "invalid_client"})
        if form.get("grant_type") == "authorization_code":
            return self._for_code(form)
        return self._renewed(form)

    def _for_code(self, form: Form) -> Answer:
        code = self._codes.pop(form.get("code", ""), None)
        if code is None or form.get("redirect_uri") != code.redirect:
            return _json(400, {"error": "invalid_grant"})
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != code.challenge:
            return _json(400, {"error": "invalid_grant", "error_description": "PKCE"})
        return self._given(code.grant)

    def _renewed(self, form: Form) -> Answer:
        faults = self.knobs.refresh_faults
        fault = faults.pop(0) if faults else ""
        if fault:
            self.refreshes.append(fault)
            return _FAULTS[fault]
        grant = self._refresh.pop(form.get("refresh_token", ""), None)
        if grant is None:
            self.refreshes.append("used twice")
            return _json(400, {"error": "invalid_grant"})
        self.refreshes.append("renewed")
        return self._given(grant)

    def _given(self, grant: _Grant) -> Answer:
        access, refresh = self._secret("access"), self._secret("refresh")
        self._access[access], self._refresh[refresh] = grant, grant
        body: dict[str, Any] = {"access_token": access, "token_type": "bearer"}
        body |= {"refresh_token": refresh, "scope": grant.scope}
        if self.knobs.expires_in is not None:
            body["expires_in"] = self.knobs.expires_in
        return _json(200, body)

    def _knows(self, client: str, redirect: str) -> bool:
        known = self._clients.get(client)
        return client in self.knobs.clients or (
            known is not None and redirect in known["redirect_uris"]
        )

    def _proves(self, form: Form, authorization: str) -> bool:
        """Say whether a client that has a secret shows it in a way that is allowed."""
        secret = self.knobs.clients.get(form.get("client_id", ""))
        if secret is None:
            return True
        if authorization.startswith("Basic "):
            pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
            method, shown = "client_secret_basic", unquote(pair.partition(":")[2])
        else:
            method, shown = "client_secret_post", form.get("client_secret", "")
        return shown == secret and method in self.knobs.auth_methods

    def _secret(self, kind: str) -> str:
        text = f"{kind}-{next(self._numbers)}-verysecret"
        self.secrets.add(text)
        return text


def redirect_of(url: str) -> str:
    """Return where the browser is sent back to from an address to sign in."""
    return _form(urlsplit(url).query)["redirect_uri"]


def _form(text: str) -> Form:
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _json(status: int, body: Mapping[str, Any]) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/json"})


_HTML = {"content-type": "text/html"}
_FAULTS: Mapping[str, Answer] = {
    "503": Answer(503, b"<h1>Down for maintenance</h1>", _HTML),
    "html": Answer(400, b"<h1>Bad request</h1>", _HTML),
    "not_json": Answer(200, b"all is well", _HTML),
    "invalid_grant": _json(400, {"error": "invalid_grant"}),
}
