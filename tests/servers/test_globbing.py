"""Path patterns match what a user expects, in bounded time."""

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_servers.errors import ToolError
from hub_servers.globbing import Glob, path_pattern


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/*.py", "other/src/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**/test/**", "a/test/b/c", True),
        ("**/test/**", "a/test", False),
        ("src/**", "src/a/b", True),
        ("./src/*.py", "src/a.py", True),
        ("*.{js,ts}", "x/a.ts", True),
        ("*.{js,ts}", "x/a.py", False),
        ("{a,b/{c,d}}.txt", "b/d.txt", True),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("[a-c]?.txt", "bx.txt", True),
        ("[].txt", "[].txt", True),
        ("[z-a].txt", "[z-a].txt", True),
        (r"\*.txt", "*.txt", True),
        (r"\*.txt", "a.txt", False),
        ("a*a", "a", False),
        ("a*b*c", "aXbYbZc", True),
        (".*", ".hidden", True),
        ("a/**/b/**/c", "a/b/x/b/c", True),
        ("a/**/b/**/c", "a/x/c", False),
        ("名*", "名前.txt", True),
    ],
)
def test_a_glob_matches_as_a_user_expects(pattern: str, path: str, matches: bool) -> None:
    """Without a slash it means any folder; ``**`` stands for any number of folders."""
    assert Glob.parse(pattern).matches(path) is matches


def test_an_empty_glob_is_an_error() -> None:
    """It would match nothing and hide the mistake."""
    with pytest.raises(ToolError, match="empty"):
        Glob.parse("/")


def test_too_many_alternatives_are_an_error() -> None:
    """Braces multiply, so their number is bounded."""
    with pytest.raises(ToolError, match="alternatives"):
        Glob.parse("{a,b,c}" * 10)


def test_no_pattern_makes_matching_slow() -> None:
    """A pattern made for backtracking takes no longer than any other."""
    began = time.monotonic()
    assert not Glob.parse("*a" * 60 + "b").matches("a" * 250)
    assert not Glob.parse("**/a/" * 30 + "b").matches("/".join(["a"] * 200))
    assert time.monotonic() - began < 2


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_one_segment_matches_as_the_standard_library_does(pattern: str, name: str) -> None:
    """`fnmatch` is the model for names."""
    if pattern.strip("*") or not pattern.startswith("**"):
        assert path_pattern(pattern).matches([name]) == fnmatch.fnmatchcase(name, pattern)
