"""What may stand in a role file."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from hub.config.schema import Count, Dollars, LimitSettings, Number, Section, Switch
from hub.core.acceptance import AcceptanceKind
from hub.core.team import PermissionMode


class EdgeEntry(Section):
    """One role that may be dispatched to."""

    role: str
    """Name of the role."""
    max_parallel: Count = 8
    """How many children of this role run at once; more wait their turn."""
    tools: tuple[str, ...] = ()
    """Patterns that narrow the child's tools further."""
    tokens: Count | None = None
    """Budget of one job, in tokens."""
    usd: Dollars | None = None
    """Budget of one job, in US dollars."""
    isolation: Literal["worktree"] | None = None
    """``worktree``: each job works in a git work tree of its own and returns a diff."""


class RolePermissions(Section):
    """Rules for one role, beside those of the settings."""

    mode: PermissionMode | None = None
    """Makes the run's mode tighter for this role; it cannot make it wider."""
    allow: tuple[str, ...] = ()
    """Patterns over tool names that run without a question."""
    ask: tuple[str, ...] = ()
    """Patterns over tool names that run only after a yes."""
    deny: tuple[str, ...] = ()
    """Patterns over tool names that never run."""


class AcceptanceEntry(Section):
    """What has to hold before the role's report counts; in files also the kind alone."""

    kind: AcceptanceKind = "command"
    """``none``, ``attested`` or ``command``."""
    command: str = ""
    """Shell command that the host runs in the workspace; exit code 0 accepts."""
    timeout: Annotated[Number, Field(gt=0, le=3600)] = 120.0
    """Seconds that the command may take."""


class RoleFile(Section):
    """One role file; the text below its front matter are the instructions."""

    name: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$")
    """Name of the role; absent takes the file's name."""
    description: str = ""
    """One line that tells a parent when to dispatch to it."""
    model: str | None = None
    """An entry of ``models``, a model's name or ``script:FILE``; absent takes the run's model."""
    tools: tuple[str, ...] = ("*",)
    """Patterns over tool names; absent gives every tool, an empty list none."""
    disallowed_tools: tuple[str, ...] = ()
    """Patterns over tool names that it does not get."""
    dispatch: tuple[EdgeEntry, ...] = ()
    """Roles that it may dispatch to: names, or mappings with bounds."""
    user_facing: Switch = False
    """A user may start it."""
    permissions: RolePermissions = Field(default_factory=RolePermissions)
    """Rules for its calls."""
    limits: LimitSettings = Field(default_factory=LimitSettings)
    """Its own bounds; what is absent is taken from the settings."""
    report_schema: Mapping[str, Any] | None = None
    """JSON Schema of its report's ``data``, inline or as a path beside the role file."""
    acceptance: AcceptanceEntry = Field(default_factory=lambda: AcceptanceEntry(kind="none"))
    """What has to hold before its report counts: ``none``, ``attested`` or a mapping with
    ``command`` and ``timeout``."""
    isolation: Literal["worktree"] | None = None
    """``worktree``: as a child it works in a git work tree of its own and returns a diff."""
    instructions: str = ""
    """In YAML files, what stands below the front matter elsewhere."""
