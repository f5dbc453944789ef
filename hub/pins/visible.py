"""Characters that are in a text and not on the screen. Pure."""

import unicodedata
from collections import Counter

from hub.core.text import printable

_BLANK = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that look like nothing without being of a category that says so."""
_HIDDEN = frozenset({"Cf", "Co", "Cs", "Zl", "Zp"})


def is_hidden(char: str) -> bool:
    """Say whether a character takes no room of its own or only turns the text around it."""
    if char < "\x7f":
        return char < " " and char not in "\t\n\r"
    code = ord(char)
    selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    control = code < 0xA0
    return control or selector or char in _BLANK or unicodedata.category(char) in _HIDDEN


def visible(text: str) -> str:
    r"""Return a text that can be printed, with every hidden character as ``\uNNNN``."""
    shown = "".join(_escaped(char) if is_hidden(char) else char for char in text)
    return printable(shown)


def hidden_words(text: str) -> str:
    """Name the hidden characters of a text, such as ``U+200B ×3``; empty when there are none."""
    found = Counter(char for char in text if is_hidden(char))
    return ", ".join(
        f"U+{ord(char):04X}" + (f" ×{times}" if times > 1 else "")
        for char, times in sorted(found.items())
    )


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
