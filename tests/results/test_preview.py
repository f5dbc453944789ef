"""What is shown in place of a large result."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hub.results.preview import cut_json, cut_text, parsed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda below: st.lists(below, max_size=30) | st.dictionaries(st.text(max_size=20), below),
    max_leaves=200,
)


@given(value=JSON, limit=st.integers(min_value=100, max_value=3000))
def test_a_cut_value_is_json_and_fits(value: object, limit: int):
    """Whatever the value is."""
    text = json.dumps(cut_json(value, limit), ensure_ascii=False)
    assert len(text) <= max(limit, 120)
    json.loads(text)


@given(value=JSON)
def test_a_value_that_fits_stays_as_it_is(value: object):
    """Nothing is cut that need not be."""
    shallow = json.dumps(value)
    if shallow.count("[") + shallow.count("{") < 10 and "…" not in shallow:
        assert cut_json(value, 1_000_000) == value


def test_an_array_keeps_its_first_items_and_says_how_many_are_missing():
    """Items stay whole, and the count is right."""
    cut = cut_json([{"id": number, "name": "x" * 20} for number in range(1000)], 1000)
    assert cut[0] == {"id": 0, "name": "x" * 20}
    assert cut[-1] == f"… {1000 - (len(cut) - 1)} more items"


def test_objects_and_texts_say_what_they_lost():
    """Each place for itself."""
    cut = cut_json({"text": "a" * 10_000, "many": {str(n): n for n in range(5000)}}, 2000)
    assert cut["text"].startswith("aaa")
    assert cut["text"].endswith("more)")
    assert cut["many"]["…"].endswith("more members")


def test_what_is_nested_without_end_is_cut_at_a_depth():
    """It does not take the process along."""
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    assert "a JSON array of 1 items" in json.dumps(cut_json(deep, 500))


def test_text_is_no_json_unless_it_is_an_array_or_object():
    """A number or a word in quotes is read as text; what is broken too."""
    assert parsed("[1, 2]") == [1, 2]
    assert parsed('  {"a": 1}\n') == {"a": 1}
    for text in ("12", '"word"', "[1, 2", "{'a': 1}", "", "[NaN]", "[" * 100_000):
        assert parsed(text) is None


def test_a_text_keeps_its_first_and_last_lines():
    """Lines stay whole, and what is left out is counted."""
    text = "\n".join(f"line {number}" for number in range(10_000))
    cut = cut_text(text, 600)
    assert cut.startswith("line 0\nline 1\n")
    assert cut.endswith("line 9998\nline 9999")
    assert "lines left out" in cut
    assert len(cut) < 700


@given(text=st.text(min_size=400), limit=st.integers(min_value=10, max_value=300))
def test_a_cut_text_is_short(text: str, limit: int):
    """Also where there are no lines."""
    assert len(cut_text(text, limit)) <= limit + 80
