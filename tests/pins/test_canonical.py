"""What means the same has one canonical form, and everything else another (H50)."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.ports import RemotePrompt, RemoteResource, RemoteTool
from hub.pins.canonical import (
    HINTS,
    canonical_prompt,
    canonical_resource,
    canonical_schema,
    canonical_tool,
    compact,
    digest,
)
from hub.pins.offer import changes, offer_of
from tests.pins.listings import listing

READS = {"readOnlyHint": True}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


def leaf(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """Object schemas with what real ones have."""
    names = draw(st.lists(NAMES, max_size=3, unique=True))
    properties: dict[str, Any] = {}
    for name in names:
        if depth and draw(st.booleans()):
            properties[name] = draw(schemas(depth - 1))
        else:
            properties[name] = leaf(
                draw(st.sampled_from(["string", "number", "boolean"])),
                description=draw(st.text(max_size=10)),
                default=draw(VALUES),
                enum=draw(st.lists(SCALARS, min_size=1, max_size=3)),
            )
    return {
        "type": "object",
        "properties": properties,
        "required": draw(st.lists(st.sampled_from(names), unique=True)) if names else [],
    }


@st.composite
def tools(draw: st.DrawFn) -> RemoteTool:
    hints = draw(st.dictionaries(st.sampled_from(sorted(HINTS)), st.booleans()))
    return RemoteTool(
        name=draw(NAMES),
        description=draw(st.text(max_size=20)),
        input_schema=draw(schemas()),
        output_schema=draw(st.none() | schemas(1)),
        title=draw(st.text(max_size=5)),
        annotations=hints,
        meta=draw(st.dictionaries(NAMES, VALUES, max_size=2)),
    )


def reordered(value: Any) -> Any:
    """The same JSON with keys in another order and whole numbers written as the other kind."""
    match value:
        case bool() | None | str():
            return value
        case int() if abs(value) < 2**53:
            return float(value)
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case dict():
            return {key: reordered(value[key]) for key in reversed(list(value))}
        case list():
            return [reordered(item) for item in value]
    return value


def spelled_out(schema: Any) -> Any:
    """The same schema with what its absence says written down."""
    if not isinstance(schema, dict) or "properties" not in schema:
        return schema
    properties = {name: spelled_out(part) for name, part in schema["properties"].items()}
    return {
        "additionalProperties": True,
        "minProperties": 0.0,
        "deprecated": False,
        "description": "",
        "$defs": {},
        **schema,
        "properties": properties,
        "required": [*reversed(schema["required"])],
    }


@given(tools())
def test_another_order_and_other_numbers_are_no_change(tool: RemoteTool) -> None:
    """Key order and ``1`` against ``1.0``, at every depth."""
    other = RemoteTool(
        tool.name,
        tool.description,
        reordered(tool.input_schema),
        reordered(tool.output_schema),
        tool.title,
        reordered(tool.annotations),
        reordered(tool.meta),
    )
    assert compact(canonical_tool(tool)) == compact(canonical_tool(other))
    assert digest(canonical_tool(tool)) == digest(canonical_tool(other))


@given(tools())
def test_a_default_that_is_written_down_is_no_change(tool: RemoteTool) -> None:
    """Of annotations as MCP defines them, and of JSON Schema's keywords."""
    other = RemoteTool(
        tool.name,
        tool.description,
        spelled_out(tool.input_schema),
        spelled_out(tool.output_schema),
        tool.title,
        {**HINTS, **tool.annotations, "title": ""},
        tool.meta,
    )
    assert not changes(offer_of(listing(tool))[0], offer_of(listing(other))[0])


def test_a_tool_that_drops_its_warning_is_another_one() -> None:
    """Beside ``readOnlyHint`` an explicit ``destructiveHint`` means something, its absence not."""
    careful = {"readOnlyHint": True, "destructiveHint": True}
    one, other = RemoteTool("t", annotations=careful), RemoteTool("t", annotations=READS)
    before, now = offer_of(listing(one))[0], offer_of(listing(other))[0]
    assert [change.name for change in changes(before, now)] == ["t"]
    assert not changes(now, before)


@given(tools(), st.data())
def test_any_other_mutation_is_a_change(tool: RemoteTool, data: st.DataObject) -> None:
    """Of whatever part, however deep."""
    part = data.draw(st.sampled_from(["description", "title", "hint", "meta", "schema", "output"]))
    hints, meta = dict(tool.annotations), dict(tool.meta)
    schema, output = copy.deepcopy(tool.input_schema), copy.deepcopy(tool.output_schema)
    description, title = tool.description, tool.title
    match part:
        case "description":
            description += data.draw(st.text(min_size=1, max_size=3))
        case "title":
            title += "!"
        case "hint":
            hint = data.draw(st.sampled_from(sorted(HINTS)))
            hints[hint] = not hints.get(hint, HINTS[hint])
        case "meta":
            meta["added"] = [*meta.get("added", [])] if meta.get("added") == [] else []
            meta["also"] = data.draw(NAMES) + str(meta.get("also"))
        case "schema":
            mutate(schema, data)
        case "output":
            output = {"type": "object"} if output is None else None
    other = RemoteTool(tool.name, description, schema, output, title, hints, meta)
    before, now = offer_of(listing(tool))[0], offer_of(listing(other))[0]
    assert [change.what for change in changes(before, now)] == ["changed"]


def mutate(schema: dict[str, Any], data: st.DataObject) -> None:
    """Change one thing somewhere in a schema."""
    here = schema
    while True:
        nested = [part for part in here["properties"].values() if "properties" in part]
        if not nested or data.draw(st.booleans()):
            break
        here = data.draw(st.sampled_from(nested))
    match data.draw(st.sampled_from(["new", "closed", "described", "required"])):
        case "new":
            here["properties"][data.draw(NAMES) + "_new_one"] = data.draw(schemas(0))
        case "closed":
            here["additionalProperties"] = False
        case "described":
            here["description"] = "Said before the call."
        case "required":
            here["required"] = [*here["required"], "one more name"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"default": None}, {}),
        ({"default": 1}, {"default": True}),
        ({"default": "1"}, {"default": 1}),
        ({"enum": [1, 2]}, {"enum": [2, 1]}),
        ({"const": {}}, {}),
        ({"additionalProperties": False}, {}),
        ({"minLength": 1}, {}),
        ({"default": {"required": []}}, {"default": {}}),
        ({"additionalProperties": True, "unevaluatedProperties": False},
         {"unevaluatedProperties": False}),
        ({"items": {}, "unevaluatedItems": False}, {"unevaluatedItems": False}),
        ({"properties": {"required": {}}}, {}),
        ({"enum": []}, {}),
        ({"anyOf": []}, {}),
        ({"x-danger": []}, {}),
        ({"default": "a\u200b"}, {"default": "a"}),
        ({"default": 9007199254740993}, {"default": 9007199254740992.0}),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_default_is_a_change(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Values are no schemas, and some defaults mean something beside other keywords."""
    assert compact(canonical_schema(one)) != compact(canonical_schema(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"additionalProperties": {}}, {"additionalProperties": True}),
        ({"items": True}, {}),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema#"}, {}),
        ({"default": -0.0}, {"default": 0}),
        ({"default": 1e20}, {"default": 100000000000000000000}),
        ({"anyOf": [{"required": []}]}, {"anyOf": [{}]}),
    ],
)
def test_two_ways_to_say_the_same_are_one(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Each is one that real servers change between versions of their libraries."""
    assert compact(canonical_schema(one)) == compact(canonical_schema(other))


def test_the_parts_of_a_description_cannot_be_moved_into_each_other() -> None:
    """The form says where each part begins and ends, so that no joint can be imitated."""
    one = RemoteTool("a", 'b","title":"c', title="")
    other = RemoteTool("a", "b", title="c")
    assert digest(canonical_tool(one)) != digest(canonical_tool(other))


def test_prompts_and_resources_leave_empty_parts_out() -> None:
    """An argument that says that it is not required says nothing new."""
    one = RemotePrompt("p", arguments=({"name": "a", "required": False, "description": ""},))
    assert canonical_prompt(one) == canonical_prompt(RemotePrompt("p", arguments=({"name": "a"},)))
    other = RemotePrompt("p", arguments=({"name": "a", "required": True},))
    assert canonical_prompt(one) != canonical_prompt(other)
    assert canonical_resource(RemoteResource("a:b", title="")) == {"uri": "a:b"}


def test_a_schema_without_a_bottom_is_told_and_not_followed() -> None:
    """Nested deeper than it can be compared."""
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(RecursionError):
        canonical_tool(RemoteTool("deep", input_schema=schema))
    while schema:
        schema = schema["properties"]["a"]
