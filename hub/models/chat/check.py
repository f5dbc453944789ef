"""Checks of a model entry before anything is sent."""

from urllib.parse import urlsplit

from hub.core.errors import ModelError
from hub.models.chat.fault import Place


def check(place: Place) -> None:
    """Refuse an entry that no request can succeed with.

    Raises:
        ModelError: the address is no URL, a needed key is missing, or a header is malformed.
    """
    _check_url(place)
    spec = place.spec
    for name, value in spec.headers.items():
        if not _is_header(value) or not _is_header(name) or not name.strip():
            raise ModelError(
                f"header {name!r} of the model entry {spec.name!r} holds characters that no "
                "header may have",
                kind="bad_request",
                remedy="Use printable ASCII characters on one line.",
            )
    key = spec.api_key.strip()
    if not key and place.is_openai and not has_authorization(place):
        raise ModelError(
            f"no API key for model {spec.name!r} at {place.url}",
            kind="auth",
            remedy=place.set_key,
        )
    if not _is_header(key) or " " in key:
        raise ModelError(
            f"the API key for model {spec.name!r} holds characters that no key has, such as "
            "blanks, line breaks or typographic quotes",
            kind="auth",
            remedy=place.set_key,
        )


def has_authorization(place: Place) -> bool:
    """Say whether the entry's own headers authorise its requests."""
    return any(name.lower() == "authorization" for name in place.spec.headers)


def _check_url(place: Place) -> None:
    parts = urlsplit(place.base_url)
    try:
        port_is_number = parts.port is None or parts.port > 0
    except ValueError:
        port_is_number = False
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_number:
        raise ModelError(
            f"{place.clean(place.base_url)!r} is not the address of a model server",
            kind="bad_request",
            remedy=f"Give a URL such as https://host/v1: {place.set_url}.",
        )


def _is_header(value: str) -> bool:
    return value.isascii() and (value.isprintable() or not value)
