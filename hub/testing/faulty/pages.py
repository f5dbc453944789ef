"""How the faulty MCP server splits a list into pages, rightly and wrongly."""

from collections.abc import Sequence
from typing import Any

from hub.testing.faulty.knobs import Knobs
from hub.testing.faulty.rpc import INVALID_PARAMS, RpcError

_CURSOR_KNOBS = ("repeat_cursor", "empty_cursor", "empty_page", "reject_cursor")


def page_of(
    knobs: Knobs, items: Sequence[object], cursor: str | None, key: str = "tools"
) -> dict[str, Any]:
    """One page of the items, as the result of a request for a list.

    Raises:
        RpcError: The cursor is not one of ours, or `reject_cursor` is on.
    """
    pages = _split(knobs, items)
    names = [_cursor(knobs, index) for index in range(len(pages))]
    index = _find(knobs, names, cursor)
    result: dict[str, Any] = {key: pages[index]}
    if knobs.on("repeat_cursor") and index:
        result["nextCursor"] = names[index]
    elif index + 1 < len(pages):
        result["nextCursor"] = names[index + 1]
    elif knobs.text("empty_cursor") == "last":
        result["nextCursor"] = ""
    return result


def _split(knobs: Knobs, items: Sequence[object]) -> list[list[object]]:
    broken = any(map(knobs.on, _CURSOR_KNOBS))
    size = knobs.count("pages") or (-(-len(items) // 3) if broken else len(items))
    pages = [list(items[start : start + size]) for start in range(0, len(items), max(size, 1))]
    if knobs.on("empty_page"):
        pages.insert(1, [])
    return pages or [[]]


def _cursor(knobs: Knobs, index: int) -> str:
    if index == 1 and knobs.text("empty_cursor") == "middle":
        return ""
    return f"page-{index}"


def _find(knobs: Knobs, names: list[str], cursor: str | None) -> int:
    if cursor is None or (cursor == "" and knobs.text("empty_cursor") == "last"):
        return 0
    if knobs.on("reject_cursor") or cursor not in names[1:]:
        raise RpcError(INVALID_PARAMS, f"Unknown cursor {cursor!r}")
    return names.index(cursor)
