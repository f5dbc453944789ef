"""From what a user typed to one stored session."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from hub.core.errors import UsageError
from hub.core.text import one_line
from hub.sessions.summary import SessionInfo

SHOWN = 8
"""Candidates that an error message lists."""


def only_one(typed: str, found: Sequence[SessionInfo]) -> SessionInfo:
    """Return the one session among those, at least one, whose id begins with what was typed.

    Raises:
        UsageError: there are several, and none has exactly this id.
    """
    if len(found) == 1:
        return found[0]
    for info in found:
        if info.id == typed:
            return info
    raise _ambiguous(typed, found)


def unknown(typed: str, others: Iterable[str]) -> UsageError:
    """Return the error for a session that is not stored."""
    near = get_close_matches(typed, list(others), n=3)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UsageError(
        f"No session {one_line(typed)!r} is stored.",
        remedy=f"{hint}`hub sessions list` shows what there is.",
    )


def _ambiguous(typed: str, found: Sequence[SessionInfo]) -> UsageError:
    lines = [f"{info.id}  {info.title}".rstrip() for info in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append("…")
    listed = "".join(f"\n    {line}" for line in lines)
    return UsageError(
        f"Several sessions begin with {one_line(typed)!r}:{listed}", remedy="Type more of the id."
    )
