"""How one client writes a server down, as a value, and what its entries come to in our settings."""

from collections.abc import Callable, Mapping
from glob import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field

from hub.core.text import one_line

TRANSPORTS: Mapping[str, str] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
"""What clients call a transport, and what we do."""


class Around(Struct, frozen=True):
    """What an entry may refer to beside itself."""

    project: Path
    home: Path
    document: Any = None
    """Everything else in the file."""


class Converted(Struct):
    """What one entry comes to."""

    data: dict[str, Any] | None
    """Our form of it; None when it cannot be used."""
    told: list[str] = field(default_factory=list)
    """What a user should know: keys that are not used, or why it cannot be used."""


class Unusable(Exception):
    """An entry, or a reference in it, cannot be used; the text says why."""


Prepare = Callable[[dict[str, Any], Around], dict[str, Any]]
"""Rewrites the entry of a client into plain keys; raises ``Unusable``."""


class Dialect(Struct, frozen=True):
    """The keys of one client's entries."""

    translate: Callable[[str, Around], str] = lambda text, around: text
    """Turns the client's references into ours; raises ``Unusable``."""
    prepare: Prepare = lambda entry, around: entry
    addresses: Mapping[str, str] = field(default_factory=lambda: {"url": ""})
    """Keys that hold an address, the first that is given counts, each with the transport that it
    means; empty: the address itself tells."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """Keys that only have another name here, each with the plain one."""
    start_limit: tuple[str, float] = ("", 1.0)
    """Key of the limit of a start, and what makes seconds of it."""
    call_limit: tuple[str, float] = ("timeout", 0.001)
    """Key of the limit of a call, and what makes seconds of it."""
    allow: str = ""
    """Key of the names of the only tools that are offered."""
    deny: str = ""
    """Key of the names of tools that are not offered."""
    quiet: frozenset[str] = frozenset()
    """Further keys that change nothing about how a server is started."""

    @property
    def known(self) -> frozenset[str]:
        """The keys that are read, and those that need no word."""
        named = {self.start_limit[0], self.call_limit[0], self.allow, self.deny}
        return _ALWAYS | named | self.addresses.keys() | self.quiet

    def plain(self, key: str) -> str:
        """Return the key of our settings under which what a client's key holds is found."""
        ours = {
            **dict.fromkeys(self.addresses, "url"),
            self.start_limit[0]: "start_timeout",
            self.call_limit[0]: "call_timeout",
            self.allow: "allow",
            self.deny: "deny",
            "disabled": "enabled",
            **self.renames,
        }
        return ours.get(key, key)


_ALWAYS = frozenset({
    *("type", "command", "args", "env", "cwd", "headers", "disabled", "enabled", "oauth"),
    *("description", "name", "title", "icon", "version", "gallery", "alwaysLoad"),
})


def convert(entry: object, dialect: Dialect, around: Around) -> Converted:
    """Return our form of an entry and what is to be told of it."""
    if not isinstance(entry, dict):
        return Converted(None, ["it is no object"])
    try:
        plain = {dialect.renames.get(key, key): value for key, value in entry.items()}
        given = dialect.prepare(plain, around)
        kind, address = _kind(given, dialect)
        data = _launch(given, dialect, around, kind, address)
    except Unusable as error:
        return Converted(None, [str(error)])
    except RecursionError:
        return Converted(None, ["it nests too deeply"])
    data |= _limits(given, dialect)
    data |= _tools(given, dialect)
    if given.get("disabled") is True or given.get("enabled") is False:
        data["enabled"] = False
    unused = given.keys() - dialect.known
    if "oauth" in given and "oauth" not in data and given["oauth"] is not True:
        unused |= {"oauth"}
    told = ", ".join(one_line(str(key)) for key in sorted(unused))
    return Converted(data, [f"keys that are not used here: {told}"] if told else [])


def _kind(given: Mapping[str, Any], dialect: Dialect) -> tuple[str, str]:
    """Return the transport of an entry and the key of its address.

    Raises:
        Unusable: it has none that can be used.
    """
    key = next((name for name in dialect.addresses if given.get(name)), "")
    said = given.get("type")
    if not said:
        said = "stdio" if "command" in given else dialect.addresses.get(key) or "http"
        if said == "http" and urlsplit(str(given.get(key, ""))).path.rstrip("/").endswith("/sse"):
            said = "sse"
    kind = TRANSPORTS.get(said) if isinstance(said, str) else None
    if kind is None:
        raise Unusable(f"the transport {said!r} is not supported; stdio, http and sse are")
    needed = "command" if kind == "stdio" else key or next(iter(dialect.addresses))
    if not isinstance(given.get(needed), str) or not given[needed]:
        raise Unusable(f"the transport {said!r} needs {needed!r}")
    return kind, needed


def _launch(
    given: Mapping[str, Any], dialect: Dialect, around: Around, kind: str, address: str
) -> dict[str, Any]:
    keys = {"command": "command", "args": "args", "env": "env", "cwd": "cwd"}
    if kind != "stdio":
        keys = {address: "url", "headers": "headers"}
    data: dict[str, Any] = {
        ours: _translated(given[theirs], dialect, around)
        for theirs, ours in keys.items()
        if given.get(theirs) is not None
    }
    if kind == "sse":
        data["transport"] = "sse"
    if kind != "stdio" and (oauth := _oauth(given.get("oauth"), dialect, around)):
        data["oauth"] = oauth
    return data


def _oauth(given: object, dialect: Dialect, around: Around) -> dict[str, Any]:
    """Return what is said of signing in, whatever the client calls it."""
    if not isinstance(given, dict):
        return {}
    names = {
        "client_id": ("clientId", "client_id", "CLIENT_ID"),
        "client_secret": ("clientSecret", "client_secret", "CLIENT_SECRET"),
        "scopes": ("scopes",),
        "redirect_port": ("callbackPort",),
    }
    found: dict[str, Any] = {}
    for ours, theirs in names.items():
        value = next((given[name] for name in theirs if given.get(name)), None)
        if value is not None:
            found[ours] = _translated(value, dialect, around)
    return found


def _limits(given: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    limits = {"start_timeout": dialect.start_limit, "call_timeout": dialect.call_limit}
    found = {}
    for ours, (key, factor) in limits.items():
        value = given.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            found[ours] = float(value * factor)
    return found


def _tools(given: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Return the lists of tools; a name is no pattern where it comes from."""
    found = {}
    for ours, key in (("allow", dialect.allow), ("deny", dialect.deny)):
        names = given.get(key)
        if isinstance(names, list):
            found[ours] = [escape(name) if isinstance(name, str) else name for name in names]
    return found


def _translated(value: Any, dialect: Dialect, around: Around) -> Any:
    if isinstance(value, str):
        return dialect.translate(value, around)
    if isinstance(value, list):
        return [_translated(item, dialect, around) for item in value]
    if isinstance(value, dict):
        return {key: _translated(item, dialect, around) for key, item in value.items()}
    return value
