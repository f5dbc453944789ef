"""From settings to what is offered across servers: aliases and gates, each with its place."""

import re
from pathlib import Path

from hub.config.keys import dotted
from hub.config.layers import Loaded
from hub.config.problems import Problem, fault
from hub.core.errors import ConfigError
from hub.core.offers import Alias, Gate, Offers, Surroundings

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def offers(loaded: Loaded, workspace: Path, platform: str) -> Offers:
    """Return the aliases and gates that are in force.

    Raises:
        ConfigError: an alias is no legal name; with each place.
    """
    settings = loaded.settings
    if not (settings.aliases or settings.gates):
        return Offers()
    problems = []
    aliases = []
    for short, target in settings.aliases.items():
        origin = loaded.origin(key := dotted(("aliases", short)))
        aliases.append(Alias(short, target, origin))
        if not _NAME.fullmatch(short):
            problems.append(
                Problem(
                    f"{short!r} cannot be the name of a tool",
                    f"{origin} ({key})",
                    "Use at most 64 letters, digits, '-' and '_'.",
                )
            )
    if problems:
        raise fault(ConfigError, problems)
    gates = tuple(
        Gate(
            pattern,
            loaded.origin(dotted(("gates", pattern))),
            env=gate.env,
            file=gate.file,
            platform=gate.platform,
        )
        for pattern, gate in settings.gates.items()
    )
    around = Surroundings(loaded.sources.environ, workspace, platform)
    return Offers(tuple(aliases), gates, around)
