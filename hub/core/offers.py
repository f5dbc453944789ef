"""What the settings say about offering tools, across all servers: aliases and gates."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from hub.core.team import Origin


class Alias(Struct, frozen=True):
    """A short name under which one tool is offered in place of its own."""

    short: str
    target: str
    """The model-facing name of the tool."""
    origin: Origin


class Gate(Struct, frozen=True):
    """A condition without which the tools of a pattern are not offered; all of it has to hold."""

    pattern: str
    """A glob over model-facing names."""
    origin: Origin
    env: str = ""
    """A variable that has to be set, and not to nothing."""
    file: str = ""
    """A path, relative to the workspace and within it, that has to exist."""
    platform: tuple[str, ...] = ()
    """The systems of which this has to be one: ``linux``, ``darwin`` or ``win32``."""


class Surroundings(Struct, frozen=True):
    """What gates look at."""

    environ: Mapping[str, str] = field(default_factory=dict)
    workspace: Path = field(default_factory=Path)
    platform: str = ""


class Offers(Struct, frozen=True):
    """All that the settings say about offering, with what gates look at."""

    aliases: tuple[Alias, ...] = ()
    gates: tuple[Gate, ...] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
