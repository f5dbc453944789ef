"""From a turn of a script to the bytes of a chat completion, whole or as a stream."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hub.models.script_player import Played

PIECE = 24
"""Characters of text or arguments in one delta."""


def conversation(body: Mapping[str, Any]) -> tuple[list[Message], str]:
    """Return the messages and the instructions of a request."""
    messages: list[Message] = []
    instructions: list[str] = []
    for message in body.get("messages") or ():
        text = _text(message.get("content"))
        match message.get("role"):
            case "system" | "developer":
                instructions.append(text)
            case "assistant":
                calls = tuple(
                    ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
                    for call in message.get("tool_calls") or ()
                )
                messages.append(AssistantMessage(text, calls))
            case "tool":
                messages.append(ToolMessage(message.get("tool_call_id", ""), "", text))
            case _:
                messages.append(UserMessage(text))
    return messages, "\n\n".join(instructions)


def usage_of(played: Played, body: Mapping[str, Any], size: int) -> dict[str, Any] | None:
    """Return the usage block; the script's numbers, or four bytes to a token. ``{}`` is none."""
    if played.turn.usage is not None:
        given = dict(played.turn.usage)
        return _usage(given) if given else None
    said = len(played.text) + len(played.reasoning)
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


def finish_of(played: Played) -> str:
    """Return the finish reason: the script's, or the one that fits."""
    return played.turn.finish or ("tool_calls" if played.calls else "stop")


def whole(played: Played, model: str, usage: dict[str, Any] | None) -> dict[str, Any]:
    """Return the answer of a request without a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": played.text or None}
    if played.calls:
        message["tool_calls"] = [_whole_call(call) for call in played.calls]
    if played.reasoning:
        message["reasoning_content"] = played.reasoning
    choice = {"index": 0, "message": message, "finish_reason": finish_of(played)}
    return {
        "id": f"chatcmpl-{played.number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


def deltas(played: Played) -> Iterator[dict[str, Any]]:
    """Yield the choices of a stream: role, reasoning, text, calls in pieces, finish."""
    piece = int(played.turn.wire.get("delta_size", PIECE))
    yield {"delta": {"role": "assistant", "content": ""}}
    for part in _pieces(played.reasoning, piece):
        yield {"delta": {"reasoning_content": part}}
    for _ in range(int(played.turn.wire.get("deltas", 0))):
        yield {"delta": {"content": "tok "}}
    for part in _pieces(played.text, piece):
        yield {"delta": {"content": part}}
    for index, call in enumerate(played.calls):
        function = {"name": call.name, "arguments": ""}
        opening = {"index": index, "id": call.id, "type": "function", "function": function}
        yield {"delta": {"tool_calls": [opening]}}
        for part in _pieces(call.arguments, piece):
            more = {"index": index, "function": {"arguments": part}}
            yield {"delta": {"tool_calls": [more]}}
    if finish_of(played) != "incomplete":
        yield {"delta": {}, "finish_reason": finish_of(played)}


def events(
    played: Played, model: str, usage: dict[str, Any] | None, *, include_usage: bool
) -> Iterator[bytes]:
    """Yield the server-sent events of a streamed answer, ``[DONE]`` last."""
    base = {"id": f"chatcmpl-{played.number}", "object": "chat.completion.chunk", "created": 0}
    base["model"] = model
    for choice in deltas(played):
        full = {"index": 0, "finish_reason": None, **choice}
        yield event({**base, "choices": [full]})
    if include_usage and usage is not None:
        yield event({**base, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def event(payload: Any) -> bytes:
    """Return one server-sent event; lone surrogates go out as ``\\ud83d`` escapes."""
    return b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def _whole_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _pieces(text: str, size: int) -> Sequence[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""
