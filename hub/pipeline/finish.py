"""The end of a call's way: what it gave is checked against what was promised, then made to fit."""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
from msgspec.structs import replace

from hub.core.messages import ToolOutcome
from hub.core.ports import Tool
from hub.core.results import NOTE, Shelf
from hub.pipeline.arguments import UnusableSchema, found_errors

SMALL = 16_384
"""Characters of a result that are worked on at once; a larger one goes to a thread."""
CHECKED = 262_144
"""Characters of a result whose structured content is checked; larger ones would take seconds."""


async def finished(
    outcome: ToolOutcome, tool: Tool, shelf: Shelf, *, own: bool = False
) -> ToolOutcome:
    """Return an outcome with its warnings, shaped for log and model.

    Once a tool has run its result is not lost, so that a cancel waits until this is done. ``own``
    says that the tool itself sees to the length of its results.
    """
    schema = getattr(tool, "output_schema", None)
    size = _size(outcome)

    def finish() -> ToolOutcome:
        return shelf.shape(_checked(outcome, schema, size), own=own)

    if size > SMALL:
        with anyio.CancelScope(shield=True):
            outcome = await anyio.to_thread.run_sync(finish)
        return outcome
    return finish()


def _checked(outcome: ToolOutcome, schema: Mapping[str, Any] | None, size: int) -> ToolOutcome:
    if schema is None or outcome.is_error:
        return outcome
    warning = _warning(outcome.structured, schema, size)
    return replace(outcome, warnings=(*outcome.warnings, warning)) if warning else outcome


def _warning(structured: Any, schema: Mapping[str, Any], size: int) -> str:
    if structured is None:
        return "the tool promises structured content and gave none"
    if size > CHECKED:
        return f"{NOTE}the structured content is too large to be checked against its schema"
    try:
        errors = found_errors(structured, schema, root="it")
    except UnusableSchema as error:
        return f"{NOTE}the tool's output schema cannot be used: {error}"
    if not errors:
        return ""
    return f"the structured content does not fit the tool's output schema: {'; '.join(errors)}"


def _size(outcome: ToolOutcome) -> int:
    """Return about how many characters a result has, without writing it out."""
    size = len(outcome.text)
    for block in outcome.blocks:
        resource = block.get("resource")
        for holder in (block, resource if isinstance(resource, dict) else {}):
            size += sum(len(value) for value in holder.values() if isinstance(value, str))
    return size
