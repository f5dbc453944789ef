"""Text that is safe to keep, to send and to print."""

import re
import unicodedata

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def has_surrogates(text: str) -> bool:
    """Say whether a text holds halves of surrogate pairs, so that it does not encode as UTF-8."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone ones by U+FFFD, so that the text encodes as UTF-8."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str) -> str:
    r"""Make untrusted text safe for a terminal.

    Control characters other than tab and newline, terminal escapes and bidirectional overrides
    are shown as ``\xNN`` or ``\uNNNN``.
    """
    text = without_surrogates(text).replace("\r\n", "\n")
    return _CONTROL.sub(lambda match: _escaped(match.group()), text)


def one_line(text: str, limit: int = 80) -> str:
    """Return printable text on one line, at most ``limit`` characters, cut with an ellipsis."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= limit else flat[: max(limit - 1, 0)] + "…"


def cut_middle(text: str, limit: int, *, unit: str = "characters") -> str:
    """Keep head and tail of a text longer than ``limit`` code points, and say what is left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = len(text) - (limit - head)
    return f"{text[:head]}\n[… {tail - head} {unit} left out …]\n{text[tail:]}"


def cells(text: str) -> int:
    """Return the number of terminal columns that a line of printable text takes."""
    wide = sum(1 for char in text if unicodedata.east_asian_width(char) in "WF")
    combining = sum(1 for char in text if unicodedata.combining(char))
    return len(text) + wide - combining


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
