"""Which servers a workspace has; nothing is started."""

from pathlib import Path

from hub.app.setup import find_sources, load_setup
from hub.config.servers import server_specs
from hub.core.servers import ServerSpec


def found_servers(workspace: Path) -> list[ServerSpec]:
    """Return the servers that a run in a workspace would have.

    Raises:
        UsageError: the workspace or its settings are wrong.
    """
    return server_specs(load_setup(workspace, find_sources(workspace)).loaded)
