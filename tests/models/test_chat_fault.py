"""What failed requests mean."""

import random
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from hub.core.errors import ContextOverflowError
from hub.core.modelspec import ModelSpec
from hub.models.chat.fault import AttemptFailed, Place, of_status, of_stream, words_of
from hub.models.chat.retry import MAX_DELAY, Retries, asked_delay
from hub.testing.clock import FakeClock

SPEC = ModelSpec("fast", "gpt-x", "https://user:pw@host.example/v1?k=v", api_key="sk-secret-123")
PLACE = Place(SPEC)


def failed(status: int, words: str = "no", **headers: str) -> AttemptFailed:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return of_status(PLACE, status, named, {"error": {"message": words}})


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "the request exceeds the available context size, try increasing it",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192",
        "input length exceeds the context length",
        "the input length exceeds maximum context length",
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens",
        "This endpoint's maximum context length is 131072 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "Please reduce the length of the messages or completion.",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "Your request exceeded model token limit: 8192",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        "invalid params, context window exceeds limit",
    ],
)
def test_the_words_of_every_server_for_a_full_window_are_known(words: str) -> None:
    """A full window is compacted, not reported, whoever says it and however."""
    error = failed(400, words).error
    assert isinstance(error, ContextOverflowError)
    assert error.status == 400


def test_the_code_for_a_full_window_is_enough() -> None:
    """OpenAI's code, without any known words; also status 413 and inside an answer."""
    body = {"error": {"message": "Too much.", "code": "context_length_exceeded"}}
    assert isinstance(of_status(PLACE, 400, {}, body).error, ContextOverflowError)
    assert isinstance(of_stream(PLACE, body["error"]).error, ContextOverflowError)
    assert isinstance(of_status(PLACE, 413, {}, "").error, ContextOverflowError)


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Invalid schema for function 'x': in context=(), object schema missing properties",
        "model not found in this context",
    ],
)
def test_other_refusals_are_not_taken_for_a_full_window(words: str) -> None:
    """Compacting would not help."""
    assert failed(400, words).error.kind == "bad_request"


@pytest.mark.parametrize(
    ("status", "kind", "again"),
    [
        (400, "bad_request", "never"),
        (401, "auth", "never"),
        (402, "rate_limit", "never"),
        (403, "auth", "never"),
        (404, "not_found", "never"),
        (408, "timeout", "backoff"),
        (409, "server", "backoff"),
        (422, "bad_request", "never"),
        (429, "rate_limit", "backoff"),
        (500, "server", "backoff"),
        (501, "bad_request", "never"),
        (503, "server", "backoff"),
        (504, "timeout", "backoff"),
        (529, "server", "backoff"),
    ],
)
def test_each_status_has_a_kind_and_is_retried_only_when_it_is_worth_it(
    status: int, kind: str, again: str
) -> None:
    """The table of statuses."""
    failure = failed(status)
    assert (failure.error.kind, failure.again, failure.error.status) == (kind, again, status)
    assert failure.error.retryable == (again == "backoff")


def test_a_server_may_overrule_the_table() -> None:
    """``x-should-retry`` says yes or no."""
    assert failed(429, x_should_retry="false").again == "never"
    assert failed(400, x_should_retry="true").again == "backoff"


def test_used_up_quota_is_not_retried() -> None:
    """OpenAI answers 429 for it, but waiting does not fill an account."""
    failure = failed(429, "You exceeded your current quota, please check your plan and billing")
    assert (failure.again, failure.error.kind) == ("never", "rate_limit")
    assert "credit" in failure.error.remedy


def test_errors_name_the_setting_that_helps() -> None:
    """Auth names the key's variable and entry; not found names model and base URL."""
    auth = failed(401).error
    assert "OPENAI_API_KEY" in auth.remedy
    assert "'fast'" in auth.remedy
    missing = str(failed(404).error)
    assert "gpt-x" in missing
    assert "https://host.example/v1" in missing
    assert "OPENAI_BASE_URL" in missing


def test_no_error_holds_the_key_or_the_secrets_of_the_address() -> None:
    """A server that echoes the key does not bring it into the log."""
    text = str(failed(401, "Incorrect API key: sk-secret-123 \x1b[31m\u202e!").error)
    assert "secret" not in text
    assert "pw@" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a", "code": "b"}}, "a [b]"),
        ({"error": "a"}, "a"),
        ([{"error": {"message": "a"}}], "a"),
        ({"message": "a"}, "a"),
        ({"detail": "a"}, "a"),
        ({"detail": [{"loc": ["x"]}]}, "[{'loc': ['x']}]"),
        ({"error": {"message": "a", "metadata": {"raw": "b"}}}, "a b"),
        ("a", "a"),
        (None, ""),
    ],
)
def test_the_words_of_an_error_are_found_in_every_shape(body: Any, words: str) -> None:
    """Servers nest their messages differently."""
    assert words_of(body) == words


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"code": 502, "message": "bad gateway"}, "server", 502),
        ({"message": "x", "type": "rate_limit_error"}, "rate_limit", 429),
        ({"message": "x", "type": "invalid_request_error"}, "bad_request", 400),
        ({"message": "x", "code": "invalid_api_key"}, "auth", 401),
        ("it broke", "server", 500),
    ],
)
def test_errors_inside_an_answer_are_told_apart(error: Any, kind: str, status: int) -> None:
    """There is no status line any more, so code and type have to do."""
    found = of_stream(PLACE, error).error
    assert (found.kind, found.status) == (kind, status)


def retries(limit: int = 10) -> Retries:
    return Retries(limit, FakeClock(), random.Random(1))


def test_waits_double_up_to_a_bound_and_are_jittered() -> None:
    """Each wait is between half and all of its step."""
    policy = retries(20)
    delays = [policy.delay(failed(500)) for _ in range(10)]
    for number, delay in enumerate(delays):
        step = min(0.5 * 2**number, MAX_DELAY)
        assert delay is not None
        assert step / 2 <= delay <= step
    assert len(set(delays)) == 10


def test_retries_end_at_the_limit() -> None:
    """``max_retries`` counts requests sent again."""
    policy = retries(2)
    found = [policy.delay(failed(500)) for _ in range(3)]
    assert found[2] is None
    assert None not in found[:2]
    assert retries(0).delay(failed(500)) is None


def test_a_server_that_asks_to_wait_is_obeyed_within_reason() -> None:
    """Seconds, milliseconds and dates; for more than two minutes the request fails instead."""
    assert retries().delay(failed(429, retry_after="7")) == 7
    assert retries().delay(failed(429, retry_after_ms="9500")) == 9.5
    date = format_datetime(datetime.fromtimestamp(FakeClock().now() + 20, UTC), usegmt=True)
    assert retries().delay(failed(503, retry_after=date)) == 20
    assert retries().delay(failed(429, retry_after="3600")) is None
    assert asked_delay({"retry-after": "soon"}, 0) is None
    assert asked_delay({"retry-after": "-5"}, 0) == 0
    assert asked_delay({"retry-after": "nan"}, 0) is None
