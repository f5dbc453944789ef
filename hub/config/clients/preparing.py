"""What is particular to single clients: their entries rewritten into plain keys."""

from typing import Any

from hub.config.clients.dialect import Around, Unusable
from hub.core.text import one_line

_GOOSE_OWN = "it is a part of Goose itself"
_GOOSE = {
    "builtin": _GOOSE_OWN,
    "platform": _GOOSE_OWN,
    "frontend": _GOOSE_OWN,
    "inline_python": "it is code inside of the file",
}


def vscode(entry: dict[str, Any], around: Around) -> dict[str, Any]:
    """Write numbers among the variables as text; a variable that is null is taken away there."""
    if isinstance(env := entry.get("env"), dict):
        entry["env"] = {
            key: value if isinstance(value, str | bool) else str(value)
            for key, value in env.items()
            if value is not None
        }
    return entry


def cursor(entry: dict[str, Any], around: Around) -> dict[str, Any]:
    """Take what signs in from the key ``auth``."""
    if "auth" in entry:
        entry["oauth"] = entry.pop("auth")
    return entry


def codex(entry: dict[str, Any], around: Around) -> dict[str, Any]:
    """Turn names of variables into references: tokens, headers, and what is handed on.

    Raises:
        Unusable: headers or variables are not what they have to be.
    """
    headers = _mapping(entry, "headers")
    if isinstance(token := entry.pop("bearer_token_env_var", None), str):
        headers.setdefault("Authorization", f"Bearer ${{env:{token}}}")
    for header, variable in _mapping(entry, "env_http_headers").items():
        headers[header] = f"${{env:{variable}}}"
    handed = entry.pop("env_vars", None) or []
    if not isinstance(handed, list):
        raise Unusable("(env_vars) expected a list")
    names = [one.get("name") if isinstance(one, dict) else one for one in handed]
    # A variable that is not set is no fault there, so it is none here.
    env = {str(name): f"${{env:{name}:-}}" for name in names} | _mapping(entry, "env")
    entry |= {key: value for key, value in (("headers", headers), ("env", env)) if value}
    if isinstance(limit := entry.pop("startup_timeout_ms", None), int | float):
        entry.setdefault("startup_timeout_sec", limit / 1000)
    return entry


def goose(entry: dict[str, Any], around: Around) -> dict[str, Any]:
    """Leave out what is no MCP server, and refer to the secrets that Goose keeps itself.

    Raises:
        Unusable: the extension is no MCP server, or is not what it has to be.
    """
    inner = _mapping(entry, "config")
    entry = entry | {_GOOSE_KEYS.get(key, key): value for key, value in inner.items()}
    kind = entry.get("type")
    if isinstance(kind, str) and kind in _GOOSE:
        raise Unusable(f"{_GOOSE[kind]} (type: {one_line(kind)})")
    keys = entry.pop("env_keys", None)
    if isinstance(keys, list) and keys and "command" in entry:
        secrets: dict[str, Any] = {str(key): f"${{env:{key}}}" for key in keys}
        entry["env"] = secrets | _mapping(entry, "env")
    if not entry.get("available_tools"):
        entry.pop("available_tools", None)
    if entry.get("timeout") is None:
        entry.pop("timeout", None)
    return entry


_GOOSE_KEYS = {"cmd": "command", "envs": "env", "uri": "url"}


def zed(entry: dict[str, Any], around: Around) -> dict[str, Any]:
    """Take a command out of the older form, and leave out what an extension starts.

    Raises:
        Unusable: an extension of the editor starts it.
    """
    command = entry.get("command")
    if isinstance(command, dict):
        entry |= {key: command[key] for key in ("args", "env") if key in command}
        entry["command"] = command.get("path") or command.get("command")
    if "command" not in entry and "url" not in entry:
        raise Unusable("an extension of the editor starts it")
    return entry


def _mapping(entry: dict[str, Any], key: str) -> dict[str, Any]:
    """Take a mapping out of an entry; an absent one is empty.

    Raises:
        Unusable: something else stands there.
    """
    value = entry.pop(key, None)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unusable(f"({key}) expected a mapping")
    return dict(value)
