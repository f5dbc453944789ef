"""Connections are used again, close when nobody needs them, and leave room for proxies."""

import anyio
import pytest

from hub.models.chat.lanes import transport_to
from hub.testing.serving import serve_model
from tests.models.asking import REQUEST, ask, completion, model_at

SCRIPT = {"script": 1, "turns": [{"text": "Hello."}]}
STALLED = {"script": 1, "turns": [{"text": "Hello.", "wire": {"stall": {"after": "request"}}}]}


async def test_requests_one_after_another_share_a_connection() -> None:
    """A lane that is free again is taken before a new one is opened."""
    async with serve_model(SCRIPT) as server, model_at(server.base_url) as model:
        for _ in range(5):
            completion(await ask(model))
        assert {record.connection for record in server.requests} == {1}


async def test_requests_at_the_same_time_have_a_connection_each_and_share_them_later() -> None:
    """Thirty requests at once wait for nothing, and thirty more open no further connection."""
    async with serve_model(STALLED) as server, model_at(server.base_url) as model:
        for wanted in (30, 60):
            with anyio.fail_after(5):
                async with anyio.create_task_group() as group:
                    for _ in range(30):
                        group.start_soon(ask, model)
                    await server.wait_for_requests(wanted)
                    server.release()
        assert {record.connection for record in server.requests} == set(range(1, 31))


async def test_closing_the_model_closes_every_connection() -> None:
    """Nothing is left open behind a run."""
    async with serve_model(SCRIPT) as server:
        async with model_at(server.base_url) as model, anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask, model)
        with anyio.fail_after(5):
            await server.wait_for(lambda server: not server.open_connections)


async def test_an_answer_that_is_left_early_does_not_cost_its_lane() -> None:
    """The connection closes, and the next request gets one of its own."""
    async with serve_model(STALLED) as server, model_at(server.base_url) as model:
        with anyio.fail_after(5):
            async with model.stream(REQUEST):
                await server.wait_for_requests(1)
            server.release()
            completion(await ask(model))


async def test_connections_close_when_nobody_has_needed_them_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A burst of agents does not leave its connections open for the rest of a long run."""
    monkeypatch.setattr("hub.models.chat.lanes.LANE_IDLE", -1.0)
    async with serve_model(SCRIPT) as server, model_at(server.base_url) as model:
        completion(await ask(model))
        with anyio.fail_after(5):
            await server.wait_for(lambda server: not server.open_connections)


def test_a_proxy_of_the_environment_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment names a proxy, httpx2 has to choose the way."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert transport_to(plain=True) is not None
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert transport_to(plain=False) is None
