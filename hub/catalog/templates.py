"""URI templates (RFC 6570, values as texts): expanded, and matched against addresses. Pure."""

import re
from collections.abc import Mapping
from urllib.parse import quote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_FORM = {
    "": ("", ",", False),
    "+": ("", ",", False),
    "#": ("#", ",", False),
    ".": (".", ".", False),
    "/": ("/", "/", False),
    ";": (";", ";", True),
    "?": ("?", "&", True),
    "&": ("&", "&", True),
}
"""By operator: what comes first, what stands between, and whether names are written."""
_RESERVED = ":/?#[]@!$&'()*+,;="


def variables(template: str) -> list[str]:
    """Return the names of the variables of a template, in their order."""
    found = [name for _, names in _EXPRESSION.findall(template) for name in _split(names)]
    return list(dict.fromkeys(name for name, _ in found))


def expanded(template: str, values: Mapping[str, str]) -> str:
    """Return the address that a template gives; what has no value is left out."""

    def put(match: re.Match[str]) -> str:
        first, between, named = _FORM[match[1]]
        safe = _RESERVED if match[1] in ("+", "#") else ""
        parts = []
        for name, length in _split(match[2]):
            if name not in values:
                continue
            text = quote(values[name][:length], safe=safe)
            parts.append(f"{name}={text}" if named else text)
        return first + between.join(parts) if parts else ""

    return _EXPRESSION.sub(put, template)


def fits(template: str, uri: str) -> bool:
    """Say whether a template can give an address."""
    pattern, end = "", 0
    for match in _EXPRESSION.finditer(template):
        pattern += re.escape(template[end : match.start()])
        pattern += ".*" if match[1] in ("+", "#", "?", "&", "/", ";") else "[^/?#]*"
        end = match.end()
    return re.fullmatch(pattern + re.escape(template[end:]), uri, re.DOTALL) is not None


def _split(names: str) -> list[tuple[str, int | None]]:
    """Return the variables of one expression, each with the length that it is cut to."""
    found: list[tuple[str, int | None]] = []
    for part in names.split(","):
        name, _, length = part.strip().removesuffix("*").partition(":")
        if name:
            found.append((name, int(length) if length.isdigit() else None))
    return found
