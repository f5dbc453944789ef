"""As whom hub is known to a provider: by the settings, by an earlier sign-in, or not yet."""

from typing import Any
from urllib.parse import urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from msgspec import Struct
from pydantic import AnyUrl

from hub.connections.tokens import SignIn
from hub.core.servers import OAuth


class Metadata(OAuthClientMetadata):
    """What hub says of itself; scopes that the user chose stay as they are."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope" or not self.__dict__.get("scope"):
            super().__setattr__(name, value)


class Memory(Struct):
    """The SDK's storage for the time of one sign-in."""

    client: OAuthClientInformationFull | None
    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return nothing, so that the user signs in."""
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep what the provider gave."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return as whom hub is known; None when it has to register."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep as whom hub was registered."""
        self.client = client_info


def port_of(oauth: OAuth, before: SignIn | None) -> tuple[int, bool]:
    """Return the port to which the browser comes back, and whether it has to be this one."""
    if oauth.redirect_port:
        return oauth.redirect_port, True
    if before is not None and before.registered:
        return urlsplit(before.redirect_uri).port or 0, False
    return 0, False


def known_client(
    oauth: OAuth, before: SignIn | None, address: str
) -> OAuthClientInformationFull | None:
    """Return the client as which hub is known there; None when it has to be registered."""
    here = [AnyUrl(address)]
    if oauth.client_id:
        method = "client_secret_basic" if oauth.client_secret else "none"
        return OAuthClientInformationFull(
            client_id=oauth.client_id,
            client_secret=oauth.client_secret or None,
            token_endpoint_auth_method=method,
            redirect_uris=here,
        )
    if before is None or not before.registered or before.redirect_uri != address:
        return None
    return OAuthClientInformationFull(
        client_id=before.client_id,
        client_secret=before.client_secret or None,
        token_endpoint_auth_method=before.auth_method or None,
        redirect_uris=here,
        issuer=before.issuer or None,
    )


def choose_method(provider: OAuthClientProvider) -> None:
    """Let a client with a secret of the settings prove itself in a way that the provider takes."""
    client, metadata = provider.context.client_info, provider.context.oauth_metadata
    if client is None or client.token_endpoint_auth_method != "client_secret_basic":
        return
    allowed = metadata.token_endpoint_auth_methods_supported if metadata else None
    if allowed and "client_secret_basic" not in allowed and "client_secret_post" in allowed:
        client.token_endpoint_auth_method = "client_secret_post"
