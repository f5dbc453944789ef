"""The way of pieces from the reading task to the consumer."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.messages import AssistantMessage
from hub.core.requests import Completion, ReasoningPiece, RetryNotice, TextPiece
from hub.models.chat.feed import Fed, Feed

END = Completion(AssistantMessage("x"), "stop", None)


async def test_pieces_that_nobody_waited_for_are_merged() -> None:
    """A burst of deltas costs one item; kinds and notices keep their order."""
    feed = Feed()
    for part in "abc":
        feed.text(part)
    feed.reasoning("d")
    feed.reasoning("e")
    feed.put(RetryNotice(1, 0.5, "why"))
    feed.text("f")
    feed.put(END)
    feed.close()
    assert [item async for item in feed] == [
        TextPiece("abc"),
        ReasoningPiece("de"),
        RetryNotice(1, 0.5, "why"),
        TextPiece("f"),
        END,
    ]


async def test_a_piece_reaches_a_waiting_consumer_at_once() -> None:
    """Merging never delays: what is there when the consumer asks is handed out."""
    async with Fed(_speak_and_hang) as items:
        with anyio.fail_after(5):
            assert await anext(items) == TextPiece("one")


async def _speak_and_hang(feed: Feed) -> None:
    await anyio.lowlevel.checkpoint()
    feed.text("one")
    await anyio.sleep_forever()


async def test_an_error_comes_after_what_was_said() -> None:
    """Partial text is not lost when the answer fails."""
    feed = Feed()
    feed.text("half")
    feed.close(ValueError("broke"))
    assert await anext(feed) == TextPiece("half")
    with pytest.raises(ValueError, match="broke"):
        await anext(feed)


@given(st.lists(st.sampled_from(["a", "\ud83d", "\ude00", "é", "😀"]), max_size=12))
def test_halves_of_a_pair_are_joined_whatever_was_merged(parts: list[str]) -> None:
    """Case A12: no piece holds a lone surrogate, and no character is lost between two pieces."""
    whole = "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    async def check() -> None:
        feed = Feed()
        found = ""
        for part in parts:
            feed.text(part)
            if part != "a":
                feed._settle(last=False)
        feed.close()
        async for item in feed:
            assert isinstance(item, TextPiece)
            item.text.encode()
            found += item.text
        assert found == whole

    anyio.run(check)


async def test_a_reader_waits_for_a_slow_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is buffered is bounded."""
    monkeypatch.setattr("hub.models.chat.feed.MAX_BUFFERED", 10)
    read = 0

    async def reader(feed: Feed) -> None:
        nonlocal read
        while True:
            feed.text("xxxx")
            read += 4
            if feed.crowded:
                await feed.room()
            await anyio.lowlevel.checkpoint()

    async with Fed(reader) as items:
        with anyio.fail_after(5):
            await anext(items)
            await anyio.wait_all_tasks_blocked()
            assert read < 40
            before = read
            await anext(items)
            await anext(items)
            assert read > before


async def test_an_exception_of_the_body_leaves_as_it_is() -> None:
    """The reading task is an inside matter: no exception group reaches the consumer."""
    cause = KeyError("cause")
    with pytest.raises(ValueError, match="mine") as caught:
        async with Fed(_speak_and_hang):
            raise ValueError("mine") from cause
    assert caught.value.__cause__ is cause


async def test_a_fault_of_the_reader_reaches_the_consumer() -> None:
    """A programming error is not swallowed and not wrapped."""

    async def reader(feed: Feed) -> None:
        raise LookupError("bug")

    with anyio.fail_after(5), pytest.raises(LookupError, match="bug"):
        async with Fed(reader) as items:
            await anext(items)


async def test_a_cancelled_consumer_ends_the_reader() -> None:
    """Leaving by cancellation is leaving: the scope absorbs it and nothing goes on."""
    ended = anyio.Event()

    async def reader(feed: Feed) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with anyio.fail_after(5), anyio.CancelScope() as scope:
        async with Fed(reader) as items:
            scope.cancel()
            await anext(items)
    assert scope.cancelled_caught
    assert ended.is_set()
