"""Reads bytes as text and writes text as bytes, keeping what an editor must keep.

A byte order mark and CRLF line ends are hidden from the reader and put back by the writer. A file
whose line ends are mixed is left exactly as it is. What is not UTF-8 is refused, never guessed.
"""

import codecs
import hashlib
from dataclasses import dataclass

from hub_servers.errors import ToolError

_MAGIC = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (codecs.BOM_UTF32_LE, "UTF-32 text"),
    (codecs.BOM_UTF16_LE, "UTF-16 text"),
    (codecs.BOM_UTF16_BE, "UTF-16 text"),
)


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file and how it is written down."""

    text: str
    """The text without byte order mark; line ends are LF if they were all CRLF."""
    bom: bool = False
    """Whether the file begins with a byte order mark."""
    crlf: bool = False
    """Whether all its lines end in CRLF."""


def version_of(data: bytes) -> str:
    """Return the version of a file's content: 12 hex digits of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:12]


def decode(data: bytes, name: str) -> Text:
    """Return the text of a file.

    Raises:
        ToolError: the file is not UTF-8 text; the message says what it seems to be.
    """
    if b"\0" in data or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ToolError(f"'{name}' is {_kind(data)}, not UTF-8 text ({_facts(data)})")
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        text = data[3 if bom else 0 :].decode()
    except UnicodeDecodeError as error:
        at = error.start + (3 if bom else 0)
        raise ToolError(
            f"'{name}' is {_kind(data)}, not UTF-8 text: byte {at} is {data[at]:#04x} "
            f"({_facts(data)})"
        ) from None
    ends = data.count(b"\n")
    crlf = ends > 0 and data.count(b"\r\n") == data.count(b"\r") == ends
    return Text(text.replace("\r\n", "\n") if crlf else text, bom, crlf)


def encode(text: str, like: Text | None = None) -> bytes:
    """Return text as bytes, with the byte order mark and the line ends of ``like``.

    Raises:
        ToolError: the text holds lone surrogates.
    """
    if like is not None and like.crlf:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    if like is not None and like.bom and not text.startswith("\ufeff"):
        text = "\ufeff" + text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the text holds a lone surrogate at character {error.start}, so it is not Unicode text"
        ) from None


def _kind(data: bytes) -> str:
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    return "binary data" if b"\0" in data else "text in another encoding"


def _facts(data: bytes) -> str:
    return f"{len(data)} bytes, version {version_of(data)}"
