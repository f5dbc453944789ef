"""Secrets that are written out in a server's entry, and what is written in their place. Pure.

A settings file ends up in backups and repositories, so a copy of a secret is not made lightly. A
value counts as one when its name says so, or when it has the shape of a key.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from hub.config.references import holds_reference

Keep = Literal["env", "keyring", "keep"]
"""What becomes of a secret: a variable to be set, an entry of the keyring, or a copy as it is."""

MASK = "***"
"""What stands in place of a secret that is copied but not shown."""

_NAMED = re.compile(
    r"(?:^|[-_.])(?:api-?key|access-?key|private-?key|key|token|secret|password|passwd|pass|pwd|pat|"
    r"auth|authorization|credentials?|bearer|cookie|signature|sig|jwt|dsn)(?:$|[-_.])",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"(?:api|access|secret|private|auth)(?:key|token|secret)|password", re.IGNORECASE
)
_SHAPED = re.compile(
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|eyJ[\w-]+\.[\w-]+\.[\w-]*|ya29\.[\w-]{20,}"
)
_MIXED = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_+=.~-]{32,}")
_HARMLESS = re.compile(
    r"(?:type|mode|method|url|uri|host|port|name|file|path|dir|id|user|scopes?|limit|ttl)$",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?<=://)[^/@\s:$]*:[^/@\s$]+(?=@)")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|token|bearer|ApiKey)\s+")
_OPTION = re.compile(r"(--?[A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_PARAMETER = re.compile(r"(?<=[?&])([^=&#]+)=([^&#]+)")
_PLAIN_WORDS = frozenset({"true", "false", "yes", "no", "none", "null", "on", "off", "required"})


class Hidden(Struct, frozen=True):
    """One secret that is not copied."""

    key: str
    """Where it stood, such as ``env.GITHUB_TOKEN``."""
    name: str
    """The variable, or the entry of the keyring, that is referred to."""
    value: str
    """The secret; never to be shown."""


class Cleaned(Struct, frozen=True):
    """An entry without the secrets that were written out in it."""

    entry: Mapping[str, Any]
    hidden: tuple[Hidden, ...] = ()


class Names(Struct):
    """Names of variables that are taken, so that two secrets never share one."""

    environ: Mapping[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    """Value by name."""

    def for_value(self, wanted: str, server: str, value: str) -> str:
        """Return a name for a secret: as wanted, or with the server before it."""
        begins = _variable(wanted).startswith(f"{_variable(server)}_")
        longer = wanted if begins else f"{server}_{wanted}"
        for name in map(_variable, (wanted, longer, *(f"{longer}_{n}" for n in range(2, 99)))):
            known = self.taken.get(name) or self.environ.get(name) or value
            if known == value:
                self.taken[name] = value
                return name
        return _variable(longer)


def without_secrets(server: str, entry: Mapping[str, Any], names: Names, keep: Keep) -> Cleaned:
    """Return an entry with references in place of its secrets, unless they are to be kept."""
    if keep == "keep":
        return Cleaned(entry)
    cleaning = _Cleaning(server, names, keep)
    return Cleaned(
        {key: cleaning.value(key, value) for key, value in entry.items()}, tuple(cleaning.hidden)
    )


def masked(server: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry as it may be shown: no secret that is written out is in it."""
    cleaning = _Cleaning(server, Names(), "keep")
    return {key: cleaning.value(key, value) for key, value in entry.items()}


def secret_keys(entry: Mapping[str, Any]) -> list[str]:
    """Return where an entry has secrets written out."""
    return [one.key for one in without_secrets("x", entry, Names(), "env").hidden]


class _Cleaning:
    def __init__(self, server: str, names: Names, keep: Keep) -> None:
        self.server, self.names, self.keep = server, names, keep
        self.hidden: list[Hidden] = []

    def value(self, key: str, value: Any) -> Any:
        if key in {"env", "headers"} and isinstance(value, Mapping):
            named = self._variable if key == "env" else self._header
            return {name: named(name, text) for name, text in value.items()}
        if key == "args" and isinstance(value, list):
            return self._arguments(value)
        if key == "url" and isinstance(value, str):
            return self._address(value)
        if key == "oauth" and isinstance(value, Mapping) and value.get("client_secret"):
            secret = self._hide("oauth.client_secret", "client_secret", value["client_secret"])
            return {**value, "client_secret": secret}
        return value

    def _variable(self, name: str, text: Any) -> Any:
        if not isinstance(text, str) or not _is_secret(name, text):
            return text
        return self._hide(f"env.{name}", name, text, own_name=True)

    def _header(self, name: str, text: Any) -> Any:
        if not isinstance(text, str) or not _is_secret(name, text):
            return text
        scheme = _SCHEME.match(text)
        start = scheme.end() if scheme else 0
        wanted = "token" if scheme else name
        return text[:start] + self._hide(f"headers.{name}", wanted, text[start:])

    def _arguments(self, given: list[Any]) -> list[Any]:
        found: list[Any] = []
        for index, text in enumerate(given):
            if not isinstance(text, str):
                found.append(text)
                continue
            before = given[index - 1] if index else ""
            option = _OPTION.fullmatch(text)
            key = f"args[{index}]"
            if option and _is_secret(option[1].lstrip("-"), option[2]):
                found.append(f"{option[1]}={self._hide(key, option[1].lstrip('-'), option[2])}")
            elif _follows(before) and not text.startswith("-") and _is_secret(before, text):
                found.append(self._hide(key, before.lstrip("-"), text))
            elif _is_secret("", text):
                found.append(self._hide(key, "secret", text))
            else:
                found.append(text)
        return found

    def _address(self, url: str) -> str:
        def parameter(match: re.Match[str]) -> str:
            if not _is_secret(match[1], match[2]):
                return match[0]
            return f"{match[1]}={self._hide(f'url ({match[1]})', match[1], match[2])}"

        found = _PARAMETER.sub(parameter, url)
        return _LOGIN.sub(lambda match: self._hide("url (login)", "login", match[0]), found)

    def _hide(self, key: str, wanted: str, value: str, *, own_name: bool = False) -> str:
        """Note a secret and return the reference that takes its place."""
        base = wanted if own_name else f"{self.server}_{wanted}"
        name = self.names.for_value(base, self.server, value)
        self.hidden.append(Hidden(key, name, value))
        return MASK if self.keep == "keep" else f"${{{self.keep}:{name}}}"


def _is_secret(name: str, value: str) -> bool:
    if not value or holds_reference(value) or value.lower() in _PLAIN_WORDS:
        return False
    if _SHAPED.search(value) or _LOGIN.search(value) or _MIXED.fullmatch(value):
        return True
    named = _NAMED.search(name) or _JOINED.search(name)
    if not named or _HARMLESS.search(name):
        return False
    return not value.isdecimal() and not _looks_like_place(value)


def _looks_like_place(value: str) -> bool:
    """Say whether a value is a path or an address, as ``SSH_KEY=~/.ssh/id`` has it."""
    return value.startswith(("/", "./", "../", "~/", "http://", "https://")) and " " not in value


def _follows(option: Any) -> bool:
    return isinstance(option, str) and option.startswith("-") and "=" not in option


def _variable(wanted: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", wanted).strip("_")
    name = name if name.isupper() else name.upper()
    return name if name[:1].isalpha() else f"SECRET_{name}"
