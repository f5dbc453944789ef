"""How the faulty MCP server spoils the result of a tool call."""

import json
from typing import Any

from hub.testing.faulty.knobs import Knobs
from hub.testing.faulty.offer import HOSTILE
from hub.testing.faulty.rpc import Message

RAW_BYTE = "\u27e8raw byte\u27e9"
"""Stands for a byte that is not UTF-8 until the message is written."""

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def text_result(text: str, **members: Any) -> Message:
    """A result with one block of text."""
    return {"content": [{"type": "text", "text": text}], "isError": False, **members}


def tool_error(text: str) -> Message:
    """A result that says that the tool failed."""
    return text_result(text, isError=True)


def spoil(knobs: Knobs, name: str, result: Message) -> Message:
    """The result as the knobs of the family `calls` leave it."""
    if "content" not in result:
        return result
    if name == "echo":
        result = _spoil_echo(knobs, result)
    if name == "add" and knobs.on("bad_output"):
        result = {**result, "structuredContent": {"sum": "three"}}
    if knobs.on("tool_error"):
        result = {**result, "isError": True}
    if knobs.on("structured_only"):
        structured = result.get("structuredContent", {"text": result["content"][0]["text"]})
        result = {**result, "content": [], "structuredContent": structured}
    if knobs.on("no_content"):
        result = {key: value for key, value in result.items() if key != "content"}
    return _spoil_blocks(knobs, result)


def _spoil_echo(knobs: Knobs, result: Message) -> Message:
    if knobs.on("hostile_text"):
        return text_result(HOSTILE)
    if knobs.on("huge_result"):
        return text_result(_huge(knobs.count("huge_result")))
    return result


def _spoil_blocks(knobs: Knobs, result: Message) -> Message:
    blocks = list(result.get("content", []))
    if knobs.on("image_error"):
        blocks.append({"type": "image", "data": _PIXEL, "mimeType": "image/png"})
        result = {**result, "isError": True}
    if knobs.on("raw_image"):
        blocks.append({"type": "image", "data": "\x89PNG\r\n\x1a\n", "mimeType": "image/png"})
    if knobs.on("unknown_block"):
        blocks.append({"type": "hologram", "data": "…"})
    if knobs.on("non_utf8_result"):
        blocks.append({"type": "text", "text": f"caf{RAW_BYTE}"})
    return {**result, "content": blocks} if blocks else result


def _huge(size: int) -> str:
    row = {"name": "row", "words": "lorem ipsum dolor sit amet " * 3}
    rows = size // (len(json.dumps({"id": 100_000, **row})) + 2) + 1
    return json.dumps([{"id": 100_000 + index, **row} for index in range(rows)])
