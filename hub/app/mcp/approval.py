"""Which servers there are and why each may be started or not; nothing is started."""

from time import time
from typing import Literal

from msgspec import Struct

from hub.app.approved import beside_digest
from hub.app.mcp.naming import unknown_server
from hub.app.setup import Setup
from hub.config.layer_names import CLIENT_LAYERS
from hub.config.servers import server_specs
from hub.core.servers import ServerSpec
from hub.pins.approvals import Approval, Approvals, launch_words, needs_record

ApprovalState = Literal["own", "trusted", "approved", "changed", "none"]


class Standing(Struct, frozen=True):
    """Whether a server may be started, and why."""

    state: ApprovalState
    """``own``: the user wrote the entry. ``trusted``: with the workspace. ``approved``: by a record
    of its own. ``changed``: the record speaks of another launch. ``none``: not approved."""
    words: str
    """The same for people, on one line."""
    record: Approval | None = None

    @property
    def approved(self) -> bool:
        """Say whether it may be started."""
        return self.state not in ("changed", "none")


class Discovered(Struct, frozen=True):
    """One server that some source in force asks for."""

    spec: ServerSpec
    standing: Standing


def discovered(setup: Setup) -> list[Discovered]:
    """Return every server of a workspace, those that are not approved at the end.

    Raises:
        ConfigError: an entry in force cannot be used, or the approvals cannot be read.
    """
    active = server_specs(setup.loaded)
    found = [Discovered(spec, approval_state(spec, setup)) for spec in active]
    names = {spec.name for spec in active}
    waiting = [spec for spec in setup.pending if spec.name not in names]
    return found + [Discovered(spec, approval_state(spec, setup)) for spec in waiting]


def approval_state(spec: ServerSpec, setup: Setup) -> Standing:
    """Say whether a server may be started, and why.

    Raises:
        ConfigError: the approvals cannot be read.
    """
    project = setup.loaded.sources.project
    record = _approvals(setup).find(spec.name, project)
    if _is_pending(spec, setup):
        if record is None:
            return Standing("none", f"not approved; {spec.origin} asks for it")
        return Standing("changed", f"changed since it was approved ({record.launched})", record)
    if not needs_record(spec):
        words = "comes with the hub" if spec.origin.layer == "default" else "your own entry"
        return Standing("own", f"{words} ({spec.origin})")
    if record is not None and record.fingerprint == spec.fingerprint():
        return Standing("approved", "approved by you", record)
    return Standing("trusted", "approved with the workspace (hub trust)", record)


def require_spec(setup: Setup, server: str) -> ServerSpec:
    """Return a server by name, as it would be launched, approved or not.

    Raises:
        UsageError: there is none of this name.
    """
    pending = {spec.name: spec for spec in setup.pending}
    known = {spec.name: spec for spec in server_specs(setup.loaded)} | pending
    if server not in known:
        raise unknown_server(server, list(known))
    return known[server]


def approve_server(spec: ServerSpec, setup: Setup) -> Approval:
    """Record that the user approves a server as it would be launched now.

    What came with a project is approved for that project, other entries everywhere.

    Raises:
        ConfigError: the approvals cannot be read or written.
    """
    beside = beside_digest(setup.asked or setup.loaded, spec.name)
    everywhere = spec.origin.layer in CLIENT_LAYERS
    project = None if everywhere else setup.loaded.sources.project
    return _approvals(setup).approve(spec, project, beside=beside, at=time())


def launch_changes(spec: ServerSpec, record: Approval) -> list[str]:
    """Say how a launch differs from the one that was approved."""
    if record.fingerprint == spec.fingerprint():
        return ["what the project's file says of it beside the launch has changed"]
    return [f"approved was: {record.launched}", f"asked for is: {launch_words(spec)}"]


def _is_pending(spec: ServerSpec, setup: Setup) -> bool:
    return any(spec == waiting for waiting in setup.pending)


def _approvals(setup: Setup) -> Approvals:
    return Approvals(setup.loaded.sources.paths.state)
