"""JSON with comments: nothing moves, and what stands in texts stays."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub.config.jsonc import parse_jsonc, plain_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("// /* ,] */"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def test_comments_and_trailing_commas_are_left_out_and_lines_stay() -> None:
    """A mark inside of a text is no comment."""
    text = '// one\n{\n  "a": "x // y", /* two\n lines, */ "b": [1, 2, ], // three\n}\n'
    document = parse_jsonc(text, "s.json")
    assert document.problems == ()
    assert document.data == {"a": "x // y", "b": [1, 2]}
    assert document.lines["a",] == 3
    assert document.lines["b",] == 4
    assert document.lines["b", 1] == 4


def test_an_empty_file_is_an_empty_object() -> None:
    """Editors begin with one."""
    assert parse_jsonc("", "s.json").data == {}
    assert parse_jsonc("  // nothing yet\n", "s.json").data == {}


def test_a_fault_is_told_where_it_stands_in_the_file() -> None:
    """Comments before it do not shift the place."""
    (problem,) = parse_jsonc('/* a\n b */ {"a": 1,\n "b" 2}', "s.json").problems
    assert problem.where == "s.json:3:6"


@given(VALUES)
def test_plain_json_is_read_as_it_is(value: Any) -> None:
    """Every JSON text is JSON with comments."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    assert plain_json(text) == text
    assert parse_jsonc(text, "s.json").data == value


@given(st.text('{}[]",/*\\\n ab:1', max_size=30))
def test_no_text_at_all_is_a_fault_of_ours(text: str) -> None:
    """Whatever it holds, there is a document, and no line is lost."""
    assert plain_json(text).count("\n") == text.count("\n")
    parse_jsonc(text, "s.json")
