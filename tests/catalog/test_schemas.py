"""What becomes of a tool's schema before a model sees it."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.catalog import schemas
from hub.catalog.keywords import BROKEN
from hub.catalog.schemas import MAX_DEPTH, Untranslatable, is_sound
from hub.catalog.schemas import lowered as lowered_as_value


def lowered(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The schema that comes out, and what was changed."""
    found = lowered_as_value(schema)
    return found.parameters, list(found.changes)


GOOD = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where", "default": {"type": "array"}},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "node": {"$ref": "#/$defs/node"},
        "how": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


def test_a_good_schema_is_sent_as_it_is():
    """Deep-equal, in its order, and nothing is reported (H42)."""
    low, changes = lowered(GOOD)
    assert json.dumps(low) == json.dumps(GOOD)
    assert changes == []


def test_objects_get_properties_and_arrays_get_items():
    """At the top and within (H39)."""
    schema = {"type": "object", "properties": {"a": {"type": "array"}, "o": {"type": "object"}}}
    low, changes = lowered(schema)
    assert low["properties"]["a"] == {"type": "array", "items": {}}
    assert low["properties"]["o"] == {"type": "object", "properties": {}}
    assert lowered({})[0] == lowered({"type": "object"})[0] == {"type": "object", "properties": {}}
    assert len(changes) == 2


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_alternatives_at_the_top_become_one_object(keyword: str):
    """References are followed, a property with two meanings keeps both (H40)."""
    schema = {
        keyword: [
            {"properties": {"id": {"type": "string"}}, "required": ["id"]},
            {"properties": {"id": {"type": "integer"}, "n": {"type": "string"}}},
            {"$ref": "#/$defs/more"},
        ],
        "$defs": {"more": {"properties": {"deep": {"type": "boolean"}}}},
    }
    low, changes = lowered(schema)
    assert keyword not in low
    assert low["type"] == "object"
    assert low["properties"] == {
        "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "n": {"type": "string"},
        "deep": {"type": "boolean"},
    }
    assert low.get("required") == (["id"] if keyword == "allOf" else None)
    assert any(keyword in change for change in changes)


def test_members_that_are_no_schemas_are_left_out():
    """And the change is marked, since nothing can be checked against such a schema (H40)."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"type": "object", "ok": {"type": "string"}, "any": True, "n": None},
        "required": "ok",
        "items": 3,
        "allOf": "x",
    }
    low, changes = lowered(schema)
    assert low == {
        "type": "object",
        "properties": {"ok": {"type": "string"}, "any": {}},
    }
    assert any(BROKEN in change for change in changes)


@pytest.mark.parametrize("reference", ["#/$defs/none", "http://example.com/x", "#anchor", 5])
def test_references_that_lead_nowhere_are_left_out(reference: object):
    """Model servers refuse the whole request for one of them (H40)."""
    low, changes = lowered({"type": "object", "properties": {"a": {"$ref": reference}}})
    assert low["properties"] == {"a": {}}
    assert BROKEN in changes[0]


@pytest.mark.parametrize("kind", ["array", "string", ["string", "null"], 5])
def test_arguments_that_are_no_object_cannot_be_translated(kind: object):
    """With a reason (H40)."""
    with pytest.raises(Untranslatable, match="not object"):
        lowered({"type": kind})


def test_an_object_or_null_is_an_object():
    """Arguments are never null."""
    assert lowered({"type": ["object", "null"]})[0]["type"] == "object"


def test_nesting_beyond_reason_cannot_be_translated():
    """A schema that would overflow a stack (H40)."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(MAX_DEPTH + 1):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(Untranslatable, match="nested"):
        lowered(schema)


KEYS = st.sampled_from([
    "type", "properties", "items", "anyOf", "allOf", "required", "enum", "$ref", "$defs", "not",
    "additionalProperties", "a", "b", "prefixItems",
])  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.sampled_from(["object", "array", "string", "a"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_rubbish_is_lowered_or_refused_and_never_changed_in_place(schema: dict[str, Any]):
    """Any JSON: the result is an object's schema, stable under a second lowering (H40)."""
    before = copy.deepcopy(schema)
    try:
        low, _ = lowered(schema)
    except Untranslatable:
        return
    finally:
        assert schema == before
    assert low["type"] == "object"
    assert isinstance(low["properties"], dict)
    assert lowered(low)[0] == low


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_a_schema_that_is_said_to_be_sound_is_not_changed(schema: dict[str, Any]):
    """The quick look and the close one agree (H42)."""
    if is_sound(schema):
        whole = {"type": "object", "properties": {"a": schema}}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schemas, "is_sound", lambda given, depth=0: False)
            assert lowered(whole) == (whole, [])
