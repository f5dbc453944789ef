"""The contract of whoever makes a tool's result fit into a conversation."""

from typing import Protocol

from hub.core.messages import ToolOutcome

READ_RESULT = "read_result"
"""The tool that reads what was kept; it is offered once an agent has seen a handle."""

NOTE = "note: "
"""How a warning begins that the log has and no model is told."""
HANDS_ON = frozenset({"resources"})
"""The hub's own tools that hand on what servers say, so that their results are as long."""


class Shelf(Protocol):
    """Keeps what is too large for a conversation, for one session tree."""

    def shape(self, outcome: ToolOutcome, *, own: bool = False) -> ToolOutcome:
        """Return an outcome that a log can hold and a model can be told; never fails.

        What is too large is kept, and a preview with a handle takes its place; ``own`` results,
        those of the hub's own tools, bound themselves. It may take a while
        for a large outcome, and may be called from any thread.
        """
        ...

    def mentions(self, text: str) -> bool:
        """Say whether a text names a handle that can be read here."""
        ...
