"""How long servers are waited for, and who counts as late."""

import anyio

from hub.catalog.gathering import Patience, gather
from hub.core.errors import ServerError
from hub.core.ports import ServerListing
from tests.catalog.test_catalog import Untouchable, listing


class Mixed(Untouchable):
    """Servers named for what they do: ``mute``, ``broken``, and others that answer at once."""

    async def listing(self, server: str) -> ServerListing:
        if server.startswith("mute"):
            await anyio.sleep_forever()
        if server.startswith("broken"):
            raise ServerError("it is broken", server=server)
        return listing(server, "x")


async def test_a_mute_server_is_not_waited_for_once_others_have_answered():
    """Nor does one that crashes hold up anybody (H1, H5)."""
    begun = anyio.current_time()
    with anyio.fail_after(5):
        found = await gather(["mute", "a", "broken", "b"], Mixed(), Patience(0.1))
    assert 0.1 <= anyio.current_time() - begun < 2
    assert found.listings.keys() == {"a", "b"}
    assert found.failed == {"broken": "it is broken"}
    assert found.late == ["mute"]


async def test_nothing_is_waited_for_when_all_have_answered():
    """Patience is no pause."""
    with anyio.fail_after(5):
        found = await gather(["a", "broken"], Mixed(), Patience(60))
        assert not (await gather([], Mixed(), Patience(60))).listings
    assert found.late == []


async def test_while_nobody_has_answered_the_wait_is_longer():
    """What is needed may be downloaded first (H2, H3)."""
    begun = anyio.current_time()
    with anyio.fail_after(5):
        found = await gather(["mute", "broken"], Mixed(), Patience(0.03))
    assert 0.3 <= anyio.current_time() - begun < 2
    assert found.late == ["mute"]
    begun = anyio.current_time()
    with anyio.fail_after(5):
        found = await gather(["mute", "broken"], Mixed(), Patience(0.1), alone=False)
    assert 0.1 <= anyio.current_time() - begun < 0.9
    assert found.late == ["mute"]


async def test_the_wait_for_others_grows_with_what_the_slowest_answer_took():
    """Where one takes a second, another one may take a little more (H3)."""

    class Slow(Mixed):
        async def listing(self, server: str) -> ServerListing:
            if server == "slow":
                with anyio.move_on_after(1):
                    await anyio.sleep_forever()
            return await super().listing(server)

    begun = anyio.current_time()
    with anyio.fail_after(10):
        found = await gather(["mute", "slow"], Slow(), Patience(0.2))
    took = anyio.current_time() - begun
    assert found.listings.keys() == {"slow"}
    assert 1.25 <= took < 2.5


async def test_who_did_not_come_up_the_last_time_is_not_waited_for():
    """With nobody else to wait for it is not even asked; with others it is (H1, H29)."""
    patience = Patience(60, {"mute", "broken"}.__contains__)
    with anyio.fail_after(5):
        found = await gather(["mute", "broken"], Untouchable(), patience)
        assert found.late == ["mute", "broken"]
        found = await gather(["mute", "broken", "a"], Mixed(), patience)
    assert found.listings.keys() == {"a"}
    assert found.late == ["mute"]
