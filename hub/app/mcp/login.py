"""Signs the user in and out at remote servers."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from hub.app.mcp.target import Target, configured
from hub.config.paths import find_paths
from hub.config.references import resolve_server
from hub.connections.signing import ShowAddress, Site, sign_in
from hub.connections.tokens import TokenStore
from hub.core.clock import SystemClock
from hub.core.errors import ServerError, UsageError
from hub.core.servers import ServerSpec


class LoggedIn(Struct, frozen=True):
    """What a sign-in came to."""

    server: str
    issuer: str
    """Who vouches for the user; empty when the provider does not say."""
    scope: str
    """What was granted; empty when the provider does not say."""
    renewable: bool
    """It goes on by itself when the token runs out."""
    kept: str
    """Where the token is: ``keyring`` or ``file``."""


async def log_in(
    workspace: Path,
    server: str,
    *,
    show: ShowAddress,
    limit: float,
    scopes: Sequence[str] = (),
    strict_mcp: Path | None = None,
) -> LoggedIn:
    """Sign in at a server of the settings; ``show`` takes the user to an address.

    Raises:
        UsageError: there is no such server, it is not approved, or there is nothing to sign in at.
        ServerError: the sign-in came to nothing, and why.
    """
    spec, store = _remote(workspace, server, strict_mcp)
    site = Site(spec, store, SystemClock(), tuple(scopes))
    found, kept = await sign_in(site, show, limit=limit)
    return LoggedIn(server, found.issuer, found.scope, bool(found.refresh_token), kept)


async def log_out(workspace: Path, server: str, *, strict_mcp: Path | None = None) -> bool:
    """Forget the sign-in at a server; say whether there was one.

    Raises:
        UsageError: there is no such server, or there is nothing to sign in at.
        ServerError: another process holds it for too long.
    """
    spec, store = _remote(workspace, server, strict_mcp, approved=False)
    if not store.knows(spec):
        return False
    try:
        async with store.lock(spec):
            return await store.forget(spec)
    except TimeoutError:
        raise ServerError(
            f"another process has held the sign-in at {server!r} for too long", server=server
        ) from None


def _remote(
    workspace: Path, server: str, strict_mcp: Path | None, *, approved: bool = True
) -> tuple[ServerSpec, TokenStore]:
    target = configured(workspace, server, strict_mcp=strict_mcp)
    if approved and not target.approved:
        raise target.refusal()
    _require_remote(target)
    spec = resolve_server(target.spec, target.environ)
    return spec, TokenStore(find_paths(target.environ).state)


def _require_remote(target: Target) -> None:
    """Refuse servers that nobody signs in at.

    Raises:
        UsageError: the server runs here, or the settings give it a token.
    """
    spec = target.spec
    where = f"{spec.origin} (servers.{spec.name})"
    if spec.transport not in ("http", "sse"):
        raise UsageError(f"{spec.name!r} runs on this machine; there is no signing in", where=where)
    if spec.oauth is None and any(name.lower() == "authorization" for name in spec.headers):
        raise UsageError(
            f"the settings give {spec.name!r} a token, so there is no signing in",
            where=where,
            remedy=f"Remove servers.{spec.name}.headers.Authorization to sign in instead.",
        )
