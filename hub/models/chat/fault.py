"""What a failed request means: the error that a user sees, and whether to send it again."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from hub.core.errors import ContextOverflowError, ModelError, ModelErrorKind
from hub.core.messages import Usage
from hub.core.modelspec import ModelSpec
from hub.core.requests import Completion
from hub.core.text import one_line

OPENAI_URL = "https://api.openai.com/v1"

Again = Literal["never", "backoff", "connect", "once"]
"""How a failure may be retried: not at all, with growing waits, quickly, or a single time."""

_OVERFLOW = re.compile(
    r"context[_ ]length[_ ]exceeded|maximum context length|maximum prompt length"
    r"|exceed\w* (?:\w+ ){0,3}(?:context|max_model_len)|exceed_context_size"
    r"|context (?:window|length|limit) (?:is |was |has been )?(?:exceeded|overflow|of only|of \d)"
    r"|context the overflows|context[_ ]window[_ ]exceed|context window exceeds"
    r"|longer than the (?:maximum )?(?:model|context)|model's context length"
    r"|(?:prompt|input|request|query) (?:is |was )?too (?:long|large)"
    r"|(?:reduce|shorten) the length of (?:the |your )?(?:messages|prompt|input)"
    r"|input (?:token count|length|tokens).{0,40}exceed|too many (?:input |prompt )?tokens"
    r"|exceeded model token limit|too large for model|request body too large"
    r"|tokens.{0,60}must be <=",
    re.IGNORECASE,
)
_STATUS_OF = (
    ("rate_limit", 429),
    ("rate limit", 429),
    ("insufficient_quota", 429),
    ("invalid_api_key", 401),
    ("authentication", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid_request", 400),
)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|session", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient[_ ]quota|exceeded your current quota|billing", re.IGNORECASE)


class AttemptFailed(Exception):
    """One request came to nothing."""

    def __init__(
        self,
        error: ModelError,
        *,
        again: Again,
        headers: Mapping[str, str] | None = None,
        partial: Completion | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.again: Again = again
        self.headers = headers or {}
        """Headers of the answer, which may say when to come back."""
        self.partial = partial
        """What was said before the answer was cut."""
        self.usage = usage
        """Tokens that the attempt is known to have cost."""


class Place(Struct, frozen=True):
    """The endpoint as error messages name it; nothing secret is in what it says."""

    spec: ModelSpec

    @property
    def base_url(self) -> str:
        """Root of the API, with nothing added to it that belongs to one request."""
        url = self.spec.base_url.strip() or OPENAI_URL
        return url.rstrip("/").removesuffix("/chat/completions")

    @property
    def url(self) -> str:
        """The base URL without user, password and query."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def is_openai(self) -> bool:
        """Whether requests go to OpenAI itself, where no request works without a key."""
        return urlsplit(self.base_url).hostname == "api.openai.com"

    @property
    def set_key(self) -> str:
        """What to do about a key."""
        return f"Set OPENAI_API_KEY, or `api_key` of the model entry {self.spec.name!r}."

    @property
    def set_url(self) -> str:
        """What to do about a base URL."""
        return f"set OPENAI_BASE_URL, or `base_url` of the model entry {self.spec.name!r}"

    def clean(self, text: str, limit: int = 400) -> str:
        """Return a server's words on one line, printable and without the key."""
        for secret in _secrets(self.spec):
            text = text.replace(secret, "[redacted]")
        return one_line(text, limit)


def of_status(place: Place, status: int, headers: Mapping[str, str], body: Any) -> AttemptFailed:
    """Return the failure of a request that was answered with an error status."""
    words = place.clean(words_of(body)) or "no explanation"
    return _failure(place, status, headers, f"(status {status}): {words}")


def of_stream(place: Place, error: Any) -> AttemptFailed:
    """Return the failure of a request whose answer held an error."""
    words = place.clean(words_of({"error": error})) or "no explanation"
    return _failure(place, _status_in(error, words), {}, f"(in its answer): {words}")


def is_overflow(status: int, words: str) -> bool:
    """Say whether a server's words mean that the request is too long."""
    if status == 413:
        return True
    return status not in {401, 402, 403, 404} and bool(_OVERFLOW.search(words))


def words_of(body: Any) -> str:
    """Return what an error body says: its message, or as much of it as there is."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return "" if body is None else str(body)
    error = body.get("error") or body
    if not isinstance(error, dict):
        return str(error)
    message = error.get("message") or error.get("detail") or error.get("msg") or ""
    code = error.get("code") or error.get("type") or ""
    words = message if isinstance(message, str) else str(message)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        words = f"{words} {metadata['raw']}"
    if isinstance(code, str) and code and code not in words:
        words = f"{words} [{code}]".strip()
    return words or str(error)


def _failure(place: Place, status: int, headers: Mapping[str, str], words: str) -> AttemptFailed:
    if is_overflow(status, words):
        message = f"the request is longer than the window of model {place.spec.model!r} {words}"
        return AttemptFailed(ContextOverflowError(message, status=status), again="never")
    kind, what, remedy, worth = _meaning(place, status, headers, words)
    told = headers.get("x-should-retry", "").lower()
    worth = told == "true" or (worth and told != "false")
    error = ModelError(f"{what} {words}", kind=kind, status=status, retryable=worth, remedy=remedy)
    return AttemptFailed(error, again="backoff" if worth else "never", headers=headers)


def _status_in(error: Any, words: str) -> int:
    code = str(error.get("code") or error.get("status")) if isinstance(error, dict) else ""
    if code.isdigit() and 400 <= int(code) < 600:
        return int(code)
    return next((status for pattern, status in _STATUS_OF if pattern in words.lower()), 500)


def _meaning(
    place: Place, status: int, headers: Mapping[str, str], words: str
) -> tuple[ModelErrorKind, str, str, bool]:
    spec = place.spec
    if status in {401, 403}:
        return "auth", f"{place.url} refused the API key", place.set_key, False
    if status == 402 or (status == 429 and _QUOTA.search(words)):
        remedy = "Check the plan and the credit of the account behind the key."
        return "rate_limit", f"the account at {place.url} has no quota left", remedy, False
    if status in {404, 405, 410}:
        remedy = f"Check the model's name; if the address is wrong, {place.set_url}"
        if not urlsplit(place.url).path.strip("/"):
            remedy += " (most servers want a base URL that ends with /v1)"
        return "not_found", f"{place.url} has no model {spec.model!r}", f"{remedy}.", False
    if 300 <= status < 400:
        target = place.clean(headers.get("location", "elsewhere"))
        return (
            "not_found",
            f"{place.url} redirects to {target}",
            f"If it is right, {place.set_url}.",
            False,
        )
    if status == 429:
        return "rate_limit", f"{place.url} limits the rate of requests", "Try again later.", True
    if status in {408, 504}:
        return "timeout", f"{place.url} took too long", "Try again later.", True
    if status == 409 or (status >= 500 and status not in {501, 505}):
        return "server", f"{place.url} failed", "Try again later.", True
    return "bad_request", f"{place.url} did not accept the request", "", False


def _secrets(spec: ModelSpec) -> Iterable[str]:
    values = [spec.api_key.strip()]
    values += [value for name, value in spec.headers.items() if _SECRET_HEADER.search(name)]
    found = {part for value in values for part in (value, *value.split()) if len(part) >= 6}
    return sorted(found, key=len, reverse=True)
