"""Requests as bytes: a history that only grows is encoded once and then only joined."""

import json
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.messages import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage
from hub.core.modelspec import ModelSpec
from hub.core.requests import ModelRequest
from hub.core.text import without_surrogates
from hub.models.chat.call_json import wire_object

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_OWN_KEYS = frozenset({"messages", "stream", "tools"})
_REFUSED = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not (?:permitted|allowed)"
    r"|extra |additional propert|use '?max_",
    re.IGNORECASE,
)
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Dialect(Struct, frozen=True):
    """What an endpoint has shown to want; learnt from its refusals."""

    limit_key: str = "max_tokens"
    """Parameter that bounds the answer's length."""
    usage: bool = True
    """Ask for token counts with ``stream_options``."""
    reasoning: bool = False
    """Send the reasoning of earlier answers back."""
    session: bool = False
    """Name the session, so that its requests meet the same prompt cache."""

    @property
    def cache_key(self) -> str:
        """Name under which an encoded message is kept; one for each form of messages."""
        return "chat+reasoning" if self.reasoning else "chat"

    def after(self, words: str, sent: "RequestParts") -> "Dialect | None":
        """Return the dialect to try after a refusal in these words; None when nothing fits."""
        if "reasoning_content" in words and not self.reasoning and sent.has_reasoning:
            return replace(self, reasoning=True)
        if "stream_options" in words and self.usage:
            return replace(self, usage=False)
        if "prompt_cache_key" in words and self.session:
            return replace(self, session=False)
        if sent.max_tokens is not None and self.limit_key in words and _REFUSED.search(words):
            other = "max_tokens" if self.limit_key != "max_tokens" else "max_completion_tokens"
            return replace(self, limit_key=other)
        return None


class RequestParts(Struct, frozen=True):
    """What of a request matters when it is refused."""

    max_tokens: int | None
    has_reasoning: bool


class Encoder:
    """Encodes requests to one model."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._extra = {k: v for k, v in spec.extra_body.items() if k not in _OWN_KEYS}
        self._tools: OrderedDict[int, tuple[Sequence[ToolSpec], bytes]] = OrderedDict()

    def body(self, request: ModelRequest, dialect: Dialect) -> bytes:
        """Return the request as JSON."""
        parts = [_encode(_to_json(self._head(request, dialect)))[:-1]]
        if request.tools:
            parts.append(b',"tools":' + self._tools_of(request.tools))
        parts.append(b',"messages":[')
        parts.append(b",".join(_messages(request, dialect)))
        parts.append(b"]}")
        return b"".join(parts)

    def parts(self, request: ModelRequest) -> RequestParts:
        """Return what can be changed about a request that was refused."""
        reasoning = any(
            isinstance(message, AssistantMessage) and message.reasoning
            for message in request.messages
        )
        return RequestParts(self._max_tokens(request), reasoning)

    def _head(self, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
        spec = self._spec
        head: dict[str, Any] = {"model": spec.model, "stream": True}
        if dialect.usage:
            head["stream_options"] = {"include_usage": True}
        limit = self._max_tokens(request)
        if limit is not None:
            head[dialect.limit_key] = limit
        if spec.temperature is not None:
            head["temperature"] = spec.temperature
        if dialect.session and request.session:
            head["prompt_cache_key"] = request.session
        if request.tools and request.tool_choice != "auto":
            head["tool_choice"] = _tool_choice(request.tool_choice)
        return {**head, **self._extra}

    def _max_tokens(self, request: ModelRequest) -> int | None:
        bounds = [request.max_output_tokens, self._spec.max_output_tokens]
        return min((bound for bound in bounds if bound is not None), default=None)

    def _tools_of(self, tools: Sequence[ToolSpec]) -> bytes:
        if not isinstance(tools, tuple):
            return encode_tools(tools)
        kept = self._tools.get(id(tools))
        if kept is None:
            # the tuple is kept beside its bytes, so its id cannot come to mean another one
            kept = self._tools[id(tools)] = (tools, encode_tools(tools))
            if len(self._tools) > 64:
                self._tools.popitem(last=False)
        return kept[1]


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """Return the tools as the ``tools`` array of a request."""
    wire = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]
    return _encode(_to_json(wire))


def encode_message(message: Message, dialect: Dialect) -> bytes:
    """Return one message as JSON."""
    match message:
        case UserMessage():
            wire: dict[str, Any] = {"role": "user", "content": message.text or "(empty message)"}
        case ToolMessage():
            wire = {
                "role": "tool",
                "tool_call_id": message.call_id,
                "content": _tool_text(message),
            }
        case AssistantMessage():
            wire = _assistant(message, dialect)
    return _encode(_to_json(wire))


def _messages(request: ModelRequest, dialect: Dialect) -> list[bytes]:
    key = dialect.cache_key
    found: list[bytes] = []
    if request.instructions:
        system = {"role": "system", "content": request.instructions}
        found.append(_encode(_to_json(system)))
    for message in request.messages:
        encoded = message.encoded.get(key)
        if encoded is None:
            encoded = message.encoded[key] = encode_message(message, dialect)
        found.append(encoded)
    return found


def _assistant(message: AssistantMessage, dialect: Dialect) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if dialect.reasoning and message.reasoning:
        wire["reasoning_content"] = message.reasoning
    if message.calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": _name(call.name), "arguments": wire_object(call.arguments)},
            }
            for call in message.calls
        ]
    elif not message.text:
        wire["content"] = "(no answer)"
    return wire


def _name(name: str) -> str:
    """Make a name that the model made up legal; an illegal one would fail every later request."""
    return _ILLEGAL.sub("_", name)[:64] or "unknown"


def _tool_text(message: ToolMessage) -> str:
    text = message.text or "(no output)"
    if message.is_error and not text.lower().startswith("error"):
        return f"Error: {text}"
    return text


def _tool_choice(choice: str) -> Any:
    if choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text).encode()
