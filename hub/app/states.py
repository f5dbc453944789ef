"""How the servers of a run stand at its start."""

from collections.abc import Iterator, Sequence

from hub.app.options import ServerState
from hub.catalog.catalog import Catalog
from hub.core.servers import ServerSpec


def server_states(
    specs: Sequence[ServerSpec], catalog: Catalog, pending: Sequence[ServerSpec]
) -> list[ServerState]:
    """Return how each server stands, those that wait for an approval last."""
    active = {spec.name for spec in specs}
    withheld = (spec.name for spec in pending if spec.name not in active)
    return [*_active(specs, catalog), *map(_withheld, withheld)]


def _active(specs: Sequence[ServerSpec], catalog: Catalog) -> Iterator[ServerState]:
    for name in (spec.name for spec in specs):
        if name in catalog.failed:
            yield ServerState(name, "failed", error=catalog.failed[name])
        elif name in catalog.connected:
            yield ServerState(name, "connected", catalog.connected[name])
        elif name in catalog.starting:
            yield ServerState(name, "starting")
        else:
            yield ServerState(name, "cached", catalog.cached.get(name, 0))


def _withheld(name: str) -> ServerState:
    return ServerState(name, "withheld", error=f"not approved; see: hub mcp approve {name}")
