"""What the chunks of one chat completion add up to: text, reasoning, calls, usage and the end."""

import json
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json

from hub.core.messages import AssistantMessage, FinishReason, Usage
from hub.core.requests import Completion
from hub.core.text import without_surrogates
from hub.models.chat.calls import CallSlots
from hub.models.chat.parts import reasoning_of, text_of, usage_of

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "abort": "incomplete",
    "insufficient_system_resource": "incomplete",
}


class StreamFault(Exception):
    """The server reported an error, or sent something unreadable, inside the answer."""

    def __init__(self, error: Any) -> None:
        super().__init__("the answer holds an error")
        self.error = error
        """Error object or text as the server sent it."""


class Assembly:
    """One answer while it streams.

    Text and reasoning are handed on as they come; the rest is ready when the answer has ended.
    """

    def __init__(self, on_text: Callable[[str], None], on_reasoning: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._on_reasoning = on_reasoning
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self.calls = CallSlots()
        self.finish: FinishReason | None = None
        """How the answer ended; None until the server says so."""
        self.usage: Usage | None = None
        self.done = False
        """The server sent its last event."""
        self.events = 0
        """How many pieces of text, reasoning or calls have come."""

    def take(self, data: bytes) -> None:
        """Take the data of one event.

        Raises:
            StreamFault: it is an error, or JSON that is broken.
        """
        try:
            chunk = from_json(data)
        except ValueError:
            if data.strip() == b"[DONE]":
                self.done = True
                return
            for value in _lenient(data):
                self._take_value(value)
            return
        self._take_value(chunk)

    @property
    def text(self) -> str:
        """All text so far, without lone surrogates."""
        return without_surrogates("".join(self._text))

    @property
    def reasoning(self) -> str:
        """All reasoning so far, without lone surrogates."""
        return without_surrogates("".join(self._reasoning))

    @property
    def complete(self) -> bool:
        """Whether the server has said that nothing of the answer is left."""
        return self.done or self.finish is not None

    def completion(self, taken: set[str]) -> Completion:
        """Return the answer. Call ids differ from each other and from those in ``taken``."""
        finish = self.finish or "incomplete"
        if self.finish is None and self.done and not self.calls:
            finish = "stop"
        calls = self.calls.calls(taken, ended=finish in {"stop", "tool_calls"})
        if finish in {"stop", "tool_calls"}:
            finish = "tool_calls" if calls else "stop"
        message = AssistantMessage(self.text, calls, self.reasoning)
        return Completion(message, finish, self.usage)

    def _take_value(self, value: Any) -> None:
        if value.__class__ is not dict:
            if isinstance(value, list):
                for item in value:
                    self._take_value(item)
            return
        if value.get("error"):
            raise StreamFault(value["error"])
        usage = value.get("usage")
        if usage:
            self.usage = usage_of(usage) or self.usage
        choices = value.get("choices")
        if choices.__class__ is list and choices:
            choice = choices[0]
            if choice.__class__ is dict and not choice.get("index"):
                self._take_choice(choice)
        elif "x_groq" in value and isinstance(value["x_groq"], dict):
            self.usage = usage_of(value["x_groq"].get("usage")) or self.usage

    def _take_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        if delta is None and not self.events:
            delta = choice.get("message")
        if delta.__class__ is dict:
            self._take_delta(delta)
        if usage := choice.get("usage"):
            self.usage = usage_of(usage) or self.usage
        if reason := choice.get("finish_reason"):
            self._end(reason, choice)

    def _take_delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content:
            text = content if content.__class__ is str else text_of(content)
            if text:
                self._text.append(text)
                self._on_text(text)
                self.events += 1
            if content.__class__ is not str:
                self._think(reasoning_of(content))
        if not content or len(delta) > 1:
            self._take_rest(delta)

    def _take_rest(self, delta: dict[str, Any]) -> None:
        self._think(reasoning_of(delta.get("reasoning_content") or delta.get("reasoning")))
        if refusal := text_of(delta.get("refusal")):
            self._text.append(refusal)
            self._on_text(refusal)
            self.events += 1
        calls = delta.get("tool_calls")
        if isinstance(calls, dict):
            calls = [calls]
        if isinstance(calls, list) and calls:
            self.calls.add(calls)
            self.events += 1
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and legacy:
            self.calls.add_legacy(legacy)
            self.events += 1

    def _think(self, reasoning: str) -> None:
        if reasoning:
            self._reasoning.append(reasoning)
            self._on_reasoning(reasoning)
            self.events += 1

    def _end(self, reason: Any, choice: dict[str, Any]) -> None:
        self.events += 1
        if reason == "error":
            raise StreamFault(choice.get("error") or "the server ended the answer with an error")
        self.finish = _FINISH.get(str(reason).lower(), "stop")


def _lenient(data: bytes) -> list[Any]:
    """Parse what the fast parser refuses: lone surrogates, bad UTF-8, one object per line."""
    text = data.decode("utf-8", "replace").strip()
    if text[:1] not in {"{", "["}:
        return []
    found: list[Any] = []
    at = 0
    decoder = json.JSONDecoder(strict=False)
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise StreamFault("the server sent an event that is not JSON") from None
        found.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return found
