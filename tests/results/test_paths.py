"""The subset of JSON Path that ``read_result`` takes."""

from typing import Any

import pytest

from hub.results.paths import BadPath, is_single, select

STORE = {
    "items": [
        {"id": 1, "name": "a", "tags": ["x"]},
        {"id": 2, "name": "b", "tags": []},
        {"id": 3, "name": "c", "tags": ["y", "z"]},
    ],
    "a key": {"in.side": 5, "it's": 6, 'q"': 7},
    "total": 3,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [STORE]),
        ("$.total", [3]),
        ("total", [3]),
        ("$.items[0].name", ["a"]),
        ("$.items[-1].id", [3]),
        ("$.items[*].id", [1, 2, 3]),
        ("$.items[:2].id", [1, 2]),
        ("$.items[1:].name", ["b", "c"]),
        ("$.items[ 1 : 2 ].name", ["b"]),
        ("$..id", [1, 2, 3]),
        ("$..tags[0]", ["x", "y"]),
        ("$..tags[*]", ["x", "y", "z"]),
        ("$['a key']['in.side']", [5]),
        ("$['a key']['it\\'s']", [6]),
        ('$["a key"]["q\\""]', [7]),
        ("$['a key'].*", [5, 6, 7]),
        ("$.items[9]", []),
        ("$.nothing.at.all", []),
        ("$.total.further", []),
        ("$.items.name", []),
    ],
)
def test_a_path_leads_to_its_values(path: str, found: list[Any]):
    """Names, indexes, slices, wildcards and descendants, in the order of the document."""
    assert select(STORE, path) == found


@pytest.mark.parametrize(
    "path",
    ["$.", "$items", "$[", "$[?@.id > 1]", "$.items[0,1]", "$.a b", "$...id", "$.items]", "@.x"],
)
def test_what_is_no_path_is_refused_with_an_example(path: str):
    """Filters and unions are not taken for something else."""
    with pytest.raises(BadPath, match="such as"):
        select(STORE, path)


def test_a_path_that_visits_too_much_ends():
    """Descendants of descendants of a large value are not followed for ever."""
    value: Any = [1] * 300
    for _ in range(2):
        value = [value] * 300
    with pytest.raises(BadPath, match="narrower"):
        select(value, "$..*")


def test_a_path_without_wildcards_leads_to_one_value():
    """Such a result is shown by itself, every other one as an array."""
    assert is_single("$.items[0].name")
    assert not any(map(is_single, ("$..id", "$.items[*]", "$.items[0:1]", "$.*")))
