"""From the result of an MCP call to the outcome that a model is told."""

import base64
import json
from typing import Any

from mcp import types

from hub.core.messages import ToolOutcome
from hub.core.text import without_surrogates


def outcome_of(result: types.CallToolResult) -> ToolOutcome:
    """Return the outcome of a call.

    Texts are joined in their order; blocks of other kinds leave a line among them, and the content
    of images never becomes text. All blocks are in ``blocks``, in their order, unless one plain
    text is all that there is. Structured content becomes the text only where there is no other.
    """
    texts: list[str] = []
    blocks: list[dict[str, Any]] = []
    for block in result.content:
        dumped = block.model_dump(by_alias=True, mode="json", exclude_none=True)
        blocks.append(dumped)
        texts.append(block.text if isinstance(block, types.TextContent) else _line(dumped))
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        blocks = []
    text = "\n".join(part for part in texts if part)
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return ToolOutcome(
        without_surrogates(text),
        is_error=bool(result.is_error),
        structured=result.structured_content,
        kind="tool_error" if result.is_error else "",
        blocks=tuple(blocks),
    )


def _line(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "image" | "audio" as kind:
            return f"[{kind}, {block.get('mimeType', 'unknown type')}, {_size(block)}]"
        case "resource_link":
            return f"[link to {block.get('name', '')}: {block.get('uri', '')}]"
        case "resource":
            resource = block.get("resource", {})
            text = resource.get("text")
            return str(text) if text is not None else f"[resource {resource.get('uri', '')}]"
        case kind:
            return f"[a block of type {kind}]"


def _size(block: dict[str, Any]) -> str:
    """Say how large the content of an image or sound is, or that it cannot be told."""
    try:
        return f"{len(base64.b64decode(block.get('data', ''), validate=True))} bytes"
    except ValueError:
        return "not in base64 as the protocol wants it, so nothing can show it"
