"""Every change is told in words that say what it means."""

from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.ports import RemotePrompt, RemoteResource, RemoteTool, ServerListing
from hub.pins.offer import Change, changes, offer_of
from hub.pins.words import change_line, change_words, text_diff, why_held_back
from tests.pins.listings import listing

TOOL = RemoteTool(
    "read",
    "Reads a file.",
    {
        "type": "object",
        "properties": {"n": {"type": "integer", "default": 1}, "mode": {"enum": ["a", "b"]}},
        "required": ["n"],
    },
    annotations={"readOnlyHint": True},
)


def told(before: ServerListing, now: ServerListing) -> list[str]:
    return [change_line(change) for change in changes(offer_of(before)[0], offer_of(now)[0])]


def words(**changed: Any) -> list[str]:
    (change,) = changes(offer_of(listing(TOOL))[0], offer_of(listing(replace(TOOL, **changed)))[0])
    return change_words(change)


def schema(**changed: Any) -> dict[str, Any]:
    return {**TOOL.input_schema, **changed}


def arguments(**changed: Any) -> dict[str, Any]:
    return schema(properties={**TOOL.input_schema["properties"], **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"annotations": {}}, "became writable (readOnlyHint true → false)"),
        ({"annotations": {"readOnlyHint": True, "idempotentHint": True}},
         "says that calls may be repeated (idempotentHint false → true)"),
        ({"annotations": {"readOnlyHint": "yes"}},
         'changed readOnlyHint (readOnlyHint true → "yes")'),
        ({"annotations": {"readOnlyHint": True, "x": 1}}, "annotations.x is new: 1"),
        ({"description": "Reads a file. Then sends it to the moon."},
         "description gained 6 words"),
        ({"description": "Reads files well."}, "description reads otherwise"),
        ({"description": ""}, "description is gone"),
        ({"input_schema": arguments(path={"type": "string"})}, "new optional argument `path`"),
        ({"input_schema": schema(
            properties={**TOOL.input_schema["properties"], "path": {}}, required=["n", "path"])},
         "new required argument `path`"),
        ({"input_schema": schema(properties={"mode": {"enum": ["a", "b"]}}, required=[])},
         "argument `n` is gone"),
        ({"input_schema": schema(required=[])}, "argument `n` is optional now"),
        ({"input_schema": arguments(mode={"enum": ["a", "b", "rm"]})}, '`mode` may now be "rm"'),
        ({"input_schema": arguments(mode={"enum": ["a"]})}, '`mode` may not be "b" any more'),
        ({"input_schema": arguments(mode={"enum": ["b", "a"]})},
         "allowed values of `mode` stand in another order"),
        ({"input_schema": arguments(n={"type": "integer", "default": 2})},
         "default of `n` 1 → 2"),
        ({"input_schema": arguments(n={"type": "string", "default": 1})},
         'type of `n` "integer" → "string"'),
        ({"input_schema": arguments(n={"type": "integer", "default": 1, "maximum": 9})},
         "maximum of `n` is new: 9"),
        ({"input_schema": schema(additionalProperties=False)},
         "additionalProperties is new: false"),
        ({"output_schema": {"type": "object"}}, "output schema is new"),
        ({"meta": {"a": 1}}, '_meta is new: {"a":1}'),
        ({"title": "Read"}, 'title is new: "Read"'),
    ],
)  # fmt: skip
def test_a_change_of_a_tool_says_what_it_means(changed: dict[str, Any], said: str) -> None:
    """Hints, arguments, values, texts."""
    assert said in words(**changed)


def test_a_warning_that_is_gone_is_told() -> None:
    """Beside ``readOnlyHint`` it was what kept the tool from being taken for one that reads."""
    careful = replace(TOOL, annotations={"readOnlyHint": True, "destructiveHint": True})
    (line,) = told(listing(careful), listing(TOOL))
    assert "no longer says that it may destroy something" in line


def test_what_cannot_be_seen_is_named() -> None:
    """Zero-width, bidirectional and tag characters, in a description and in a new argument."""
    found = words(
        description="Reads a file.\u200b\u200b\u202e",
        input_schema=arguments(path={"description": "x\U000e0041"}),
    )
    assert "description holds hidden characters (U+200B ×2, U+202E)" in found
    assert "argument `path` holds hidden characters (U+E0041)" in found


def test_prompts_templates_and_instructions_are_told_too() -> None:
    """With the noun and the name of each."""
    before = listing(
        prompts=[RemotePrompt("p", arguments=({"name": "a"},)), RemotePrompt("q")],
        resources=[RemoteResource("f:{x}", template=True), RemoteResource("f:1", description="A")],
        instructions="Be good.",
    )
    now = listing(
        prompts=[RemotePrompt("p", arguments=({"name": "a", "required": True}, {"name": "b"}))],
        resources=[
            RemoteResource("g:{x}", template=True),
            RemoteResource("f:1", description="B"),
            RemoteResource("f:2"),
        ],
        instructions="Be good and quick.",
    )
    assert told(before, now) == [
        "instructions changed: gained 2 words",
        "prompt `p`: argument `a` is required now; new argument `b`",
        "prompt `q`: the prompt is gone",
        "resource template `g:{x}`: new: a copy of `f:{x}` under another name",
        "resource template `f:{x}`: the resource template is gone",
        "resource `f:1`: description reads otherwise",
    ]


def test_the_text_form_is_a_diff_without_anything_hidden() -> None:
    """Only what changed, a few lines around it, and every value on a line of its own."""
    now = replace(TOOL, description="Reads a file.\nAnd\u200b more.")
    (change,) = changes(offer_of(listing(TOOL))[0], offer_of(listing(now))[0])
    lines = text_diff(change).split("\n")
    assert lines[:2] == ["--- approved", "+++ now"]
    assert "-description: Reads a file." in lines
    assert "+  And\\u200b more." in lines
    assert not any("properties" in line for line in lines)


def test_a_flood_of_changes_is_cut_in_words() -> None:
    """The text form has the rest."""
    many = {f"a{index}": {"type": "string"} for index in range(100)}
    found = words(input_schema=arguments(**many))
    assert len(found) == 21
    assert found[-1] == "and 80 more changes"


def test_the_reason_for_what_is_new_is_short() -> None:
    """Nobody has to read what a tool says that nobody has approved yet."""
    change = Change("tool", "t", "new", None, {"name": "t", "description": "Long. " * 99})
    assert why_held_back(change) == "new since the server was approved"
