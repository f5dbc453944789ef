"""The launch spec of a server as it may be shown: what looks like a secret is left out. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from hub.core.servers import ServerSpec

HIDDEN = "***"
"""What stands in place of a secret."""

_REFERENCE = re.compile(r"\$\{[^}]*\}")
_SECRET = re.compile(
    r"(?:^|[-_.])(?:api-?key|access-?key|key|token|secret|password|passwd|pwd|auth|credentials?|"
    r"bearer|signature|sig)(?:$|[-_.=])",
    re.IGNORECASE,
)


def shown_command(spec: ServerSpec) -> list[str]:
    """Return program and arguments; the values of options that are named like secrets are hidden.

    A reference such as ``${env:TOKEN}`` is no secret and stays.
    """
    return [spec.command, *_arguments(spec.args)] if spec.command else []


def shown_url(url: str) -> str:
    """Return an address without a password and without the values of secret parameters."""
    try:
        parts = urlsplit(url)
        host = parts.netloc
        if "@" in host and not _REFERENCE.search(host):
            host = f"{HIDDEN}@{host.rpartition('@')[2]}"
    except ValueError:
        return url
    query = "&".join(_parameter(part) for part in parts.query.split("&"))
    return urlunsplit((parts.scheme, host, parts.path, query, parts.fragment))


def shown_values(values: Mapping[str, str]) -> dict[str, str]:
    """Return variables or headers: references stay, every other value is hidden."""
    return {name: _value(value) for name, value in values.items()}


def _value(value: str) -> str:
    if not _REFERENCE.search(value):
        return HIDDEN if value else ""
    kept = _REFERENCE.findall(value)
    between = [part if _is_scheme(part) else HIDDEN for part in _REFERENCE.split(value)]
    return between[0] + "".join(a + b for a, b in zip(kept, between[1:], strict=True))


def _is_scheme(text: str) -> bool:
    return text.strip() == "" or re.fullmatch(r"\s*[A-Za-z]{1,10}:?\s+", text) is not None


def _parameter(part: str) -> str:
    name, equals, value = part.partition("=")
    secret = _SECRET.search(name) and not _REFERENCE.fullmatch(value)
    return f"{name}={HIDDEN}" if equals and value and secret else part


def _arguments(arguments: Sequence[str]) -> Iterator[str]:
    follows = False
    for argument in arguments:
        if follows and not argument.startswith("-"):
            yield argument if _REFERENCE.fullmatch(argument) else HIDDEN
            follows = False
            continue
        name, equals, value = argument.partition("=")
        named = _SECRET.search(name) is not None and (name.startswith("-") or bool(equals))
        follows = named and not equals
        if named and equals and value and not _REFERENCE.fullmatch(value):
            yield f"{name}={HIDDEN}"
        elif "://" in argument:
            yield shown_url(argument)
        else:
            yield argument
