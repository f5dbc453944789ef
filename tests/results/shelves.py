"""What the tests of large results share."""

from pathlib import Path
from typing import Any

from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext
from hub.results.shelf import Budget, TreeShelf
from hub.results.store import ResultStore
from hub.results.tool import ReadResultTool

CONTEXT = CallContext("s-1", "lead", "c-1", lambda message, done, total: None)


def shelf(
    folder: Path, tree: str = "s-1", *, inline: int = 25_000, preview: int = 6_000
) -> TreeShelf:
    """The shelf of a tree."""
    return TreeShelf(ResultStore(folder / "results"), tree, Budget(inline, preview))


async def read(shelf: TreeShelf, handle: str, **arguments: Any) -> ToolOutcome:
    """The outcome of one call of ``read_result``."""
    return await ReadResultTool(shelf).call({"handle": handle, **arguments}, CONTEXT)


def keep(shelf: TreeShelf, text: str) -> str:
    """Keep a text that is too long, and return its handle."""
    (part,) = shelf.shape(ToolOutcome(text)).kept
    return part.handle
