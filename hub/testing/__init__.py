"""Doubles that ship: scripted model server, faulty MCP server, scripted asker, fake clock."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.testing.asker import ScriptedAsker as ScriptedAsker
    from hub.testing.clock import FakeClock as FakeClock
    from hub.testing.elicitor import ScriptedElicitor as ScriptedElicitor
    from hub.testing.faulty.launch import faulty_command as faulty_command
    from hub.testing.faulty.launch import faulty_http as faulty_http
    from hub.testing.serving import ModelServer as ModelServer
    from hub.testing.serving import serve_model as serve_model

_HOMES = {
    "FakeClock": "hub.testing.clock",
    "ModelServer": "hub.testing.serving",
    "ScriptedAsker": "hub.testing.asker",
    "ScriptedElicitor": "hub.testing.elicitor",
    "faulty_command": "hub.testing.faulty.launch",
    "faulty_http": "hub.testing.faulty.launch",
    "serve_model": "hub.testing.serving",
}

__all__ = [
    "FakeClock",
    "ModelServer",
    "ScriptedAsker",
    "ScriptedElicitor",
    "faulty_command",
    "faulty_http",
    "serve_model",
]


def __getattr__(name: str) -> Any:
    """Import a double when it is first asked for; a faulty server must start without the rest."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
