"""The blocks of a result, as a log can hold them: order and types stay, large contents go."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

LARGEST_BLOCK = 8_000
"""Characters of one block's content that stay in the log."""
MOST_BLOCKS = 100

Keep = Callable[[str, bytes, str], dict[str, Any]]
"""Keeps bytes for a part of a media type; returns what the block says of them instead."""


def storable_blocks(blocks: tuple[dict[str, Any], ...], keep: Keep) -> tuple[dict[str, Any], ...]:
    """Return the blocks with every large content kept elsewhere.

    A large text keeps its beginning; large data (base64) goes whole, and the block says how to
    find it. Blocks past ``MOST_BLOCKS`` are counted.
    """
    stored = [
        _storable(block, f"block {number}", keep)
        for number, block in enumerate(blocks[:MOST_BLOCKS], 1)
    ]
    if (left := len(blocks) - len(stored)) > 0:
        stored.append({"type": "left_out", "blocks": left})
    return tuple(stored)


def _storable(block: dict[str, Any], part: str, keep: Keep) -> dict[str, Any]:
    resource = block.get("resource")
    if isinstance(resource, dict):
        media = str(resource.get("mimeType") or "application/octet-stream")
        return {**block, "resource": _lighter(resource, part, media, keep)}
    return _lighter(block, part, str(block.get("mimeType") or "application/octet-stream"), keep)


def _lighter(holder: dict[str, Any], part: str, media: str, keep: Keep) -> dict[str, Any]:
    light = dict(holder)
    for key in ("data", "blob"):
        content = light.get(key)
        if isinstance(content, str) and len(content) > LARGEST_BLOCK:
            del light[key]
            light |= keep(part, _decoded(content), media)
    text = light.get("text")
    if isinstance(text, str) and len(text) > LARGEST_BLOCK:
        light["text"] = text[:LARGEST_BLOCK]
        light["left_out"] = len(text) - LARGEST_BLOCK
    return light


def _decoded(content: str) -> bytes:
    """Return the bytes of base64; what is none is kept as it came."""
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return content.encode("utf-8", "replace")
