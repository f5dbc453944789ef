"""What ``hub mcp add`` was told, as the entry of a settings file."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from hub.app.mcp.literals import secret_keys
from hub.app.mcp.settings_file import Scope
from hub.core.errors import UsageError


class Told(Struct, frozen=True):
    """The parts of a server as they were typed."""

    url: str | None = None
    command: Sequence[str] = ()
    """Program and arguments."""
    env: Sequence[str] = ()
    """``NAME=VALUE``, or ``NAME`` for the variable of the same name."""
    headers: Sequence[str] = ()
    """``NAME: VALUE``."""
    transport: str | None = None


def entry_of(told: Told) -> dict[str, Any]:
    """Return the entry.

    Raises:
        UsageError: it is neither a command nor an address, or a part is none.
    """
    if bool(told.command) == (told.url is not None):
        both = "both a url and a command" if told.command else "neither a url nor a command"
        raise UsageError(
            f"there is {both}",
            remedy="Give one: hub mcp add NAME --url URL, or hub mcp add NAME -- COMMAND ARGS…",
        )
    if told.command and told.headers:
        raise UsageError("--header is for servers at a --url", remedy="Use --env for a command.")
    if told.url is not None and told.env:
        raise UsageError("--env is for servers with a command", remedy="Use --header for a url.")
    entry: dict[str, Any] = {}
    if told.url is not None:
        entry["url"] = told.url
    else:
        entry["command"] = told.command[0]
        if len(told.command) > 1:
            entry["args"] = list(told.command[1:])
    if told.env:
        entry["env"] = dict(_variable(text) for text in told.env)
    if told.headers:
        entry["headers"] = dict(_header(text) for text in told.headers)
    if told.transport is not None and told.transport != "stdio":
        entry["transport"] = told.transport
    return entry


def literal_secrets(entry: dict[str, Any], scope: Scope) -> list[str]:
    """Return where the entry has secrets written out.

    Raises:
        UsageError: it would go into a file of the project, which others get to read.
    """
    found = secret_keys(entry)
    if found and scope == "project":
        raise UsageError(
            f"{', '.join(found)} would be written out in a file of the project",
            remedy="Write '${env:NAME}' or '${keyring:NAME}' in its place, in single quotes.",
        )
    return found


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise UsageError(f"{text!r} is no variable", remedy="Write it as --env NAME=VALUE.")
    return name, value if equals else f"${{env:{name}}}"


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"{text!r} is no header", remedy="Write it as --header 'NAME: VALUE'.")
    return name.strip(), value.strip()
