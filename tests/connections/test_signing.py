"""What can go wrong while somebody signs in, and what is said of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hub.connections.signing import Site, sign_in
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.core.servers import OAuth
from hub.testing.identity.provider import Knobs
from tests.connections.pools import over_http
from tests.connections.test_oauth import identity, log_in, spec_of, store_in


async def nobody(address: str) -> None:
    """A user who looks elsewhere."""


async def test_a_user_who_says_no_is_told_so(tmp_path: Path) -> None:
    """In the words of the provider."""
    async with identity(Knobs(denies=True)) as site:
        with pytest.raises(ExceptionGroup) as caught:
            await log_in(site, tmp_path)
        assert caught.group_contains(
            ServerError, match=r"refused \(access_denied\): The user said no"
        )
        assert await store_in(tmp_path).load(spec_of(site)) is None


async def test_whoever_guesses_the_address_on_loopback_ends_nothing(tmp_path: Path) -> None:
    """An answer with a state that we did not give is turned away; the right one still counts."""
    async with identity(Knobs(wrong_state=True)) as site:
        assert (await log_in(site, tmp_path)).access_token


async def test_nobody_is_waited_for_for_ever(tmp_path: Path) -> None:
    """The limit is said."""
    async with identity() as site:
        place = Site(spec_of(site), store_in(tmp_path), SystemClock())
        with pytest.raises(ServerError, match=r"nobody signed in within 0\.3 s"):
            await sign_in(place, nobody, limit=0.3)


async def test_a_server_that_asks_nobody_is_told(tmp_path: Path) -> None:
    """There is nothing to sign in at."""
    async with identity() as site:
        first = await log_in(site, tmp_path)
        open_to_us = spec_of(site, headers={"Authorization": f"Bearer {first.access_token}"})
        place = Site(open_to_us, store_in(tmp_path), SystemClock())
        with pytest.raises(ServerError, match="does not ask anybody to sign in"):
            await sign_in(place, nobody, limit=5)


async def test_a_provider_without_registration_leads_to_the_settings(tmp_path: Path) -> None:
    """A client has to be named then."""
    async with identity(Knobs(registers=False)) as site:
        place = Site(spec_of(site), store_in(tmp_path), SystemClock())
        with pytest.raises(ServerError, match="cannot register itself") as caught:
            await sign_in(place, nobody, limit=5)
        assert "servers.vault.oauth.client_id" in caught.value.remedy


async def test_a_client_that_proves_nothing_gets_no_token_and_its_secret_is_not_told(
    tmp_path: Path,
) -> None:
    """The provider's own error is shown."""
    async with identity(Knobs(clients={"me": "right"})) as site:
        spec = spec_of(site, oauth=OAuth("me", "wrong-secret"))
        with pytest.raises(ExceptionGroup) as caught:
            await log_in(site, tmp_path, spec=spec)
        assert caught.group_contains(ServerError, match="invalid_client")
        assert "wrong-secret" not in "".join(_messages(caught.value))


@pytest.mark.parametrize("url", ["http://wiki.example/mcp", "http://127.0.0.1.evil.example/mcp"])
async def test_no_token_is_asked_for_over_plain_http(tmp_path: Path, url: str) -> None:
    """Except on loopback."""
    place = Site(over_http("wiki", url), store_in(tmp_path), SystemClock())
    with pytest.raises(ServerError, match="without https"):
        await sign_in(place, nobody, limit=5)


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    """Where the settings want exactly this one."""
    async with identity() as site:
        port = int(re.findall(r":(\d+)/", site.url)[0])
        spec = replace(spec_of(site), oauth=OAuth(redirect_port=port))
        place = Site(spec, store_in(tmp_path), SystemClock())
        with pytest.raises(ServerError, match=f"port {port}") as caught:
            await sign_in(place, nobody, limit=5)
        assert "redirect_port" in caught.value.remedy


async def test_a_provider_can_be_found_without_the_servers_word(tmp_path: Path) -> None:
    """As servers of the older protocol have it, at the root of the server itself."""
    async with identity(Knobs(metadata=False)) as site:
        assert (await log_in(site, tmp_path)).resource == site.url


async def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With what happened."""
    async with identity() as site:
        url = site.url
    place = Site(over_http("vault", url), store_in(tmp_path), SystemClock())
    with anyio.fail_after(10), pytest.raises(ServerError, match="cannot be reached"):
        await sign_in(place, nobody, limit=5)


def _messages(error: Any) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _messages(inner)
    else:
        yield str(error)
