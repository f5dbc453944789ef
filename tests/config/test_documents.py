"""Reading text: nothing raises, and every line is where it is said to be."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hub.config.documents import parse_yaml
from hub.config.json_lines import parse_json

SOUP = st.text(alphabet="ab:- \n\t[]{},'\"&*!|>#%?@<~1.\u2028é\x07", max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None)
@given(SOUP)
def test_no_text_makes_the_yaml_reader_raise(text: str) -> None:
    """What cannot be read is a problem with a place in the file."""
    document = parse_yaml(text, "f.yaml", first_line=10)
    for problem in document.problems:
        path, line, column = problem.where.split(":")[:3]
        assert path == "f.yaml"
        assert 10 <= int(line) <= 10 + text.count("\n") + text.count("\u2028") + 1
        assert int(column) >= 1


@settings(max_examples=200, deadline=None)
@given(SOUP)
def test_no_text_makes_the_json_reader_raise(text: str) -> None:
    """The same for JSON."""
    document = parse_json(text, "f.json")
    assert document.problems or document.data == json.loads(text)


@settings(max_examples=200, deadline=None)
@given(JSON, st.booleans())
def test_every_key_and_item_of_json_has_its_line(data: Any, ascii_only: bool) -> None:
    """Counted by hand on a layout with one value a line."""
    text = json.dumps(data, indent=1, ensure_ascii=ascii_only)
    document = parse_json(text, "f.json")
    assert document.data == data
    assert document.problems == ()
    expected: dict[tuple[Any, ...], int] = {}

    def walk(value: Any, path: tuple[Any, ...], line: int) -> int:
        if not isinstance(value, dict | list) or not value:
            return line
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in items:
            expected[*path, key] = line + 1
            line = walk(below, (*path, key), line + 1)
        return line + 1

    walk(data, (), 1)
    assert document.lines == expected


def test_yaml_lines_count_keys_and_items() -> None:
    """From the first line of what was given."""
    document = parse_yaml("a:\n  - x\n  - y: 1\nb: {c: 2}\n", "f", first_line=5)
    assert document.lines == {
        ("a",): 5,
        ("a", 0): 6,
        ("a", 1): 7,
        ("a", 1, "y"): 7,
        ("b",): 8,
        ("b", "c"): 8,
    }


def test_scalars_are_read_as_plain_data() -> None:
    """Dates and sexagesimal numbers stay text; keys are always text."""
    text = "a: 1\nb: 1.5\nc: yes\nd: ~\ne: 2026-01-02\nf: 12:30:45\n7: x\ng: 0x10\n"
    assert parse_yaml(text, "f").data == {
        "a": 1,
        "b": 1.5,
        "c": True,
        "d": None,
        "e": "2026-01-02",
        "f": "12:30:45",
        "7": "x",
        "g": 16,
    }
