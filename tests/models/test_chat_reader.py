"""When an answer counts as alive, and when it is over."""

from collections.abc import AsyncIterator

import anyio
import pytest

from hub.models.chat.feed import Feed
from hub.models.chat.reader import DONE_GRACE, FINISH_GRACE, read
from hub.models.chat.stream import Assembly
from hub.models.chat.watch import IdleWatch
from tests.models.chunks import DONE, call, calls, delta, event, finish, text, usage


class WatchLog(IdleWatch):
    """Writes down what the reader tells its watch."""

    def __init__(self) -> None:
        super().__init__(anyio.CancelScope(), idle=10, first=10)
        self.log: list[str] = []

    def progress(self) -> None:
        self.log.append("progress")

    def ending(self, seconds: float) -> None:
        self.log.append(f"ending {seconds}")

    def pause(self) -> None:
        self.log.append("pause")

    def resume(self) -> None:
        self.log.append("resume")


async def log_of(*chunks: bytes) -> list[str]:
    feed, watch = Feed(), WatchLog()
    await read(_each(chunks), Assembly(feed.text, feed.reasoning), feed, watch)
    return watch.log


async def _each(chunks: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@pytest.mark.parametrize(
    "chunk",
    [
        b": keep-alive\n\n",
        event(delta(role="assistant", content="")),
        event({"choices": []}),
        usage(),
        b"data: ping\n\n",
        b"event: ping\ndata: {}\n\n",
    ],
)
async def test_what_says_nothing_is_no_progress(chunk: bytes) -> None:
    """Case A14: comments, pings, roles and counts keep the transport alive, not the answer."""
    assert await log_of(chunk, chunk) == []


@pytest.mark.parametrize(
    "chunk",
    [text("a"), event(delta(reasoning="a")), calls(call("{", index=0, id="a", name="x"))],
)
async def test_words_reasoning_and_calls_are_progress(chunk: bytes) -> None:
    """Case A14: each of them restarts the idle time."""
    assert await log_of(chunk, b": x\n\n", chunk) == ["progress", "progress"]


async def test_the_end_of_an_answer_leaves_only_a_short_time() -> None:
    """Counts may follow the end, and the closing bytes the last event; not for ever."""
    log = await log_of(text("a"), finish("stop"), usage(), DONE, b": x\n\n")
    assert log == [
        "progress",
        "progress",
        f"ending {FINISH_GRACE}",
        f"ending {DONE_GRACE}",
    ]


async def test_the_time_of_a_slow_consumer_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch is held while the reader waits for room."""
    monkeypatch.setattr("hub.models.chat.feed.MAX_BUFFERED", 3)
    feed, watch = Feed(), WatchLog()
    assembly = Assembly(feed.text, feed.reasoning)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(read, _each((text("long text"), text("b"))), assembly, feed, watch)
            await anyio.wait_all_tasks_blocked()
            assert watch.log == ["progress", "pause"]
            await anext(feed)
            await anext(feed)
    assert watch.log == ["progress", "pause", "resume", "progress"]


async def test_the_deadline_moves_with_progress_and_never_comes_early() -> None:
    """The deadline is the idle time after the last move, plus the time that moves are saved for."""
    scope = anyio.CancelScope()
    watch = IdleWatch(scope, idle=100, first=150)
    start = anyio.current_time()
    assert scope.deadline == pytest.approx(start + 150, abs=1)
    watch._moved -= 2
    watch.progress()
    moved = scope.deadline
    assert moved == pytest.approx(start + 101, abs=1)
    watch.progress()
    assert scope.deadline == moved
    watch.pause()
    assert scope.deadline == float("inf")
    watch.resume()
    assert scope.deadline == pytest.approx(start + 100, abs=1)
    watch.ending(5)
    watch._moved -= 2
    watch.progress()
    assert scope.deadline == pytest.approx(start + 5, abs=1)
