"""Tokens of sign-ins: sent, renewed once, never lost by a race (H54), never told."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec.structs import replace

from hub.connections.pool import ServerPool
from hub.connections.signing import Site as SignInSite
from hub.connections.signing import sign_in
from hub.connections.tokens import SignIn, TokenStore
from hub.core import events as ev
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.core.servers import OAuth, ServerSpec
from hub.testing.identity.provider import Knobs, RefreshFault
from hub.testing.identity.server import Site, serve_identity
from tests.connections.pools import Heard, called, over_http


class NoKeyring:
    """Sends every secret to the file."""

    def put(self, name: str, text: str) -> bool:
        return False

    def get(self, name: str) -> str | None:
        return None

    def drop(self, name: str) -> None:
        return None


def store_in(state: Path) -> TokenStore:
    return TokenStore(state, vault=NoKeyring())


def spec_of(site: Site, **changes: Any) -> ServerSpec:
    return replace(over_http("vault", site.url), **changes)


async def log_in(
    site: Site, state: Path, *, spec: ServerSpec | None = None, scopes: tuple[str, ...] = ()
) -> SignIn:
    """Sign in with a browser that says yes."""
    place = SignInSite(spec or spec_of(site), store_in(state), SystemClock(), scopes)

    async with anyio.create_task_group() as group:

        async def show(address: str) -> None:
            group.start_soon(site.browse, address)

        found, kept = await sign_in(place, show, limit=10)
    assert kept == "file"
    return found


@asynccontextmanager
async def pool_over(
    site: Site, state: Path, *, heard: Heard | None = None, spec: ServerSpec | None = None
) -> AsyncIterator[ServerPool]:
    async with ServerPool(
        [spec or spec_of(site)],
        workspace=state,
        env=os.environ,
        resolve=lambda spec: spec,
        emit=(heard or Heard()).emit,
        clock=SystemClock(),
        tokens=store_in(state),
    ) as pool:
        yield pool


@asynccontextmanager
async def identity(knobs: Knobs | None = None) -> AsyncIterator[Site]:
    with anyio.fail_after(30):
        async with serve_identity(knobs) as site:
            yield site


async def test_a_sign_in_leads_to_calls(tmp_path: Path) -> None:
    """Discovery, registration, PKCE, resource, state and issuer; then the token goes along."""
    async with identity() as site:
        found = await log_in(site, tmp_path)
        assert found.resource == site.url
        assert site.provider.authorized[0]["resource"] == site.url
        assert site.provider.authorized[0]["code_challenge_method"] == "S256"
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.refused == [401]
        assert site.provider.refreshes == []


async def test_without_a_sign_in_the_failure_says_what_to_do(tmp_path: Path) -> None:
    """At once, and no browser is opened."""
    heard = Heard()
    async with identity() as site, pool_over(site, tmp_path, heard=heard) as pool:
        with pytest.raises(ServerError, match="wants you to sign in") as caught:
            await pool.listing("vault")
        assert "hub mcp login vault" in caught.value.remedy
        outcome = await called(pool, "vault", "open")
        assert "did not run" in outcome.text
        assert "hub mcp login vault" in outcome.text
        assert site.provider.authorized == []
    assert "hub mcp login vault" in heard.of(ev.ServerFailed)[0].remedy


async def test_headers_of_the_settings_are_left_alone(tmp_path: Path) -> None:
    """Whoever gives a token by hand is not told to sign in."""
    async with identity() as site:
        await log_in(site, tmp_path)
        by_hand = spec_of(site, headers={"authorization": "Bearer mine"})
        async with pool_over(site, tmp_path, spec=by_hand) as pool:
            with pytest.raises(ServerError) as caught:
                await pool.listing("vault")
        assert "login" not in str(caught.value)


async def test_five_refusals_at_once_are_one_renewal(tmp_path: Path) -> None:
    """The others find the new token in the store (H54)."""
    async with identity(Knobs(refresh_delay=0.2)) as site:
        await log_in(site, tmp_path)
        async with pool_over(site, tmp_path) as pool:
            await pool.listing("vault")
            site.provider.forget_access()
            texts: list[str] = []

            async def one() -> None:
                texts.append((await called(pool, "vault", "open")).text)

            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(one)
            assert texts == ["it is open"] * 5
        assert site.provider.refreshes == ["renewed"]


async def test_a_token_that_has_run_out_is_renewed_before_it_is_sent(tmp_path: Path) -> None:
    """Nothing has to be refused for it."""
    async with identity(Knobs(expires_in=0)) as site:
        await log_in(site, tmp_path)
        refused = len(site.refused)
        site.knobs.expires_in = "3600"
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.provider.refreshes == ["renewed"]
        assert len(site.refused) == refused


async def test_a_token_without_an_end_holds_until_it_is_refused(tmp_path: Path) -> None:
    """A missing expires_in is no reason to sign in again (H54)."""
    async with identity(Knobs(expires_in=None)) as site:
        assert (await log_in(site, tmp_path)).expires_at is None
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
            site.provider.forget_access()
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.provider.refreshes == ["renewed"]


@pytest.mark.parametrize("fault", ["503", "html", "not_json"])
async def test_a_provider_that_fails_signs_nobody_out(tmp_path: Path, fault: RefreshFault) -> None:
    """The next try, with the same refresh token, is good again (H54)."""
    async with identity(Knobs(refresh_faults=[fault])) as site:
        before = await log_in(site, tmp_path)
        site.provider.forget_access()
        async with pool_over(site, tmp_path) as pool:
            with pytest.raises(ServerError, match="could not be renewed") as caught:
                await pool.listing("vault")
        assert "You are still signed in" in caught.value.remedy
        assert await store_in(tmp_path).load(spec_of(site)) == before
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.provider.refreshes == [fault, "renewed"]


async def test_only_the_providers_word_ends_a_sign_in_and_nothing_is_deleted(
    tmp_path: Path,
) -> None:
    """Then the remedy is to sign in again (H54)."""
    async with identity(Knobs(refresh_faults=["invalid_grant"])) as site:
        before = await log_in(site, tmp_path)
        site.provider.forget_access()
        async with pool_over(site, tmp_path) as pool:
            with pytest.raises(ServerError, match="sign-in is over") as caught:
                await pool.listing("vault")
        assert "Sign in again with: hub mcp login vault" in caught.value.remedy
        assert await store_in(tmp_path).load(spec_of(site)) == before
        await log_in(site, tmp_path)
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"


async def test_a_renewal_that_is_cancelled_is_kept_all_the_same(tmp_path: Path) -> None:
    """The old refresh token is used up, so losing the new one would sign the user out (H54)."""
    async with identity(Knobs(refresh_delay=0.3)) as site:
        before = await log_in(site, tmp_path)
        async with pool_over(site, tmp_path) as pool:
            await pool.listing("vault")
            site.provider.forget_access()
            async with anyio.create_task_group() as group:
                group.start_soon(called, pool, "vault", "open")
                await site.wait_for_refreshes(1)
                group.cancel_scope.cancel()
        after = await store_in(tmp_path).load(spec_of(site))
        assert after is not None
        assert after.refresh_token != before.refresh_token
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.provider.refreshes == ["renewed"]


PROCESS = """
import anyio, os, sys
from pathlib import Path
from hub.connections.pool import ServerPool
from hub.connections.tokens import TokenStore
from hub.core.clock import SystemClock
from hub.core.ports import CallContext
from hub.core.servers import ServerSpec

class NoKeyring:
    def put(self, name, text): return False
    def get(self, name): return None
    def drop(self, name): pass

async def main(url, state):
    spec = ServerSpec("vault", "http", url=url)
    async with ServerPool([spec], workspace=Path(state), env=os.environ, resolve=lambda s: s,
                          emit=lambda e: None, clock=SystemClock(),
                          tokens=TokenStore(Path(state), vault=NoKeyring())) as pool:
        await pool.listing("vault")
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        context = CallContext("s", "lead", "c", lambda *a: None)
        async def one():
            print((await pool.call("vault", "open", {}, context)).text, flush=True)
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(one)

anyio.run(main, *sys.argv[1:])
"""


async def test_two_processes_with_five_refusals_each_renew_once(tmp_path: Path) -> None:
    """The loser reads the store again and finds the winner's token (H54)."""
    async with identity(Knobs(refresh_delay=0.2)) as site:
        await log_in(site, tmp_path)
        argv = [sys.executable, "-c", PROCESS, site.url, str(tmp_path)]
        processes = [await anyio.open_process(argv, stderr=None) for _ in range(2)]
        texts = []
        try:
            outputs = []
            for process in processes:
                assert process.stdout is not None
                outputs.append(BufferedByteReceiveStream(process.stdout))
                assert await outputs[-1].receive_until(b"\n", 100) == b"ready"
            site.provider.forget_access()
            for process in processes:
                assert process.stdin is not None
                await process.stdin.send(b"\n")
            for process, output in zip(processes, outputs, strict=True):
                texts.append([await output.receive_until(b"\n", 100) for _ in range(5)])
                assert await process.wait() == 0
        finally:
            for process in processes:
                if process.returncode is None:
                    process.kill()
                await process.aclose()
        assert texts == [[b"it is open"] * 5] * 2
        assert site.provider.refreshes == ["renewed"]


async def test_a_call_that_needs_more_scope_says_how_to_get_it(tmp_path: Path) -> None:
    """Signing in again with the scope mends it."""
    async with identity() as site:
        await log_in(site, tmp_path)
        site.knobs.scope_needed = "admin"
        async with pool_over(site, tmp_path) as pool:
            with pytest.raises(ServerError, match="further permission") as caught:
                await pool.listing("vault")
        assert "--scope" in caught.value.remedy
        await log_in(site, tmp_path, scopes=("read", "admin"))
        async with pool_over(site, tmp_path) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.provider.authorized[-1]["scope"].split()[:2] == ["read", "admin"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_client_of_the_settings_proves_itself_as_the_provider_wants(
    tmp_path: Path, method: str
) -> None:
    """At the sign-in and at each renewal; its secret is not stored."""
    knobs = Knobs(registers=False, clients={"me": "client/secret:1"}, auth_methods=(method,))
    async with identity(knobs) as site:
        spec = spec_of(site, oauth=OAuth("me", "client/secret:1", ("read",)))
        await log_in(site, tmp_path, spec=spec)
        assert site.provider.authorized[0]["scope"] == "read"
        site.provider.forget_access()
        async with pool_over(site, tmp_path, spec=spec) as pool:
            assert (await called(pool, "vault", "open")).text == "it is open"
        assert site.provider.refreshes == ["renewed"]
    stored = [path.read_text() for path in (tmp_path / "tokens").glob("*.json")]
    assert stored
    assert all("client/secret" not in text for text in stored)


async def test_a_second_sign_in_uses_the_same_client(tmp_path: Path) -> None:
    """Providers are not filled with registrations."""
    async with identity() as site:
        first = await log_in(site, tmp_path)
        second = await log_in(site, tmp_path)
        assert first.client_id == second.client_id
        assert first.access_token != second.access_token


async def test_no_secret_is_ever_told(tmp_path: Path) -> None:
    """Neither in events nor in errors, whatever goes wrong."""
    heard = Heard()
    told: list[str] = []
    async with identity(Knobs(refresh_faults=["html", "invalid_grant"])) as site:
        await log_in(site, tmp_path)
        site.provider.forget_access()
        for _ in range(2):
            async with pool_over(site, tmp_path, heard=heard) as pool:
                told.append((await called(pool, "vault", "open")).text)
        told += [json.dumps(event.model_dump(mode="json")) for event in heard.events]
        assert len(told) > 3
        assert [secret for secret in site.provider.secrets if secret in "\n".join(told)] == []
