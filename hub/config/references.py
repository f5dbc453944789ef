"""References to environment variables inside of values: ``${env:NAME}`` and what it becomes.

They are resolved as late as possible, by whoever starts or calls what the value is for, so that
secrets stay out of settings, fingerprints and logs.
"""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from hub.core.errors import ConfigError
from hub.core.servers import ServerSpec

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_UNKNOWN = re.compile(r"\$\{(keyring|file|secret):[^}]*\}")
_SHELL = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")


def resolve(text: str, environ: Mapping[str, str], *, where: str) -> str:
    """Replace each ``${env:NAME}`` by the variable's value.

    ``${env:NAME:-text}`` becomes the text when the variable is empty or not set.

    Raises:
        ConfigError: a variable without a default is not set, or the reference is of an unknown
            kind; ``where`` names the file, line and key.
    """
    if "${" not in text:
        return text
    if unknown := _UNKNOWN.search(text):
        raise ConfigError(
            f"references such as ${{{unknown[1]}:…}} are not supported by this version",
            where=where,
            remedy="Put the value into an environment variable and write ${env:NAME}.",
        )

    def value(match: re.Match[str]) -> str:
        name, fallback = match[1], match[2]
        if fallback is not None:
            return environ.get(name) or fallback
        if name in environ:
            return environ[name]
        raise ConfigError(
            f"the environment variable {name} is not set",
            where=where,
            remedy=f"Set it before the start, as in: export {name}=…",
        )

    return _REFERENCE.sub(value, text)


def resolve_server(spec: ServerSpec, environ: Mapping[str, str]) -> ServerSpec:
    """Return a launch spec with every reference replaced, for the moment of the launch.

    Raises:
        ConfigError: a variable is not set; it names the server's place.
    """

    def value(text: str, key: str) -> str:
        return resolve(text, environ, where=f"{spec.origin} (servers.{spec.name}.{key})")

    return replace(
        spec,
        command=value(spec.command, "command"),
        args=tuple(value(arg, "args") for arg in spec.args),
        env={name: value(text, f"env.{name}") for name, text in spec.env.items()},
        cwd=value(spec.cwd, "cwd"),
        url=value(spec.url, "url"),
        headers={name: value(text, f"headers.{name}") for name, text in spec.headers.items()},
    )


def from_shell_style(text: str) -> str:
    """Turn ``${NAME}`` and ``${NAME:-text}``, as ``.mcp.json`` has them, into our references."""
    return _SHELL.sub(lambda match: f"${{env:{match[1]}{match[2] or ''}}}", text)
