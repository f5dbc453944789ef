"""From a turn of a script to the body of a chat completion, whole or as events."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hub.core.messages import ToolCall
from hub.models.script.player import Played
from hub.models.script.wire import Wire

PIECE = 24
"""Characters of text or arguments in one delta."""
TOKEN = "tok "
"""What each of the deltas says that a turn asks for by number."""
DONE = b"data: [DONE]\n\n"

_ORDINARY = Wire()


def wire_of(played: Played) -> Wire:
    """Return how an answer misbehaves; in no way, when its turn does not say."""
    return played.turn.wire or _ORDINARY


def usage_of(played: Played, size: int) -> dict[str, Any] | None:
    """Return the usage block; the script's numbers, or four bytes to a token. ``{}`` is none."""
    if played.turn.usage is not None:
        return _usage(played.turn.usage) if played.turn.usage else None
    said = len(played.text) + len(played.reasoning) + len(TOKEN) * wire_of(played).deltas
    called = sum(len(call.name) + len(call.arguments) for call in played.calls)
    return _usage({"input_tokens": size // 4, "output_tokens": (said + called + 3) // 4})


def _usage(given: Mapping[str, int]) -> dict[str, Any]:
    read, written = given.get("input_tokens", 0), given.get("output_tokens", 0)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": given.get("cached_tokens", 0)},
        "completion_tokens_details": {"reasoning_tokens": given.get("reasoning_tokens", 0)},
    }


def whole(played: Played, model: str, usage: dict[str, Any] | None) -> bytes:
    """Return the answer of a request without a stream."""
    text = TOKEN * wire_of(played).deltas + played.text
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if played.calls:
        message["tool_calls"] = [_whole_call(call) for call in played.calls]
    if played.reasoning:
        message["reasoning_content"] = played.reasoning
    choice = {"index": 0, "message": message, "finish_reason": _finish_of(played)}
    base = _base(played, model, "chat.completion")
    return json.dumps({**base, "choices": [choice], "usage": usage}).encode()


def events(
    played: Played, model: str, usage: dict[str, Any] | None, *, include_usage: bool
) -> Iterator[bytes]:
    """Yield the server-sent events of a streamed answer, ``[DONE]`` last."""
    base = _base(played, model, "chat.completion.chunk")
    opening = event(base)[:-3] + b',"choices":[{"index":0,'
    for delta in _deltas(played):
        yield opening + b'"finish_reason":null,"delta":' + delta + b"}]}\n\n"
    finish = _finish_of(played)
    if finish is not None:
        reason = json.dumps(finish).encode()
        yield opening + b'"finish_reason":' + reason + b',"delta":{}}]}\n\n'
    if include_usage and usage is not None:
        yield event({**base, "choices": [], "usage": usage})
    yield DONE


def event(payload: Any) -> bytes:
    """Return one server-sent event; lone surrogates go out as ``\\ud83d`` escapes."""
    return b"data: " + _packed(payload) + b"\n\n"


def _deltas(played: Played) -> Iterator[bytes]:
    """Yield role, reasoning, text and calls in pieces, each as JSON."""
    wire = wire_of(played)
    size = wire.delta_size or PIECE
    yield _packed({"role": "assistant", "content": ""})
    for part in _pieces(played.reasoning, size):
        yield _packed({"reasoning_content": part})
    token = _packed({"content": TOKEN})
    for _ in range(wire.deltas):
        yield token
    for part in _pieces(played.text, size):
        yield _packed({"content": part})
    for index, call in enumerate(played.calls):
        function = {"name": call.name, "arguments": ""}
        opening = {"index": index, "id": call.id, "type": "function", "function": function}
        yield _packed({"tool_calls": [opening]})
        for part in _pieces(call.arguments, size):
            yield _packed({"tool_calls": [{"index": index, "function": {"arguments": part}}]})


def _finish_of(played: Played) -> str | None:
    """Return the finish reason: the script's, or the one that fits; None for a torn answer."""
    finish = played.turn.finish or ("tool_calls" if played.calls else "stop")
    return None if finish == "incomplete" else finish


def _base(played: Played, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{played.number}", "object": kind, "created": 0, "model": model}


def _whole_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _pieces(text: str, size: int) -> Sequence[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _packed(value: Any) -> bytes:
    return _encode(value).encode()


_encode = json.JSONEncoder(separators=(",", ":")).encode
