"""What files that the user did not write say of one server, beside what is launched or reached."""

import re
from collections.abc import Mapping
from typing import Any

from hub.config.layer_names import FOREIGN_LAYERS
from hub.config.layers import Loaded

_LAUNCH = frozenset({"command", "args", "cwd", "url", "transport", "bundled", "headers"})
"""What the fingerprint of the launch covers; values of headers never count."""
_HARMLESS = frozenset({"enabled", "start_timeout", "call_timeout", "idle_timeout", "serial"})
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


def said_beside(loaded: Loaded, name: str) -> dict[str, Any]:
    """Return it as JSON values by layer, less what may be a secret; empty for nothing.

    Values of variables count, since some of them make a program load code; those whose name is
    that of a secret do not, so that a new token is no change.
    """
    found: dict[str, Any] = {}
    for layer in loaded.layers:
        entry = layer.data.get("servers", {}).get(name) or {}
        if layer.name in FOREIGN_LAYERS and (said := _counting(entry)):
            found[layer.name] = said
    return found


def is_secret_name(name: str) -> bool:
    """Say whether a variable of this name may hold a secret."""
    return _SECRET_NAME.search(name) is not None


def _counting(entry: Mapping[str, Any]) -> dict[str, Any]:
    said = {key: entry[key] for key in entry if key not in _LAUNCH | _HARMLESS | {"env", "oauth"}}
    variables = entry.get("env") or {}
    if env := {key: variables[key] for key in variables if not is_secret_name(key)}:
        said["env"] = env
    oauth = entry.get("oauth") or {}
    if kept := {key: oauth[key] for key in oauth if key != "client_secret"}:
        said["oauth"] = kept
    return said
