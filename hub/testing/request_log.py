"""The log of a scripted model server: each request, what it was told, and when."""

import json
import time
from typing import Any

from msgspec import Struct, field

from hub.testing.http_wire import HttpRequest

_SECRET = ("authorization", "proxy-authorization", "cookie", "api-key", "x-api-key")


class Record(Struct):
    """One request as the server saw it."""

    at: float
    """Monotonic seconds at which the whole request was there."""
    connection: int
    """Number of the connection, from 1."""
    path: str
    headers: dict[str, str]
    """Names in lower case; credentials are redacted."""
    body: Any
    """The JSON value; None when it is none, or when the server keeps no bodies."""
    agent: str = ""
    """Whose script answered it."""
    status: int = 0
    """Status of the answer; 0 while there is none."""
    answer: int = 0
    """Number of the answer in its conversation, from 0."""
    problems: list[str] = field(default_factory=list)
    """Why it was refused."""
    ended: float | None = None
    """Monotonic seconds at which the answer was complete, or the client had gone."""
    client_left: bool = False
    """The client closed the connection before the answer was complete."""


def record_of(request: HttpRequest, path: str, connection: int) -> Record:
    """Return the record of a request that has arrived."""
    headers = {
        name: "[redacted]" if name in _SECRET else value for name, value in request.headers.items()
    }
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        body = None
    return Record(time.monotonic(), connection, path, headers, body)
