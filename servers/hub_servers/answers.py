"""Keeps an answer within its size and says what was left out."""

from collections.abc import Sequence

ANSWER_CHARS = 30_000
"""How many characters one answer has."""


def fitting(lines: Sequence[str]) -> tuple[str, int]:
    """Return the lines that fit into an answer, and how many do not."""
    used = 0
    for index, line in enumerate(lines):
        used += len(line) + 1
        if used > ANSWER_CHARS:
            return "\n".join(lines[:index]), len(lines) - index
    return "\n".join(lines), 0


def notes(more: int, what: str, *, stopped: bool = False) -> list[str]:
    """Return the lines that tell how much more there is, and whether the scan was cut short."""
    found = [f"[{more} more {what}]"] if more else []
    if stopped:
        found.append("[stopped because it took too long: there may be more; narrow it]")
    return found


def size(count: int) -> str:
    """Return a number of bytes in three digits at most, such as ``999``, ``1.2k`` or ``45M``."""
    if count < 1000:
        return f"{count}"
    value = float(count)
    for unit in ("k", "M", "G"):
        value /= 1000
        if value < 999.5 or unit == "G":
            break
    return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
