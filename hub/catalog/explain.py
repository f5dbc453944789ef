"""What is known of one tool: what its server said, what a model sees, and what made the difference.

Values only; ``Catalog.explain`` and ``Catalog.explained`` make them.
"""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from hub.core.ports import RemoteTool

Profile = Literal["openai", "anthropic", "gemini", "generic"]
"""What the model servers of a kind accept as the schema of a tool."""

PROFILES: tuple[Profile, ...] = ("openai", "anthropic", "gemini", "generic")

RuleKind = Literal[
    "allow", "deny", "rename", "description", "defaults", "hidden", "idempotent", "alias", "gate"
]


class Touch(Struct, frozen=True):
    """One rule of the settings that touched a tool."""

    kind: RuleKind
    text: str
    """What it says, such as ``rename: fetch`` or ``deny: 'delete*'``."""
    origin: str
    """Where it stands: ``path:line``, or the layer."""


class Explained(Struct, frozen=True):
    """One tool of one server, offered or not."""

    name: str
    """The model-facing name; of a tool that is withheld, the one that it would have."""
    server: str
    tool: str
    """The name that the server knows it by."""
    profile: Profile
    said: RemoteTool
    """What the server said, whole."""
    digest: str
    """SHA-256 of what the server said, in a canonical form: 64 hex digits."""
    alias: str = ""
    """The short name under which it is offered in place of its own; then ``name`` is this."""
    other_names: tuple[str, ...] = ()
    """Names that it would have without renaming and aliases; rules speak of it by any of them."""
    rules: tuple[Touch, ...] = ()
    """Every rule of the settings that touched it, in the order in which they work."""
    transforms: tuple[str, ...] = ()
    """What was changed so that servers of the profile accept it; empty when nothing was."""
    withheld: str = ""
    """Why it is not offered; empty when it is."""
    description: str = ""
    """What a model is told of it."""
    parameters: dict[str, Any] | None = None
    """The schema that a model sees; None when there is no such form of it."""

    @property
    def offered(self) -> bool:
        """Say whether roles that admit it are offered it."""
        return not self.withheld

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        plain = asdict(self)
        plain["said"] = asdict(self.said)
        plain["rules"] = [asdict(touch) for touch in self.rules]
        return plain


class Translated(Struct, frozen=True):
    """What one profile makes of one tool; a line of ``hub mcp test``."""

    tool: str
    """The name that the server knows it by."""
    profile: Profile
    changes: tuple[str, ...] = ()
    """What is changed for it, since its servers would refuse the tool as it is."""
    refused: str = ""
    """Why there is no form that its servers would accept; empty when there is one."""
