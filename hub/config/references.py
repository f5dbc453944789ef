"""References inside of values: ``${env:NAME}`` and ``${keyring:NAME}``, and what they become.

They are resolved as late as possible, by whoever starts or calls what the value is for, so that
secrets stay out of settings, fingerprints and logs.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec

KEYRING_SERVICE = "hub"
"""The service under which the keyring of the system holds what ``${keyring:NAME}`` means."""

_REFERENCE = re.compile(
    r"\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)(?::([-?])([^}]*))?|keyring:([^{}\s]+))\}"
)
_UNKNOWN = re.compile(r"\$\{(file|secret):[^}]*\}")
_SHELL = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")
_HOLDS = re.compile(r"\$\{(?:env|keyring):[^}]*\}")


def holds_reference(text: str) -> bool:
    """Say whether a text refers to a variable or to the keyring."""
    return _HOLDS.search(text) is not None


def resolve(text: str, environ: Mapping[str, str], *, where: str) -> str:
    """Replace each reference by the value of the variable, or by what the keyring holds.

    ``${env:NAME:-text}`` becomes the text when the variable is empty or not set;
    ``${env:NAME:?text}`` fails with the text then.

    Raises:
        ConfigError: a variable without a default is not set, the keyring has no such entry or
            cannot be asked, or the reference is of an unknown kind; ``where`` names the file,
            line and key.
    """
    if "${" not in text:
        return text
    if unknown := _UNKNOWN.search(text):
        raise ConfigError(
            f"references such as ${{{unknown[1]}:…}} are not supported by this version",
            where=where,
            remedy="Put the value into an environment variable and write ${env:NAME}, or into "
            "the keyring and write ${keyring:NAME}.",
        )

    def value(match: re.Match[str]) -> str:
        name, kind, more, secret = match.groups()
        if secret is not None:
            return _secret(secret, where)
        return _variable(name, kind, more, environ, where)

    return _REFERENCE.sub(value, text)


def resolve_server(spec: ServerSpec, environ: Mapping[str, str]) -> ServerSpec:
    """Return a launch spec with every reference replaced, for the moment of the launch.

    It may wait for the keyring of the system, which may ask the user to unlock it.

    Raises:
        ConfigError: a variable is not set, or a secret is not there; it names the server's place.
    """

    def value(text: str, key: str) -> str:
        return resolve(text, environ, where=f"{spec.origin} (servers.{spec.name}.{key})")

    oauth = spec.oauth
    if oauth is not None:
        secret = value(oauth.client_secret, "oauth.client_secret")
        oauth = replace(
            oauth, client_id=value(oauth.client_id, "oauth.client_id"), client_secret=secret
        )
    return replace(
        spec,
        command=value(spec.command, "command"),
        args=tuple(value(arg, "args") for arg in spec.args),
        env={name: value(text, f"env.{name}") for name, text in spec.env.items()},
        cwd=value(spec.cwd, "cwd"),
        url=value(spec.url, "url"),
        headers={name: value(text, f"headers.{name}") for name, text in spec.headers.items()},
        oauth=oauth,
    )


def from_shell_style(text: str) -> str:
    """Turn ``${NAME}`` and ``${NAME:-text}``, as ``.mcp.json`` has them, into our references."""
    return _SHELL.sub(lambda match: f"${{env:{match[1]}{match[2] or ''}}}", text)


def _variable(name: str, kind: str | None, more: str, environ: Mapping[str, str], at: str) -> str:
    if kind == "-":
        return environ.get(name) or more
    if kind == "?" and not environ.get(name):
        raise ConfigError(
            f"{more or 'a value is missing'}: the environment variable {name} is not set",
            where=at,
            remedy=f"Set it before the start, as in: export {name}=…",
        )
    if name in environ:
        return environ[name]
    raise ConfigError(
        f"the environment variable {name} is not set",
        where=at,
        remedy=f"Set it before the start, as in: export {name}=…",
    )


def store_secret(name: str, value: str) -> None:
    """Put a value into the keyring of the system, as ``${keyring:NAME}`` refers to it.

    Raises:
        ConfigError: the keyring is not there or refuses.
    """
    keyring = _keyring(name, "")
    try:
        keyring.set_password(KEYRING_SERVICE, name, value)
    except (keyring.errors.KeyringError, OSError) as error:
        raise ConfigError(
            f"the keyring of this system does not take {name!r}: {type(error).__name__}",
            remedy="Unlock it, or let the value come from a variable: ${env:NAME}.",
        ) from None


def _secret(name: str, where: str) -> str:
    keyring = _keyring(name, where)
    try:
        found = keyring.get_password(KEYRING_SERVICE, name)
    except (keyring.errors.KeyringError, OSError) as error:
        raise ConfigError(
            f"the keyring of this system cannot be asked for {name!r}: {type(error).__name__}",
            where=where,
            remedy="Unlock it, or put the value into a variable and write ${env:NAME}.",
        ) from None
    if found is None:
        raise ConfigError(
            f"the keyring has no entry {name!r} of the service {KEYRING_SERVICE!r}",
            where=where,
            remedy=f"Store it with: keyring set {KEYRING_SERVICE} {name}",
        )
    return str(found)


def _keyring(name: str, where: str) -> Any:
    try:
        import keyring
    except ImportError:
        raise ConfigError(
            f"${{keyring:{name}}} needs a package that is not installed",
            where=where,
            remedy="Install it with: pip install 'dispatch-hub[keyring]', or write ${env:NAME}.",
        ) from None
    return keyring
