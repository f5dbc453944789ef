"""Who may use a tool, and which rule says so; and in which form a model would see it."""

from collections.abc import Mapping

from msgspec import Struct

from hub.app.mcp.catalog import Known
from hub.app.setup import Setup
from hub.catalog.explain import Profile
from hub.catalog.items import Item
from hub.catalog.profiles import profile_of
from hub.config.models import SCRIPT
from hub.config.servers import bundled_servers
from hub.core.messages import ToolSpec
from hub.core.team import Role
from hub.permissions.policy import Effect, Policy, Rule, Ruling
from hub.roles.matrix import grant_for, granted

_EFFECTS: Mapping[str, Effect] = {"allow": "allow", "ask": "ask", "deny": "deny"}


class Right(Struct, frozen=True):
    """What one role may do with one tool."""

    role: str
    granted: bool
    """The role's own lists leave it the tool."""
    ruling: Ruling
    """What happens to a call of it."""

    @property
    def words(self) -> str:
        """The same on one line."""
        if not self.granted:
            return "not among the role's tools"
        origin = f" ({self.ruling.origin})" if self.ruling.origin else ""
        return f"{self.ruling.effect}: {self.ruling.reason}{origin}"

    def as_dict(self) -> dict[str, object]:
        """Return it for JSON."""
        return {
            "role": self.role,
            "granted": self.granted,
            "effect": self.ruling.effect,
            "reason": self.ruling.reason,
            "origin": self.ruling.origin,
        }


def right_of(setup: Setup, role: Role, known: Known, item: Item) -> Right:
    """Return what a role may do with a tool when a run starts with it."""
    others = {item.name: item.other_names}
    return Right(
        role.name,
        bool(granted(role, (item.name,), others)),
        policy_of(setup, role).judge(known.tool(item).spec),
    )


def judge(setup: Setup, spec: ToolSpec) -> Ruling:
    """Say what the settings alone, without a role, make of a call."""
    return policy_of(setup, None).judge(spec)


def policy_of(setup: Setup, role: Role | None) -> Policy:
    """Return the permissions with which a run starts, those of a role included."""
    loaded = setup.loaded
    mode = loaded.settings.permissions.mode
    rules = [Rule(_EFFECTS[rule.effect], rule.pattern, rule.origin) for rule in loaded.rules()]
    bundled = bundled_servers(loaded)
    if role is None:
        return Policy(tuple(rules), mode, plan=mode == "plan", bundled=bundled)
    for effect, patterns in (("deny", role.deny), ("ask", role.ask), ("allow", role.allow)):
        rules += [Rule(_EFFECTS[effect], pattern, role.origin) for pattern in patterns]
    grant = grant_for(role, mode=mode)
    return Policy(tuple(rules), grant.ceiling, plan=grant.plan, bundled=bundled)


def profile_for(setup: Setup, *, model: str = "", role: Role | None = None) -> Profile:
    """Return what the servers of a model accept; without one, of the role's or the usual model.

    No key is needed, since nobody is asked. ``generic`` where no model is configured.
    """
    settings, environ = setup.loaded.settings, setup.loaded.sources.environ
    name = model or (role.model if role is not None else "") or settings.model
    if not name or name.startswith(SCRIPT):
        return "generic"
    usual = environ.get("OPENAI_BASE_URL", "")
    if (entry := settings.models.get(name)) is None:
        return profile_of(name, usual)
    return entry.tool_schemas or profile_of(entry.model or name, entry.base_url or usual)
