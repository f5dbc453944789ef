"""What a run may come to: the roles that its first one reaches, looked at before it starts."""

from collections.abc import Callable, Collection

from hub.app.asking import PREFIX
from hub.app.setup import Setup
from hub.catalog.catalog import Catalog
from hub.catalog.resources import RESOURCES
from hub.config.keys import split_key
from hub.config.layers import Loaded
from hub.config.models import SCRIPT
from hub.core.errors import ConfigError, RoleError
from hub.core.ports import Model
from hub.core.team import Role
from hub.roles.check import check, check_edges, check_tools, require
from hub.roles.finding import Finding
from hub.roles.load import RoleBook
from hub.roles.paths import routes
from hub.roles.rules import dead_rules, rules_of


def roles_in_reach(book: RoleBook, start: Role) -> list[Role]:
    """Return a role and every role that it reaches over edges, the nearest first."""
    names = dict.fromkeys([start.name, *routes(book.roles, start.name)])
    return [book.roles[name] for name in names]


def require_reach(setup: Setup, start: Role, model_for: Callable[[Role], Model]) -> None:
    """Refuse to start with an edge to nobody or a broken script in reach.

    Only a role with a script of its own opens its model, so that others cost nothing here.

    Raises:
        RoleError: an edge leads to a role that does not exist.
        ConfigError: a script file does not exist, or money is bounded and a price is not known.
        ScriptFileError: a script cannot be read.
    """
    reach = roles_in_reach(setup.book, start)
    require([finding for role in reach for finding in check_edges(setup.book, role)])
    money = any(_bounds_money(role) for role in reach)
    for role in reach:
        if money or role.model.startswith(SCRIPT):
            model = model_for(role)
            if money and model.price is None:
                raise _no_price(role, model.name)


def _bounds_money(role: Role) -> bool:
    return role.limits.usd is not None or any(edge.usd is not None for edge in role.dispatch)


def _no_price(role: Role, model: str) -> ConfigError:
    return ConfigError(
        f"money is bounded, and the price of the model {model!r} (role {role.name!r}) is not known",
        where=str(role.origin),
        remedy=f"Say what it costs, in US dollars for a million tokens: --set "
        f"'models.{model}.price={{input: 1.25, output: 10}}', or take the bound away: limits.usd.",
    )


def require_tools(setup: Setup, start: Role, catalog: Catalog) -> None:
    """Refuse to start with a role in reach whose tools are all missing.

    Raises:
        RoleError: naming the entries and their place.
    """
    if catalog.failed and not catalog.tools:
        failures = "; ".join(catalog.failed.values())
        raise RoleError(f"no MCP server could be started: {failures}", remedy="Run: hub doctor")
    names = [*catalog.names(), RESOURCES]
    for role in roles_in_reach(setup.book, start):
        require(list(check_tools(setup.book, role, names)))


def lacks_tools(setup: Setup, start: Role, catalog: Catalog) -> bool:
    """Say whether a role in reach could not work without servers that are late."""
    if not catalog.starting:
        return False
    if not catalog.tools:
        return True
    names = [*catalog.names(), RESOURCES]
    reach = roles_in_reach(setup.book, start)
    found = (finding for role in reach for finding in check_tools(setup.book, role, names))
    return any(finding.severity == "error" for finding in found)


def not_for_users(role: Role) -> list[str]:
    """Say of a role that is to answer a user that it is not meant for that; empty if it is."""
    if role.user_facing:
        return []
    return [
        f"role {role.name!r} is meant for a parent (user_facing is false); it has no report here"
    ]


def rule_problems(setup: Setup, start: Role, catalog: Catalog) -> list[str]:
    """Return the permission rules of the settings and of the roles in reach that do nothing.

    A rule for a tool that is held back does nothing now, but is no mistake.
    """
    held = [name for item in catalog.withheld for name in (item.name, *item.other_names)]
    names = [*catalog.names(), *held, *sampling_names(setup.loaded)]
    reach = roles_in_reach(setup.book, start)
    own = [rule for role in reach for rule in rules_of(setup.book, role)]
    rules = [*setup.loaded.rules(), *own]
    dead = dead_rules(rules, names, unlisted_servers(setup.loaded, names))
    return [f"{rule.origin}: {words}" for rule, words in dead]


def check_team(loaded: Loaded, book: RoleBook, tool_names: Collection[str]) -> list[Finding]:
    """Check roles and permission rules over the tools that are known; errors come first.

    A finding about the settings has no role.
    """
    unlisted = unlisted_servers(loaded, tool_names)
    tool_names = [*tool_names, *sampling_names(loaded)]
    found = check(book, tool_names, unlisted=unlisted)
    settings = [
        Finding("warning", "", words, rule.origin)
        for rule, words in dead_rules(loaded.rules(), tool_names, unlisted)
    ]
    errors = sum(finding.severity == "error" for finding in found)
    return [*found[:errors], *settings, *found[errors:]]


def sampling_names(loaded: Loaded) -> list[str]:
    """Return what rules call the answers of models to the servers that may ask for them."""
    entries = loaded.settings.servers
    return [f"{PREFIX}{name}" for name, entry in entries.items() if "sampling" in entry.may_ask]


def unlisted_servers(loaded: Loaded, tool_names: Collection[str]) -> set[str]:
    """Return the servers of the settings, the withheld ones included, that have no known tool."""
    keys = [split_key(key) or ("",) for key in loaded.withheld]
    withheld = {key[1] for key in keys if key[0] == "servers" and len(key) > 1}
    return {*loaded.settings.servers, *withheld} - {name.partition("__")[0] for name in tool_names}
