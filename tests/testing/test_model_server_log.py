"""The log of the model server says who ended a connection (S6, S9)."""

from typing import Any

import anyio
import openai
import pytest
from openai import AsyncOpenAI

from hub.testing import ModelServer, serve_model


def script(wire: dict[str, Any]) -> dict[str, Any]:
    return {"script": 1, "turns": [{"text": "x" * 100, "wire": wire}]}


async def streamed(server: ModelServer) -> list[Any]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0) as sdk:
        messages: Any = [{"role": "user", "content": "hi"}]
        stream = await sdk.chat.completions.create(model="m", messages=messages, stream=True)
        return [chunk async for chunk in stream]


@pytest.mark.parametrize("close", [{"after": 0}, {"after": 3, "bytes": 4}])
@pytest.mark.parametrize("stall", [{}, {"stall": {"after": 0, "name": "open"}}])
async def test_a_cut_by_the_server_is_not_laid_to_the_client(close, stall):
    """Also after a stall, during which the server watches for the client to leave."""
    async with serve_model(script({"close": close, **stall})) as server:
        server.release("open")
        with anyio.fail_after(5):
            with pytest.raises(openai.APIConnectionError):
                await streamed(server)
            await server.wait_for(lambda s: s.requests[0].ended is not None)
        assert not server.requests[0].client_left
        assert server.problems == []


async def test_a_client_that_leaves_during_a_stall_before_a_cut_is_noticed():
    """The cut that was still to come changes nothing."""
    wire = {"stall": {"after": 1}, "close": {"after": 2}}
    async with serve_model(script(wire)) as server:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(streamed, server)
                await server.wait_for_requests(1)
                group.cancel_scope.cancel()
            await server.wait_for(lambda s: s.requests[0].ended is not None)
        assert server.requests[0].client_left
