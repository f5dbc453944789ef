"""From the text of a model to arguments, or to an error that says where."""

import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pipeline.arguments import BadArguments, coerce, parse_arguments, schema_errors, validate

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "all": {"type": "boolean"},
        "files": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def test_a11_raw_control_characters_inside_of_strings_are_accepted():
    """A newline that a model did not escape is still a newline (A11)."""
    assert parse_arguments('{"text": "a\nb\tc"}') == {"text": "a\nb\tc"}


@pytest.mark.parametrize(
    "text",
    ['{"path": "a', '{"path": "a"} trailing', '{"a": 1}{"b": 2}', "{", "nonsense", "[" * 9999],
)
def test_broken_json_is_refused_and_never_repaired(text):
    """What was cut is not run with what is left of it (A10)."""
    with pytest.raises(BadArguments, match="not run"):
        parse_arguments(text)


def test_a_refusal_says_line_and_column_of_the_fault():
    """The model can find what it did wrong."""
    with pytest.raises(BadArguments, match="line 2, column 7"):
        parse_arguments('{"a": 1,\n "b": x}')


@pytest.mark.parametrize("text", ["[1]", "3", '"x"', "null", "true"])
def test_json_that_is_no_object_is_refused(text):
    """Arguments have names."""
    with pytest.raises(BadArguments, match="must be a JSON object"):
        parse_arguments(text)


def test_no_text_at_all_means_no_arguments():
    """Tools without parameters are often called with an empty text."""
    assert parse_arguments("") == parse_arguments("  ") == {}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"path": "a", "limit": "5"}, {"path": "a", "limit": 5}),
        ({"path": "a", "all": "true"}, {"path": "a", "all": True}),
        ({"path": "a", "files": '["x"]'}, {"path": "a", "files": ["x"]}),
        ({"path": "a", "limit": None}, {"path": "a"}),
        ({"path": "a", "limit": "five"}, {"path": "a", "limit": "five"}),
        ({"path": "5"}, {"path": "5"}),
        ({"path": None}, {"path": None}),
    ],
)
def test_slips_that_leave_no_doubt_are_mended(given, wanted):
    """A quoted number becomes a number only where a number is wanted."""
    assert coerce(given, SCHEMA) == wanted


def test_validation_names_every_place():
    """Key, place and rule are in the message."""
    with pytest.raises(BadArguments) as caught:
        validate({"limit": "x", "colour": 1}, SCHEMA)
    for part in ("limit", "colour", "path"):
        assert part in caught.value.message


def test_validation_errors_are_bounded():
    """A huge wrong value is not quoted in full."""
    errors = schema_errors({"path": ["x" * 100_000]}, SCHEMA)
    assert len(errors) == 1
    assert len(errors[0]) < 500


@given(
    st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
    )
)
def test_every_json_object_survives_parsing(value):
    """Parsing loses nothing."""
    assert parse_arguments(json.dumps(value)) == value


@given(st.text())
def test_any_text_gives_an_object_or_a_refusal(text):
    """Nothing else can come out."""
    try:
        value = parse_arguments(text)
    except BadArguments:
        value = {}
    assert isinstance(value, dict)


@pytest.mark.parametrize(
    "text", ['{"limit": ' + "9" * 5000 + "}", '{"limit": NaN}', '{"limit": -Infinity}']
)
def test_numbers_that_are_none_are_refused(text):
    """Python reads some of them and gives up on others; no server could be sent them."""
    with pytest.raises(BadArguments):
        parse_arguments(text)


@pytest.mark.parametrize("text", ["9" * 5000, "NaN"])
def test_a_quoted_number_that_cannot_be_read_stays_text(text):
    """The schema then says what is wrong."""
    assert coerce({"path": "x", "limit": text}, SCHEMA)["limit"] == text


UNUSABLE = [
    {"properties": {"path": {"type": "nonsense"}}},
    {"properties": {"path": {"pattern": "("}}},
    {"properties": {"path": {"$ref": "#/nowhere"}}},
    {"properties": {"path": {"$ref": "file:///etc/hostname"}}},
    {"propertyNames": {"$ref": "http://127.0.0.1:9/x"}},
    {"dependentSchemas": {"path": {"$dynamicRef": "http://127.0.0.1:9/x"}}},
    {"$id": "http://127.0.0.1:9/", "allOf": [{"$ref": "other"}]},
]


@pytest.mark.parametrize("schema", UNUSABLE)
def test_a_strangers_schema_that_cannot_be_used_harms_nobody(schema):
    """A server checks its own arguments; whoever reports is told."""
    validate({"path": "x"}, schema)
    (error,) = schema_errors({"path": "x"}, schema)
    assert "cannot be used" in error


def test_a_reference_out_of_a_schema_is_never_fetched():
    """A role file of a clone could otherwise make the hub call any address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/schema"
        assert schema_errors({"a": 1}, {"properties": {"a": {"$ref": url}}})
        with pytest.raises(BlockingIOError):
            listening.accept()
