"""Keeps values of variables out of what is told of a server: they show as the settings have them.

A program that dies of a refused token likes to print it, and errors like to quote an address.
"""

import re
from collections.abc import Iterator, Mapping

from hub.core.servers import ServerSpec

SHORTEST = 6
"""Characters from which on a value is hidden; shorter ones are parts of ordinary words."""

_REFERENCE = re.compile(r"\$\{[^}]*\}")


def hidden_values(written: ServerSpec, resolved: ServerSpec) -> dict[str, str]:
    """Return each value that took the place of a reference, with that reference; longest first."""
    found = {
        value: reference
        for before, after in _texts(written, resolved)
        for value, reference in _replaced(before, after)
        if len(value) >= SHORTEST
    }
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def masked(text: str, hidden: Mapping[str, str]) -> str:
    """Return a text with every hidden value replaced by its reference."""
    for value, reference in hidden.items():
        text = text.replace(value, reference)
    return text


def _texts(written: ServerSpec, resolved: ServerSpec) -> Iterator[tuple[str, str]]:
    yield written.command, resolved.command
    yield written.cwd, resolved.cwd
    yield written.url, resolved.url
    yield from zip(written.args, resolved.args, strict=True)
    if written.oauth is not None and resolved.oauth is not None:
        yield written.oauth.client_secret, resolved.oauth.client_secret
    for before, after in ((written.env, resolved.env), (written.headers, resolved.headers)):
        yield from ((before[name], after[name]) for name in before)


def _replaced(written: str, resolved: str) -> Iterator[tuple[str, str]]:
    references = _REFERENCE.findall(written)
    if not references:
        return
    pattern = "(.*)".join(re.escape(part) for part in _REFERENCE.split(written))
    if (match := re.fullmatch(pattern, resolved, re.DOTALL)) is not None:
        yield from zip(match.groups(), references, strict=True)
