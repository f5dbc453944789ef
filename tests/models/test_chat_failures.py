"""Failures of a chat model: what is retried, what is said, and what is never said."""

import socket
import ssl

import anyio
import pytest

from hub.core.errors import ContextOverflowError, ModelError
from hub.core.modelspec import ModelSpec
from hub.core.requests import ModelRequest, TextPiece
from hub.models.chat.fault import Place
from hub.models.chat.model import ChatModel
from hub.models.chat.transport import of_connecting
from hub.testing.clock import FakeClock
from tests.models.asking import KEY, REQUEST, ask, completion, model_at, notices, said
from tests.models.chunks import DONE, answer, event, text
from tests.models.wire_server import (
    cut,
    failure,
    framed,
    plain,
    stream_head,
    streamed,
    wire_server,
)


async def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    """Case S4: 429 with Retry-After, through the clock, announced with its status."""
    clock = FakeClock(patient=False)
    busy = failure(429, "slow down", "retry-after: 7")
    async with (
        wire_server(busy, busy, streamed(*answer("Hi"))) as server,
        model_at(server.url, clock) as model,
    ):
        items = await ask(model)
    assert said(items) == "Hi"
    assert [(notice.attempt, notice.delay, notice.status) for notice in notices(items)] == [
        (1, 7.0, 429),
        (2, 7.0, 429),
    ]
    assert clock.slept == [7.0, 7.0]


async def test_a_failing_server_is_asked_again_so_often_and_not_more() -> None:
    """The SDK retries nothing of its own: one request per announced attempt."""
    async with (
        wire_server(failure(500, "oops")) as server,
        model_at(server.url, max_retries=3) as model,
    ):
        with pytest.raises(ModelError, match="oops") as caught:
            await ask(model)
        assert len(server.requests) == 4
    assert (caught.value.kind, caught.value.status) == ("server", 500)
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "bad_request"), (401, "auth"), (404, "not_found")]
)
async def test_a_request_that_cannot_succeed_is_sent_once(status: int, kind: str) -> None:
    """There is one request, and the error says what to do."""
    async with (
        wire_server(failure(status, f"bad {KEY}")) as server,
        model_at(server.url) as model,
    ):
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert len(server.requests) == 1
    assert caught.value.kind == kind
    assert not caught.value.retryable
    assert "secret" not in str(caught.value)


async def test_a_full_window_has_an_error_of_its_own() -> None:
    """Case S4: 400 with OpenAI's code."""
    full = failure(400, "Too long.", code="context_length_exceeded")
    async with wire_server(full) as server, model_at(server.url) as model:
        with pytest.raises(ContextOverflowError):
            await ask(model)


async def test_an_error_inside_the_answer_voids_its_text() -> None:
    """The consumer is told, and the second answer stands alone."""
    broken = streamed(text("half"), event({"error": {"message": "overloaded", "code": 529}}))
    async with (
        wire_server(broken, streamed(*answer("whole"))) as server,
        model_at(server.url) as model,
    ):
        items = await ask(model)
    assert TextPiece("half") in items
    assert said(items) == "whole"
    [notice] = notices(items)
    assert notice.status == 529
    assert "overloaded" in notice.reason


async def test_an_error_in_a_json_answer_with_status_200_is_an_error() -> None:
    """Some routers answer so."""
    body = {"error": {"message": "No endpoints found", "code": 404}}
    async with wire_server(plain(body)) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match="No endpoints found") as caught:
            await ask(model)
    assert caught.value.kind == "not_found"


async def test_a_connection_that_breaks_before_the_answer_is_tried_again() -> None:
    """Case S6: no byte at all, or only the head."""
    for first in ([], [stream_head()], cut(b": hi\n\n")):
        async with (
            wire_server(first, streamed(*answer("Hi"))) as server,
            model_at(server.url) as model,
        ):
            items = await ask(model)
        assert said(items) == "Hi"
        assert len(notices(items)) == 1


async def test_nobody_at_the_address_is_said_quickly_and_with_the_address() -> None:
    """Connection refused: a few quick retries, then what to check."""
    clock = FakeClock(patient=False)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        async with model_at(url, clock) as model:
            with pytest.raises(ModelError, match="connection refused") as caught:
                await ask(model)
    assert caught.value.kind == "transport"
    assert caught.value.retryable
    assert url in str(caught.value)
    assert "OPENAI_BASE_URL" in caught.value.remedy
    assert len(clock.slept) == 2
    assert sum(clock.slept) < 1


def test_an_unknown_host_is_told_apart_from_a_server_that_is_down() -> None:
    """A mistyped host name is the cause below the SDK's error, possibly inside a group."""
    cause = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    error = OSError("All connection attempts failed")
    error.__cause__ = ExceptionGroup("attempts", [cause])
    found = of_connecting(Place(ModelSpec("m", "m", "http://no-such-host.invalid/v1")), error)
    assert "http://no-such-host.invalid/v1: the host name is not known" in str(found.error)
    assert found.again == "connect"


async def test_tls_with_a_server_that_has_none_is_not_tried_again() -> None:
    """https:// for a plain server cannot succeed."""
    async with (
        wire_server(streamed(*answer())) as server,
        model_at(server.url.replace("http:", "https:")) as model,
    ):
        with pytest.raises(ModelError, match="TLS") as caught:
            await ask(model)
    assert not caught.value.retryable
    assert "http://" in caught.value.remedy


async def test_plain_http_builds_no_list_of_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 20 ms of a start and has no use."""

    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("authorities were loaded")

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", refuse)
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", refuse)
    async with wire_server(streamed(*answer())) as server, model_at(server.url) as model:
        await ask(model)


async def test_a_silent_server_is_asked_once_more_and_then_given_up() -> None:
    """Case A14: no byte at all."""
    async with (
        wire_server([anyio.Event()]) as server,
        model_at(server.url, idle_timeout=0.1, connect_timeout=0.1) as model,
    ):
        with pytest.raises(ModelError, match=r"silent for 0\.1 s before") as caught:
            await ask(model)
        assert len(server.requests) == 2
    assert caught.value.kind == "timeout"
    assert caught.value.retryable


async def test_a_stall_in_the_middle_is_a_stall() -> None:
    """Case A14: text, then nothing."""
    stalled = [stream_head(), framed(text("Hel")), anyio.Event()]
    async with (
        wire_server(stalled) as server,
        model_at(server.url, idle_timeout=0.1, connect_timeout=0.1) as model,
    ):
        with pytest.raises(ModelError, match="in the middle of its answer"):
            await ask(model)


async def test_keep_alives_are_no_answer() -> None:
    """Case A14: comments and empty deltas came, words did not."""
    alive = framed(b": keep-alive\n\n" + text(""))
    async with (
        wire_server([stream_head(), alive, alive, anyio.Event()]) as server,
        model_at(server.url, idle_timeout=0.1, connect_timeout=0.1) as model,
    ):
        with pytest.raises(ModelError, match="before its answer"):
            await ask(model)


async def test_a_missing_key_for_openai_is_said_before_any_request() -> None:
    """No request is made, and the line to fix it is named."""
    for url in ("", "https://api.openai.com/v1"):
        model = ChatModel(ModelSpec("best", "gpt-x", url), clock=FakeClock())
        with pytest.raises(ModelError, match="no API key") as caught:
            await ask(model)
        assert caught.value.kind == "auth"
        assert "OPENAI_API_KEY" in caught.value.remedy
        assert "'best'" in caught.value.remedy


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "“sk-secret”", "sk secret"])
async def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: str) -> None:
    """Line breaks and typographic quotes come with copying."""
    model = ChatModel(ModelSpec("m", "m", "http://x/v1", api_key=key), clock=FakeClock())
    with pytest.raises(ModelError) as caught:
        await ask(model)
    assert caught.value.kind == "auth"
    assert "sk" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8080/v1", "ftp://x/v1", "http://", "http://x:99x/v1"])
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    """The error names what was given and what a URL looks like."""
    model = ChatModel(ModelSpec("m", "m", url), clock=FakeClock())
    with pytest.raises(ModelError, match="address") as caught:
        await ask(model)
    assert "https://host/v1" in caught.value.remedy


async def test_a_header_with_a_line_break_is_refused_and_not_shown() -> None:
    """Only the header's name appears in the error."""
    spec = ModelSpec("m", "m", "http://x/v1", headers={"x-token": "abc\ndef"})
    with pytest.raises(ModelError, match="x-token") as caught:
        await ask(ChatModel(spec, clock=FakeClock()))
    assert "abc" not in str(caught.value)


async def test_a_web_page_is_a_wrong_address() -> None:
    """Status 200 and HTML: the base URL is that of a site."""
    page = plain("<!DOCTYPE html><title>Welcome</title>")
    async with wire_server(page) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match="does not answer like a model server") as caught:
            await ask(model)
        assert len(server.requests) == 1
    assert "/v1" in caught.value.remedy


async def test_a_redirect_from_plain_http_is_not_followed() -> None:
    """The key is not carried on; the error names the target."""
    moved = plain("", "307 Moved", "location: https://other.example/v1/chat/completions")
    async with wire_server(moved) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match=r"redirects to https://other\.example"):
            await ask(model)


async def test_a_parameter_that_is_refused_is_replaced_once_and_remembered() -> None:
    """max_tokens becomes max_completion_tokens, visibly, and stays so for this model."""
    refusal = failure(400, "Unsupported parameter: 'max_tokens' is not supported with this model.")
    request = ModelRequest("", REQUEST.messages, max_output_tokens=9)
    async with wire_server(refusal, streamed(*answer())) as server, model_at(server.url) as model:
        first = await ask(model, request)
        second = await ask(model, request)
        bodies = [seen.json for seen in server.requests]
    assert len(notices(first)) == 1
    assert not notices(second)
    assert [body.get("max_tokens") for body in bodies] == [9, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 9, 9]


async def test_a_server_without_stream_options_is_asked_without() -> None:
    """Token counts are then unknown, which is better than no answer."""
    refusal = failure(422, "Extra inputs are not permitted: stream_options")
    async with (
        wire_server(refusal, streamed(text("Hi"), DONE)) as server,
        model_at(server.url, max_retries=0) as model,
    ):
        end = completion(await ask(model))
        assert "stream_options" not in server.requests[1].json
    assert end.usage is None


async def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    """Both names of the limit are refused: the error stands."""
    refusal = failure(400, "max_tokens and max_completion_tokens are not supported")
    request = ModelRequest("", REQUEST.messages, max_output_tokens=9)
    async with wire_server(refusal) as server, model_at(server.url) as model:
        with pytest.raises(ModelError, match="not supported"):
            await ask(model, request)
        assert len(server.requests) <= 4
