"""Bytes become text and text becomes bytes without loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_servers.errors import ToolError
from hub_servers.textfiles import decode, encode, version_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NO_BOM = TEXTS.filter(lambda text: not text.startswith("\ufeff"))


@given(st.booleans(), NO_BOM)
def test_a_file_that_is_decoded_and_encoded_is_the_same(bom: bool, text: str) -> None:
    """Whatever line ends and byte order mark it has."""
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    content = decode(data, "f")
    assert encode(content.text, content) == data


@given(st.lists(NO_BOM.filter(lambda text: not {"\n", "\r"} & set(text)), min_size=2))
def test_crlf_is_hidden_and_put_back(lines: list[str]) -> None:
    """A reader sees LF, and what is added gets CRLF."""
    content = decode("\r\n".join(lines).encode(), "f")
    assert content.crlf
    assert content.text == "\n".join(lines)
    assert encode(content.text + "\nnew", content) == "\r\n".join([*lines, "new"]).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\0", "a PNG image"),
        (b"abc\0def", "binary data"),
        ("Grüße".encode("latin-1"), "text in another encoding"),
        ("hi".encode("utf-16"), "UTF-16 text"),
        (b"PK\x03\x04\0", "a zip archive"),
        ("日本語".encode("shift-jis"), "text in another encoding"),
    ],
)
def test_what_is_not_utf8_is_refused_by_its_kind(data: bytes, words: str) -> None:
    """The message says what it seems to be, how large it is, and its version."""
    with pytest.raises(ToolError) as caught:
        decode(data, "f")
    message = str(caught.value)
    assert words in message
    assert f"{len(data)} bytes, version {version_of(data)}" in message


def test_a_lone_surrogate_is_refused() -> None:
    """A12: it could never be read back."""
    with pytest.raises(ToolError, match="lone surrogate at character 2"):
        encode("ab\ud83d")


def test_mixed_line_ends_stay_as_they_are() -> None:
    """Nothing is hidden from the reader of such a file."""
    content = decode(b"a\r\nb\nc", "f")
    assert content.text == "a\r\nb\nc"
    assert not content.crlf
