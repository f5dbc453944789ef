"""Which servers of other people's files the user approved, one by one."""

from msgspec import Struct

from hub.config.beside import said_beside
from hub.config.keys import split_key
from hub.config.layer_names import CLIENT_LAYERS, FOREIGN_LAYERS
from hub.config.layers import Loaded
from hub.config.servers import server_spec
from hub.config.trust import Part, withhold
from hub.core.servers import ServerSpec
from hub.pins.approvals import Approvals, digest_of


class Asked(Struct, frozen=True):
    """A server that a file asks for which the user did not write."""

    spec: ServerSpec
    """As it would be launched, all layers together."""
    approved: bool
    """The user has a record of exactly this."""


def asked_servers(loaded: Loaded, approvals: Approvals) -> dict[str, Asked]:
    """Return the servers that somebody else asks for, by name, from the settings of all layers.

    An entry that cannot be used is left out: it is withheld like one that is not approved.

    Raises:
        ConfigError: the approvals cannot be read.
    """
    names = [
        name
        for layer in loaded.layers
        if layer.name in FOREIGN_LAYERS
        for name in layer.data.get("servers", {})
    ]
    found = {}
    for name in dict.fromkeys(names):
        if (spec := server_spec(loaded, name)) is not None:
            beside = beside_digest(loaded, name)
            approved = approvals.approves(spec, loaded.sources.project, beside)
            found[name] = Asked(spec, approved)
    return found


def beside_digest(loaded: Loaded, name: str) -> str:
    """Return a digest of what others' files say of a server beside its launch."""
    return digest_of(said_beside(loaded, name))


def without_unapproved(loaded: Loaded, asked: dict[str, Asked]) -> Loaded:
    """Return the settings without servers of other clients' files that are not approved.

    Trust in a workspace says nothing of them: they lie in the user's home and were never meant for
    hub.
    """
    parts = [
        Part("server", name, "", layer.origin_of(("servers", name)))
        for layer in loaded.layers
        if layer.name in CLIENT_LAYERS
        for name in layer.data.get("servers", {})
        if name not in asked or not asked[name].approved
    ]
    return withhold(loaded, parts) if parts else loaded


def held_back(asked: dict[str, Asked], loaded: Loaded) -> tuple[ServerSpec, ...]:
    """Return the servers that have no effect in some settings, as they would be launched."""
    names = {key[1] for key in map(split_key, loaded.withheld) if key and key[0] == "servers"}
    return tuple(server.spec for name, server in asked.items() if name in names)
