"""What a connection that failed means, told from the exceptions below it."""

import socket
import ssl
from collections.abc import Iterator

from hub.core.errors import ModelError
from hub.models.chat.fault import AttemptFailed, Place


def of_connecting(place: Place, error: BaseException) -> AttemptFailed:
    """Return the failure of a request that found no server."""
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLError):
            return _no_tls(place, cause)
        if isinstance(cause, socket.gaierror):
            return _no_server(place, "the host name is not known")
        if isinstance(cause, ConnectionRefusedError):
            return _no_server(place, "connection refused")
        if isinstance(cause, TimeoutError):
            return _no_server(place, f"no connection within {place.spec.connect_timeout:g} s")
    return _no_server(place, "no connection")


def of_break(place: Place) -> AttemptFailed:
    """Return the failure of a request whose connection broke before the answer."""
    error = ModelError(
        f"{place.url} closed the connection without an answer",
        kind="transport",
        retryable=True,
        remedy=f"Check that the model server runs and is not overloaded, or {place.set_url}.",
    )
    return AttemptFailed(error, again="backoff")


def of_request(place: Place) -> AttemptFailed:
    """Return the failure of a request that could not be written as HTTP."""
    error = ModelError(
        f"the request to {place.url} cannot be sent: a header or the address is malformed",
        kind="bad_request",
        remedy=f"Check the key and the headers of the model entry {place.spec.name!r}.",
    )
    return AttemptFailed(error, again="never")


def _no_server(place: Place, why: str) -> AttemptFailed:
    error = ModelError(
        f"no model server at {place.url}: {why}",
        kind="transport",
        retryable=True,
        remedy=f"Check that the server runs and can be reached, or {place.set_url}.",
    )
    return AttemptFailed(error, again="connect")


def _no_tls(place: Place, cause: ssl.SSLError) -> AttemptFailed:
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted ({cause.verify_message})"
        remedy = "If the certificate is right, set SSL_CERT_FILE to the authority that signed it."
    else:
        why = f"TLS failed ({cause.reason or 'no reason given'})"
        remedy = f"If the server does not speak TLS, use http:// : {place.set_url}."
    error = ModelError(f"no safe connection to {place.url}: {why}", kind="transport", remedy=remedy)
    return AttemptFailed(error, again="never")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(cause.exceptions)
        waiting.extend(found for found in (cause.__context__, cause.__cause__) if found)
