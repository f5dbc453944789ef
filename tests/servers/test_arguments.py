"""Arguments are checked before a tool runs."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_servers.arguments import checked
from hub_servers.errors import ToolError

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "seconds": {"type": "number"},
        "all": {"type": "boolean"},
        "action": {"type": "string", "enum": ["show", "write"]},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "'path' is missing"),
        ({"path": None}, "'path' must be of type string, not null"),
        ({"path": 3}, "'path' must be of type string, not integer"),
        ({"path": "a", "limit": "5"}, "'limit' must be of type integer, not string"),
        ({"path": "a", "limit": True}, "'limit' must be of type integer, not boolean"),
        ({"path": "a", "limit": 1.5}, "'limit' must be of type integer, not number"),
        ({"path": "a", "all": 1}, "'all' must be of type boolean, not integer"),
        ({"path": "a", "action": "run"}, "'action' must be one of show, write"),
        ({"path": "a", "items": [{"text": "x"}, {}]}, "'items[1].text' is missing"),
        ({"path": "a", "items": [3]}, "'items[0]' must be of type object"),
        ({"path": "a\ud83d"}, "'path' holds a lone surrogate"),
        ({"\ud83d": "a"}, r"unknown argument '\ud83d'"),
        ({"pth": "a"}, "unknown argument 'pth'; did you mean 'path'?"),
        ({"path": "a", "items": [{"text": "x", "tex": 1}]}, "unknown argument 'items[0].tex'"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, object], named: str) -> None:
    """The message says which key, what it must be and what it is."""
    with pytest.raises(ToolError) as caught:
        checked("tool", SCHEMA, arguments)
    assert named in str(caught.value)
    assert str(caught.value).startswith("tool: ")


def test_a_null_for_an_optional_argument_counts_as_absent() -> None:
    """Models often send null for what they leave out."""
    assert checked("tool", SCHEMA, {"path": "a", "limit": None}) == {"path": "a"}


def test_a_whole_float_is_an_integer() -> None:
    """JSON does not tell 5 from 5.0."""
    assert checked("tool", SCHEMA, {"path": "a", "limit": 5.0, "seconds": 2})["limit"] == 5


def test_no_arguments_at_all_are_an_empty_object() -> None:
    """A client may leave the arguments out."""
    assert checked("tool", {"type": "object", "properties": {}}, None) == {}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_is_accepted_or_refused_with_a_message(value: object) -> None:
    """No JSON value makes the check itself fail."""
    for key in SCHEMA["properties"]:
        with suppress(ToolError):
            checked("tool", SCHEMA, {"path": "a", key: value})
