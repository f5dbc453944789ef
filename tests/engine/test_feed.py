"""The feed by itself: order, back-pressure, and readers that leave."""

import anyio
import anyio.lowlevel
import pytest

from hub.core import events as ev
from hub.engine.feed import HIGH_WATER, Feed


def delta(number: int) -> ev.TextDelta:
    return ev.TextDelta(text=str(number))


async def drain(feed: Feed) -> list[str]:
    texts = []
    while (event := await feed.get()) is not None:
        assert isinstance(event, ev.TextDelta)
        texts.append(event.text)
    return texts


async def settled() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


async def test_what_was_queued_before_the_end_is_still_read_in_order() -> None:
    """Closing loses nothing."""
    feed = Feed()
    for number in range(5):
        feed.put(delta(number))
    feed.close()
    with anyio.fail_after(5):
        assert await drain(feed) == ["0", "1", "2", "3", "4"]
        assert await feed.get() is None


async def test_a_producer_waits_while_its_reader_is_far_behind() -> None:
    """It goes on once half of the queue has been read, not before."""
    feed = Feed()
    for number in range(HIGH_WATER + 2):
        feed.put(delta(number))
    went_on = anyio.Event()

    async def produce() -> None:
        await feed.room()
        went_on.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(produce)
            await settled()
            for _ in range(HIGH_WATER // 2 + 1):
                await feed.get()
                await anyio.lowlevel.checkpoint()
                assert not went_on.is_set()
            await feed.get()
            await went_on.wait()


async def test_several_producers_that_wait_all_go_on() -> None:
    """Twenty children of one slow reader: none is forgotten."""
    feed = Feed()
    rounds = 300

    async def produce(name: int) -> None:
        for _ in range(rounds):
            feed.put(delta(name))
            await feed.room()

    async def produce_all() -> None:
        async with anyio.create_task_group() as group:
            for name in range(20):
                group.start_soon(produce, name)
        feed.close()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(produce_all)
            texts = await drain(feed)
    assert sorted(texts) == sorted(str(name) for name in range(20) for _ in range(rounds))


@pytest.mark.parametrize("leave_first", [True, False])
async def test_nobody_waits_for_a_reader_that_has_left(leave_first: bool) -> None:
    """Producers go on at once, those that waited already too, and nothing is kept."""
    feed = Feed()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for number in range(HIGH_WATER + 1):
                feed.put(delta(number))
            if leave_first:
                feed.abandon()
            group.start_soon(feed.room)
            await settled()
            feed.abandon()
        feed.put(delta(0))
        await feed.room()
        feed.close()
        assert await drain(feed) == []


async def test_a_chatty_server_cannot_fill_the_memory_of_a_slow_reader() -> None:
    """Progress and logs are left out while the reader is far behind; what counts is not."""
    feed = Feed()
    for number in range(HIGH_WATER * 3):
        feed.put(ev.ToolProgress(call_id="c", name="t", message="on", progress=number, total=None))
        feed.put(ev.ServerLog(server="s", level="info", text="on"))
    feed.put(delta(7))
    feed.put(ev.TurnStarted())
    feed.close()
    kinds = []
    with anyio.fail_after(5):
        while (event := await feed.get()) is not None:
            kinds.append(type(event).__name__)
    assert kinds[-2:] == ["TextDelta", "TurnStarted"]
    assert len(kinds) < HIGH_WATER * 2
