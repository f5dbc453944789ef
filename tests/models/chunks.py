"""Chunks of chat completions as servers send them."""

import json
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    """Return one event with this data."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(finish: str | None = None, **parts: Any) -> dict[str, Any]:
    """Return one chunk with a delta."""
    choice = {"index": 0, "delta": parts, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def text(content: str) -> bytes:
    """Return the event of a piece of text."""
    return event(delta(content=content))


def call(arguments: str | None = None, **parts: Any) -> dict[str, Any]:
    """Return one entry of ``tool_calls``; ``name`` goes into the function."""
    function: dict[str, Any] = {}
    if "name" in parts:
        function["name"] = parts.pop("name")
    if arguments is not None:
        function["arguments"] = arguments
    return {**parts, "function": function}


def calls(*entries: dict[str, Any]) -> bytes:
    """Return the event of a delta with pieces of calls."""
    return event(delta(tool_calls=list(entries)))


def finish(reason: str) -> bytes:
    """Return the event that ends an answer."""
    return event(delta(reason))


def usage(prompt: int = 10, answer: int = 5, **details: Any) -> bytes:
    """Return the event that counts tokens."""
    counts = {"prompt_tokens": prompt, "completion_tokens": answer, **details}
    return event({"id": "c1", "choices": [], "usage": counts})


def answer(content: str = "Hello.") -> list[bytes]:
    """Return the events of a short, well-formed answer."""
    return [text(content), finish("stop"), usage(), DONE]
