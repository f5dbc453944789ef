"""What servers say of themselves now, for those who compare it with what was approved."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from msgspec import Struct, field

from hub.app.faults import one_fault
from hub.app.inspect import lazy_servers
from hub.app.servers import LazyServers
from hub.app.setup import Setup
from hub.core.errors import ServerError
from hub.core.ports import ServerListing
from hub.core.servers import ServerSpec
from hub.pins.canonical import canonical_prompt
from hub.pins.offer import Offer, offer_of, probe_arguments, with_texts

PROBE_LIMIT = 10.0
"""Seconds that the prompts of one server may take to say their texts."""
MOST_PROMPTS = 100


class Live(Struct, frozen=True):
    """One server as it is now, or why that cannot be known."""

    spec: ServerSpec
    listing: ServerListing | None = None
    offer: Offer = field(default_factory=Offer)
    """The listing in canonical form, with the texts of prompts as far as they can be had."""
    unreadable: tuple[str, ...] = ()
    """Tools that cannot be compared."""
    error: str = ""


async def ask_servers(setup: Setup, specs: Sequence[ServerSpec]) -> dict[str, Live]:
    """Start servers and return what each says of itself; one that fails costs only itself."""
    found: dict[str, Live] = {}
    async with _opened(setup, specs) as servers:

        async def ask(spec: ServerSpec) -> None:
            found[spec.name] = await _asked(spec, servers)

        async with anyio.create_task_group() as group:
            for spec in specs:
                group.start_soon(ask, spec)
    return {spec.name: found[spec.name] for spec in specs}


@asynccontextmanager
async def _opened(setup: Setup, specs: Sequence[ServerSpec]) -> AsyncIterator[LazyServers]:
    servers = lazy_servers(setup, specs)
    async with one_fault(), anyio.create_task_group() as group:
        group.start_soon(servers.own)
        try:
            yield servers
        finally:
            servers.stop()


async def _asked(spec: ServerSpec, servers: LazyServers) -> Live:
    try:
        listing = await servers.listing(spec.name)
    except ServerError as error:
        return Live(spec, error=str(error))
    offer, unreadable = offer_of(listing)
    texts = await _texts(spec, listing, servers)
    return Live(spec, listing, with_texts(offer, texts), unreadable)


async def _texts(
    spec: ServerSpec, listing: ServerListing, servers: LazyServers
) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return what prompts say, each asked with the names of its arguments in braces."""
    found: dict[str, Sequence[Mapping[str, Any]]] = {}

    async def ask(name: str, arguments: Mapping[str, str]) -> None:
        try:
            found[name] = await servers.get_prompt(spec.name, name, arguments)
        except ServerError:
            return

    with anyio.move_on_after(PROBE_LIMIT):
        async with anyio.create_task_group() as group:
            for prompt in listing.prompts[:MOST_PROMPTS]:
                group.start_soon(ask, prompt.name, probe_arguments(canonical_prompt(prompt)))
    return found
