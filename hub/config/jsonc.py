"""JSON as editors allow it: with comments and with commas behind the last item."""

import re

from hub.config.documents import Document
from hub.config.json_lines import parse_json

_TOKEN = re.compile(
    r"""
    (?P<text>"(?:[^"\\\n]|\\.)*")
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<comma>,)
    | (?P<close>[}\]])
    | (?P<other>[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"[^\n]")


def parse_jsonc(text: str, path: str) -> Document:
    """Read JSON with comments and trailing commas; lines and columns are those of the file."""
    return parse_json(plain_json(text), path)


def plain_json(text: str) -> str:
    """Return the text with comments and trailing commas as spaces; every line stays in its place.

    An empty text is an empty object, as it is for editors.
    """
    parts: list[str] = []
    seen, comma, anything = 0, -1, False
    for match in _TOKEN.finditer(text):
        parts.append(text[seen : match.start()])
        seen = match.end()
        if match["comment"] is not None:
            parts.append(_BLANK.sub(" ", match[0]))
            continue
        if match["close"] is not None and comma >= 0:
            parts[comma] = " "
        anything = True
        parts.append(match[0])
        comma = len(parts) - 1 if match["comma"] is not None else -1
    parts.append(text[seen:])
    return ("" if anything else "{}") + "".join(parts)
