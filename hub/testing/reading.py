"""From the body of a chat-completions request to the conversation that a script plays over."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hub.models.script.file import Script
from hub.testing.strict import History

KNOWN = 256
"""Conversations that are kept to be read on."""


class Asked(Struct, frozen=True):
    """What a request asks."""

    messages: list[Message]
    instructions: str
    tools: tuple[str, ...]
    """Names of the tools on offer."""
    model: str
    headers: Mapping[str, str]
    """Names in lower case."""

    @property
    def task(self) -> str:
        """What the user says first."""
        return next((m.text for m in self.messages if isinstance(m, UserMessage)), "")

    def belongs_to(self, script: Script) -> bool:
        """Say whether an agent of the script is meant."""
        match = script.match
        headers = match.get("header") or {}
        return (
            match.get("model", self.model) == self.model
            and all(self.headers.get(name.lower()) == headers[name] for name in headers)
            and all(needle in self.instructions for needle in match.get("system_contains", ()))
            and all(needle in self.task for needle in match.get("task_contains", ()))
        )


class UnreadableRequest(Exception):
    """A request is not built as it should be."""


class Reader:
    """Reads requests; of a conversation that has grown, only what is new."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def read(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Asked, list[str]]:
        """Return what a request asks, and what is illegal in its messages.

        Raises:
            UnreadableRequest: it is not built as a request should be.
        """
        given = body.get("messages")
        raw: list[Any] = given if isinstance(given, list) else []
        key = hash(str(raw[:2]))
        known = self._known.pop(key, None)
        if known is None or known.raw != raw[: len(known.raw)]:
            known = _Known()
        try:
            known.add(raw[len(known.raw) :])
            tools = tuple(str(tool["function"]["name"]) for tool in body.get("tools") or ())
        except (AttributeError, KeyError, TypeError) as error:
            problems = known.history.problems() or [f"the body cannot be read: {error!r}"]
            raise UnreadableRequest("; ".join(problems)) from None
        self._known[key] = known
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]
        instructions, model = "\n\n".join(known.instructions), str(body.get("model", ""))
        found = Asked(list(known.messages), instructions, tools, model, headers)
        return found, known.history.problems()


class _Known:
    """A conversation as far as it has been read."""

    def __init__(self) -> None:
        self.raw: list[Any] = []
        self.messages: list[Message] = []
        self.instructions: list[str] = []
        self.history = History()

    def add(self, more: list[Any]) -> None:
        self.history.add(more)
        for message in more:
            text, role = _text(message.get("content")), message.get("role")
            if role in ("system", "developer"):
                self.instructions.append(text)
            else:
                self.messages.append(_message(role, text, message))
        self.raw += more


def _message(role: Any, text: str, given: Mapping[str, Any]) -> Message:
    if role == "assistant":
        return AssistantMessage(text, tuple(map(_call, given.get("tool_calls") or ())))
    if role == "tool":
        # The protocol has no flag for a failure; hub and others mark one by its first word.
        failed = text[:6].lower() == "error:"
        return ToolMessage(str(given.get("tool_call_id", "")), "", text, failed)
    return UserMessage(text)


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(str(call["id"]), str(function["name"]), str(function["arguments"]))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""
