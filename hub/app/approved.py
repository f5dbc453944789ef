"""Which servers of other people's files the user approved, one by one."""

from msgspec import Struct

from hub.config.beside import said_beside
from hub.config.layers import Loaded
from hub.config.servers import server_spec
from hub.config.trust import Part
from hub.core.servers import ServerSpec
from hub.pins.approvals import OWN_LAYERS, Approvals, digest_of


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
        if layer.name not in OWN_LAYERS
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
    return digest_of(said_beside(loaded, name, OWN_LAYERS))


def held_back(asked: dict[str, Asked], withheld: tuple[Part, ...]) -> tuple[ServerSpec, ...]:
    """Return the servers that are withheld, as they would be launched."""
    names = dict.fromkeys(part.name for part in withheld if part.kind == "server")
    return tuple(asked[name].spec for name in names if name in asked)
