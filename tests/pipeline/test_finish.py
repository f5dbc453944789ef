"""What a result is checked against before it is stored."""

import threading
from typing import Any

import anyio
import pytest

from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext
from hub.pipeline.finish import CHECKED, SMALL, finished


class Promising:
    """A tool with an output schema."""

    def __init__(self, schema: dict[str, Any] | None, *, server: str = "far") -> None:
        self.spec = ToolSpec("far__add", "", {"type": "object"}, server=server)
        self.output_schema = schema

    async def call(self, arguments: dict[str, Any], context: CallContext) -> ToolOutcome:
        raise AssertionError("nobody calls it")


class Noting:
    """A shelf that notes who asked, from where."""

    def __init__(self) -> None:
        self.own: list[bool] = []
        self.threads: list[int] = []

    def shape(self, outcome: ToolOutcome, *, own: bool = False) -> ToolOutcome:
        self.own.append(own)
        self.threads.append(threading.get_ident())
        return outcome

    def mentions(self, text: str) -> bool:
        return False


SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


@pytest.mark.parametrize(
    ("schema", "structured", "words"),
    [
        (SUM, {"sum": 3}, ""),
        (SUM, {"sum": "3"}, "does not fit the tool's output schema: sum:"),
        (SUM, {}, "does not fit the tool's output schema: it:"),
        (SUM, None, "gave none"),
        (None, {"anything": 1}, ""),
        ({"type": "nonsense"}, {"sum": 3}, "note: the tool's output schema cannot be used"),
        ({"$ref": "https://example.com/a"}, {}, "note: the tool's output schema cannot be used"),
    ],
)
async def test_a_broken_promise_is_a_warning(schema: Any, structured: Any, words: str):
    """The result stays what it is; a schema that cannot be used is only noted."""
    done = await finished(ToolOutcome("3", structured=structured), Promising(schema), Noting())
    assert (done.text, done.structured, done.is_error) == ("3", structured, False)
    assert len(done.warnings) == bool(words)
    assert all(words in warning for warning in done.warnings)


async def test_an_error_promises_nothing():
    """Its structured content, if any, is of another kind."""
    done = await finished(ToolOutcome("no", is_error=True), Promising(SUM), Noting())
    assert done.warnings == ()


async def test_a_large_result_is_worked_on_in_a_thread():
    """Other agents go on meanwhile; what is very large is not checked."""
    shelf = Noting()
    for size in (10, SMALL + 1, CHECKED + 1):
        done = await finished(ToolOutcome("x" * size, structured={}), Promising(SUM), shelf)
    assert shelf.threads[0] == threading.get_ident()
    assert threading.get_ident() not in shelf.threads[1:]
    assert done.warnings[0].startswith("note: ")


async def test_a_cancel_does_not_lose_a_result_that_is_there():
    """The tool has run; its result is finished first."""
    shelf = Noting()
    with anyio.CancelScope() as scope:
        scope.cancel()
        done = await finished(ToolOutcome("x" * (SMALL + 1)), Promising(None), shelf)
    assert done.text
    assert len(shelf.own) == 1


async def test_a_tool_that_bounds_its_results_is_told_to_the_shelf():
    """What came with the hub is not cut a second time."""
    shelf = Noting()
    await finished(ToolOutcome("x"), Promising(None), shelf)
    await finished(ToolOutcome("x"), Promising(None), shelf, own=True)
    assert shelf.own == [False, True]
