"""Readings of the parts of a chunk that servers spell in different ways."""

from typing import Any

from hub.core.messages import Usage


def text_of(content: Any) -> str:
    """Return the text of a content that may be a string, a part or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(part) for part in content)
    if isinstance(content, dict) and content.get("type") not in ("thinking", "reasoning"):
        return text_of(content.get("text") or content.get("refusal"))
    return ""


def reasoning_of(content: Any) -> str:
    """Return the reasoning of a string, or of the parts that are marked as reasoning."""
    if not content:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(reasoning_of(part) for part in content if isinstance(part, dict))
    if isinstance(content, dict) and content.get("type") in ("thinking", "reasoning"):
        return text_of(content.get("thinking") or content.get("reasoning") or content.get("text"))
    return ""


def usage_of(usage: Any) -> Usage | None:
    """Return the counts of one request, or None when there are none."""
    if not isinstance(usage, dict):
        return None
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    answer = _count(usage, "completion_tokens", "output_tokens")
    if not prompt and not answer:
        return None
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(
        usage, "prompt_cache_hit_tokens", "cached_tokens"
    )
    reasoning = _count(usage.get("completion_tokens_details"), "reasoning_tokens") or _count(
        usage, "reasoning_tokens"
    )
    if reasoning and _count(usage, "total_tokens") == prompt + answer + reasoning:
        answer += reasoning
    return Usage(prompt, answer, min(cached, prompt), min(reasoning, answer), requests=1)


def _count(counts: Any, *names: str) -> int:
    if isinstance(counts, dict):
        for name in names:
            value = counts.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return int(value)
    return 0
