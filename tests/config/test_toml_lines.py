"""Lines of TOML keys: every key of the data has the line on which it stands."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.config.toml_lines import parse_toml

TEXT = '''\
# a comment with [brackets] and = signs
title = "x # no comment" # a comment
when = 1979-05-27T07:32:00.5Z
ratio = 1.5

[mcp_servers.git]
command = "uvx"
args = [
  "a, b", # [one]
  'c]',
  { deep = [1, 2] },
]
env = { A = "1", "B C" = "}" }
[mcp_servers."with.dot".env]
TOKEN = """
[mcp_servers.fake]
not = "a key"
"""
last.dotted = true
[[list]]
name = "one"
[[list]]
name = "two"
[list.below]
x = QQQ
QQQ
'''.replace("QQQ", "'''")


def paths(data: Any, above: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    """Return the path of each key and list item."""
    pairs = enumerate(data) if isinstance(data, list) else getattr(data, "items", tuple)()
    found: set[tuple[Any, ...]] = set()
    for key, value in pairs:
        found |= {(*above, key)} | paths(value, (*above, key))
    return found


def test_every_key_has_its_line() -> None:
    """Comments, texts over several lines, inline tables and lists included."""
    document = parse_toml(TEXT, "c.toml")
    assert document.problems == ()
    assert set(document.lines) == paths(document.data)
    lines = document.lines
    assert lines["mcp_servers", "git"] == 6
    assert lines["mcp_servers", "git", "args"] == 8
    assert lines["mcp_servers", "git", "args", 2, "deep", 1] == 11
    assert lines["mcp_servers", "git", "env", "B C"] == 13
    assert lines["mcp_servers", "with.dot", "env", "TOKEN"] == 15
    assert lines["mcp_servers", "with.dot", "env", "last", "dotted"] == 19
    assert lines["list", 0, "name"] == 21
    assert lines["list", 1, "below", "x"] == 25


NAMES = st.sampled_from(["a", "b", "c-d", '"e.f"', "'g h'", '"\\u0041"'])
VALUES = st.recursive(
    st.sampled_from(['"x"', "'y]'", "1", "1.5", "true", "1979-05-27", '"""\n[z]\n"""', "'''\n'''"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[\n" + ", # c\n".join(items) + "\n]"),
        st.dictionaries(NAMES, inner.filter(lambda text: "\n" not in text), max_size=2).map(
            lambda pairs: "{" + ", ".join(f"{k} = {v}" for k, v in pairs.items()) + "}"
        ),
    ),
    max_leaves=6,
)
TABLES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=2).map(".".join),
    st.dictionaries(NAMES, VALUES, max_size=4),
    max_size=4,
)


@given(TABLES)
def test_the_lines_of_any_valid_text_are_those_of_its_keys(tables: dict[str, Any]) -> None:
    """Tried on texts out of every kind of key and value."""
    lines: list[str] = []
    for name, pairs in tables.items():
        lines += [f"[{name}]", *(f"{key} = {value}" for key, value in pairs.items())]
    text = "\n".join(lines)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    document = parse_toml(text, "c.toml")
    assert set(document.lines) == paths(data)
    rows = text.split("\n")
    for path, line in document.lines.items():
        if len(path) == 1 or not isinstance(path[-1], int):
            assert "[" in rows[line - 1] or "=" in rows[line - 1]


@pytest.mark.parametrize("text", ["a = ", "[a\nb = 1", "a = 1\na = 2"])
def test_broken_text_is_a_problem_with_its_place(text: str) -> None:
    """As for YAML and JSON."""
    (problem,) = parse_toml(text, "c.toml").problems
    assert problem.message.startswith("broken TOML: ")
    assert problem.where.startswith("c.toml")
