"""Renews one token at the provider that gave it (RFC 6749, section 6)."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
from mcp.shared._httpx_utils import create_mcp_http_client
from msgspec.structs import replace

from hub.connections.tokens import SignIn

ENDED = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Errors of OAuth by which a provider says that a sign-in is over."""
RETRIES = 1
"""How often a request that failed on the way there is sent again."""


class SignedOut(Exception):
    """The sign-in cannot be renewed any more; the message says why and what to do."""


class NotRenewed(Exception):
    """The provider failed; the sign-in may still be good. The message says what happened."""


async def renew(sign_in: SignIn, *, secret: str, now: Callable[[], float], limit: float) -> SignIn:
    """Return a sign-in with a new token.

    Raises:
        SignedOut: the provider says that it is over, or it never gave what renewing takes.
        NotRenewed: the provider cannot be reached, fails, or answers with something else.
    """
    if not sign_in.refresh_token or not sign_in.token_endpoint:
        raise SignedOut("it has run out, and the provider gave nothing to renew it with")
    try:
        with anyio.fail_after(limit):
            response = await _post(sign_in, secret or sign_in.client_secret)
    except TimeoutError:
        raise NotRenewed(f"the provider gave no answer within {limit:g} s") from None
    except httpx2.HTTPError as error:
        raise NotRenewed(f"the provider cannot be reached ({type(error).__name__})") from None
    body = _object(response)
    if response.status_code == 200 and isinstance(body.get("access_token"), str):
        return _renewed(sign_in, body, now())
    raise _failure(response.status_code, body)


def expiry(body: dict[str, Any], now: float) -> float | None:
    """Return when a token of an answer runs out; None when the answer does not say."""
    seconds = body.get("expires_in")
    if isinstance(seconds, str) and seconds.strip().isdecimal():
        seconds = int(seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        return None
    return now + seconds


def _renewed(sign_in: SignIn, body: dict[str, Any], now: float) -> SignIn:
    refresh, scope = body.get("refresh_token"), body.get("scope")
    return replace(
        sign_in,
        access_token=body["access_token"],
        refresh_token=refresh if isinstance(refresh, str) and refresh else sign_in.refresh_token,
        scope=scope if isinstance(scope, str) else sign_in.scope,
        expires_at=expiry(body, now),
    )


def _failure(status: int, body: dict[str, Any]) -> Exception:
    error = body.get("error")
    if status in (400, 401) and error in ENDED:
        return SignedOut(f"the provider says that the sign-in is over ({error})")
    said = f", error {error[:40]!r}" if isinstance(error, str) else ""
    return NotRenewed(f"the provider failed (HTTP status {status}{said})")


def _object(response: httpx2.Response) -> dict[str, Any]:
    try:
        body = json.loads(response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


async def _post(sign_in: SignIn, secret: str) -> httpx2.Response:
    data = {
        "grant_type": "refresh_token",
        "refresh_token": sign_in.refresh_token,
        "client_id": sign_in.client_id,
    }
    if sign_in.resource:
        data["resource"] = sign_in.resource
    headers: dict[str, str] = {}
    if secret and sign_in.auth_method == "client_secret_basic":
        pair = f"{quote(sign_in.client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif secret and sign_in.auth_method == "client_secret_post":
        data["client_secret"] = secret
    async with create_mcp_http_client() as http:
        for _ in range(RETRIES):
            try:
                return await http.post(sign_in.token_endpoint, data=data, headers=headers)
            except httpx2.ConnectError:
                # It was surely not sent, so that a refresh token for one use is not used up.
                await anyio.sleep(0.2)
        return await http.post(sign_in.token_endpoint, data=data, headers=headers)
