"""What the doctor finds, as values."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from hub.core.errors import HubError

State = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """One thing that was looked at."""

    check: str
    """What was looked at: ``python``, ``packages``, ``settings``, ``roles``, ``state``, ``trust``,
    ``model`` or ``server NAME``."""
    state: State
    """``ok``, ``warning`` or ``error``."""
    message: str
    """What was found."""
    remedy: str = ""
    """What to do about it; empty when there is nothing to do."""

    def as_dict(self) -> dict[str, str]:
        """Return the fields by name, for JSON."""
        return asdict(self)


def broken(name: str, error: HubError) -> Finding:
    """Return the finding for a fault; a place that the message names already is not told twice."""
    path = error.where.partition(" (")[0]
    where = f"{error.where}: " if path and path not in error.message else ""
    return Finding(name, "error", f"{where}{error.message}", error.remedy)


def of_server(name: str, text: str) -> str:
    """Return a text about a server without its name, for where that stands before it anyway."""
    return text.replace(f"MCP server {name!r}: ", "", 1)
