"""Run teams of role-based agents over approved MCP servers.

``async with open_hub(RunOptions(role="lead")) as hub`` opens a team over a folder;
``async with hub.ask("…") as events`` runs one turn and streams its events.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hub.version import __version__

if TYPE_CHECKING:
    from hub.app.hub import Hub as Hub
    from hub.app.open import open_hub as open_hub
    from hub.app.options import InitInfo as InitInfo
    from hub.app.options import RunOptions as RunOptions
    from hub.app.stream import EventStream as EventStream
    from hub.core.errors import HubError as HubError
    from hub.core.jobs import Report as Report
    from hub.core.jobs import TurnResult as TurnResult

_HOMES = {
    "EventStream": "hub.app.stream",
    "Hub": "hub.app.hub",
    "HubError": "hub.core.errors",
    "InitInfo": "hub.app.options",
    "Report": "hub.core.jobs",
    "RunOptions": "hub.app.options",
    "TurnResult": "hub.core.jobs",
    "open_hub": "hub.app.open",
}

__all__ = [
    "EventStream",
    "Hub",
    "HubError",
    "InitInfo",
    "Report",
    "RunOptions",
    "TurnResult",
    "__version__",
    "open_hub",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that ``import hub`` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
