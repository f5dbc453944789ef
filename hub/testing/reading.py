"""From the body of a chat-completions request to the conversation that a script plays over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hub.models.script_file import Script


@dataclass(frozen=True, slots=True)
class Asked:
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


def asked(body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked:
    """Return what a request asks.

    Raises:
        AttributeError, KeyError, TypeError: it is not built as a request should be.
    """
    messages: list[Message] = []
    instructions: list[str] = []
    for message in body.get("messages") or ():
        content = message.get("content")
        text = content if isinstance(content, str) else _text(content)
        match message.get("role"):
            case "tool":
                # the protocol has no flag for it; hub and others mark a failure by its first word
                failed = text[:6].lower() == "error:"
                messages.append(ToolMessage(message.get("tool_call_id", ""), "", text, failed))
            case "assistant":
                calls = tuple(map(_call, message.get("tool_calls") or ()))
                messages.append(AssistantMessage(text, calls))
            case "system" | "developer":
                instructions.append(text)
            case _:
                messages.append(UserMessage(text))
    tools = tuple(tool["function"]["name"] for tool in body.get("tools") or ())
    return Asked(messages, "\n\n".join(instructions), tools, str(body.get("model", "")), headers)


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(call["id"], function["name"], function["arguments"])


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""
