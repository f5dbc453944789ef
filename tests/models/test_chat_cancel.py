"""Leaving an answer early: by the consumer's choice, by cancellation, one or many at once."""

import anyio
import pytest

from hub.core.requests import TextPiece
from hub.models.chat.model import ChatModel
from hub.testing.clock import FakeClock
from tests.models.asking import REQUEST, ask, model_at
from tests.models.chunks import answer, text
from tests.models.wire_server import Step, failure, framed, stream_head, streamed, wire_server

CLOSE_WITHIN = 0.5
"""Seconds; a connection closes within milliseconds, and this machine may be busy."""


def endless() -> list[Step]:
    return [stream_head(), framed(text("one")), anyio.Event()]


async def test_leaving_early_closes_the_connection_at_once() -> None:
    """The server sees the end while it still has something to say."""
    async with wire_server(endless()) as server, model_at(server.url) as model:
        with anyio.fail_after(5):
            async with model.stream(REQUEST) as items:
                assert await anext(items) == TextPiece("one")
            left = anyio.current_time()
            await server.requests[0].closed.wait()
        assert server.requests[0].closed_at - left < CLOSE_WITHIN


async def test_leaving_before_the_first_piece_closes_the_connection() -> None:
    """Case S5: the server has not said a word yet."""
    async with wire_server([anyio.Event()]) as server, model_at(server.url) as model:
        with anyio.fail_after(5):
            async with model.stream(REQUEST):
                await server.wait_for_requests(1)
            await server.requests[0].closed.wait()


async def test_an_exception_of_the_consumer_closes_the_connection() -> None:
    """Whatever way the body is left."""
    async with wire_server(endless()) as server, model_at(server.url) as model:

        async def fail() -> None:
            async with model.stream(REQUEST) as items:
                await anext(items)
                raise ValueError("mine")

        with anyio.fail_after(5):
            with pytest.raises(ValueError, match="mine"):
                await fail()
            await server.requests[0].closed.wait()


async def test_fifty_cancelled_at_once_close_fifty_connections() -> None:
    """A cancel of the tree reaches every stream; nothing is sent again."""
    async with wire_server(endless()) as server, model_at(server.url) as model:
        started = 0
        all_started = anyio.Event()

        async def child() -> None:
            nonlocal started
            async with model.stream(REQUEST) as items:
                await anext(items)
                started += 1
                if started == 50:
                    all_started.set()
                await anext(items)

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                for _ in range(50):
                    group.start_soon(child)
                await all_started.wait()
                left = anyio.current_time()
                group.cancel_scope.cancel()
            for seen in server.requests:
                await seen.closed.wait()
        assert len(server.requests) == 50
        assert max(seen.closed_at for seen in server.requests) - left < 2 * CLOSE_WITHIN


async def test_a_cancel_ends_the_wait_for_a_retry() -> None:
    """Waiting for a busy server is a cancellation point like any other."""
    clock = FakeClock()
    async with (
        wire_server(failure(429, "slow", "retry-after: 60")) as server,
        model_at(server.url, clock) as model,
    ):
        with anyio.fail_after(5), anyio.CancelScope() as scope:
            async with model.stream(REQUEST) as items:
                await anext(items)
                await clock.wait_for_sleepers()
                scope.cancel()
                await anext(items)
        assert scope.cancelled_caught
        assert len(server.requests) == 1


async def test_a_model_answers_again_after_it_was_left() -> None:
    """A closed stream does not harm the connections of others."""
    async with (
        wire_server(endless(), streamed(*answer())) as server,
        model_at(server.url) as model,
    ):
        async with model.stream(REQUEST) as items:
            await anext(items)
        assert await ask(model)


async def test_two_hundred_answers_run_side_by_side() -> None:
    """No pool limit makes a child wait for another."""
    gate = anyio.Event()
    steps: list[Step] = [stream_head(), gate, *streamed(*answer())[1:]]
    async with wire_server(steps) as server, model_at(server.url) as model:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for _ in range(200):
                    group.start_soon(_drain, model)
                await server.wait_for_requests(200)
                gate.set()
        assert server.connections == 200


async def _drain(model: ChatModel) -> None:
    async with model.stream(REQUEST) as items:
        async for _ in items:
            pass
