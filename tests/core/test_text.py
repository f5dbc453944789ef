"""Text that is safe to keep, to send and to print."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.text import (
    cells,
    cut_middle,
    one_line,
    printable,
    without_surrogates,
)

anything = st.text(st.characters(exclude_categories=()))


@given(text=anything)
def test_no_lone_surrogate_survives(text: str) -> None:
    """Every text encodes as UTF-8 afterwards, and doing it twice changes nothing (A12)."""
    clean = without_surrogates(text)
    clean.encode("utf-8")
    assert without_surrogates(clean) == clean


@given(text=st.text())
def test_sound_text_stays_as_it_is(text: str) -> None:
    """A text without surrogates is returned unchanged."""
    assert without_surrogates(text) is text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\ud83d\ude00", "😀"),
        ("a\ud83db", "a\ufffdb"),
        ("a\ude00\ud83db", "a\ufffd\ufffdb"),
        ("a\ud83d", "a\ufffd"),
        ("\ufeffa\ud83d", "\ufeffa\ufffd"),
    ],
)
def test_pairs_are_joined_and_halves_replaced(text: str, clean: str) -> None:
    """Two halves that belong together are the character; nothing around them is lost (A12)."""
    assert without_surrogates(text) == clean


@given(text=anything)
def test_printable_text_moves_nothing_on_a_terminal(text: str) -> None:
    """No control character and no bidirectional override is left."""
    shown = printable(text)
    rude = [c for c in shown if c not in "\t\n" and unicodedata.category(c) in {"Cc", "Cs"}]
    assert rude == []
    assert not {*"\u061c\u200e\u200f\u202a\u202e\u2066\u2069"} & {*shown}


def test_escapes_are_shown_not_obeyed() -> None:
    """Escapes and overrides appear as what they are."""
    assert printable("\x1b[2J\u202eab\r\n\tc\x9b") == "\\x1b[2J\\u202eab\n\tc\\x9b"


@given(text=anything, limit=st.integers(1, 40))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    """Whatever comes in, one printable line of at most that length comes out."""
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_one_line_says_that_it_was_cut() -> None:
    """A cut is visible; what fits is whole."""
    assert one_line("a  b\n c") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


@given(text=st.text(max_size=60), limit=st.integers(1, 50))
def test_a_cut_keeps_head_and_tail_and_counts_the_rest(text: str, limit: int) -> None:
    """Nothing is lost silently: what is left out is counted."""
    cut = cut_middle(text, limit)
    if len(text) <= limit:
        assert cut == text
        return
    head = limit * 2 // 3
    note = f"\n[… {len(text) - limit} characters left out …]\n"
    assert cut == text[:head] + note + text[len(text) - (limit - head) :]


def test_a_cut_never_splits_a_character() -> None:
    """An emoji exactly at the limit is whole or gone (A12)."""
    for limit in range(1, 8):
        cut_middle("a😀" * 4, limit).encode("utf-8")


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("😀", 2)])
def test_cells_count_columns(text: str, width: int) -> None:
    """Wide characters take two columns, combining ones none."""
    assert cells(text) == width
