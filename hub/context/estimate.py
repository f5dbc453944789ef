"""How many tokens a request takes, as a rule of thumb: four characters to a token."""

import json
from collections.abc import Iterable

import msgspec

from hub.core.messages import AssistantMessage, Message, ToolSpec
from hub.core.requests import ModelRequest

CHARACTERS_PER_TOKEN = 4
"""English text and code average between 3.5 and 4.5 over common vocabularies."""
MESSAGE_OVERHEAD = 4
"""Tokens that the frame of one message takes."""


def estimate_tokens(request: ModelRequest) -> int:
    """Estimate the input tokens of a request, tools included."""
    characters = len(request.instructions) + sum(tool_characters(tool) for tool in request.tools)
    characters += sum(message_characters(message) for message in request.messages)
    return characters // CHARACTERS_PER_TOKEN + MESSAGE_OVERHEAD * (len(request.messages) + 1)


def message_characters(message: Message) -> int:
    """Count the characters of a message that a model reads."""
    if isinstance(message, AssistantMessage):
        return len(message.text) + sum(len(c.name) + len(c.arguments) for c in message.calls)
    return len(message.text)


def tool_characters(tool: ToolSpec) -> int:
    """Count the characters of a tool's offer."""
    schema = json.dumps(tool.parameters, separators=(",", ":"))
    return len(tool.name) + len(tool.description) + len(schema)


def within(tools: Iterable[ToolSpec], tokens: int) -> bool:
    """Say whether the offers of tools take at most so many tokens; looks at no more than it must.

    Bytes are counted in place of characters, which is quicker and for schemas nearly the same.
    """
    left = tokens * CHARACTERS_PER_TOKEN
    for tool in tools:
        left -= len(tool.name) + len(tool.description) + len(msgspec.json.encode(tool.parameters))
        if left < 0:
            return False
    return True
