"""All tools of one server, with the rules of its entry in the settings applied. Pure."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from hub.catalog.items import Item
from hub.catalog.names import model_name
from hub.catalog.schemas import Untranslatable, as_mapping, names_in
from hub.core.ports import Quarantine, RemoteTool, ServerListing
from hub.core.servers import ServerSpec, ToolRule
from hub.core.team import matches_any

_NOTHING_HELD = Quarantine()


class Shelf(Struct, frozen=True):
    """What one server brings into the catalog."""

    spec: ServerSpec
    listing: ServerListing
    quarantine: Quarantine
    items: tuple[Item, ...]
    """Every tool of the server, offered or not, in its own order."""
    problems: tuple[str, ...]


def stocked(
    spec: ServerSpec, listing: ServerListing, quarantine: Quarantine = _NOTHING_HELD
) -> Shelf:
    """Return a server's tools under their names, less nothing: what is withheld says why."""
    problems: list[str] = []
    new_names = _renamed(spec, listing.tools, problems)
    items = tuple(_item(spec, tool, new_names, quarantine) for tool in listing.tools)
    for item in items:
        if item.rule is not None:
            problems += _rule_problems(item)
    problems += _idle_patterns(spec, [tool.name for tool in listing.tools])
    problems += [f"MCP server {spec.name!r}: {text}" for text in listing.warnings]
    return Shelf(spec, listing, quarantine, items, tuple(problems))


def _item(
    spec: ServerSpec, tool: RemoteTool, new_names: Mapping[str, str], quarantine: Quarantine
) -> Item:
    own = model_name(spec.name, tool.name)
    item = Item(spec, tool, own, spec.tools.get(tool.name) if spec.tools else None)
    if (new := new_names.get(tool.name)) is not None:
        item.name, item.renamed, item.other_names = model_name(spec.name, new), True, (own,)
    if why := _withheld(spec, tool, quarantine):
        item.withheld = why
    return item


def _withheld(spec: ServerSpec, tool: RemoteTool, quarantine: Quarantine) -> str:
    if spec.allow != ("*",) and not matches_any(tool.name, spec.allow):
        return f"allow does not name it ({spec.origin})"
    if spec.deny and matches_any(tool.name, spec.deny):
        return f"deny names it ({spec.origin})"
    if quarantine.tools and (why := quarantine.tools.get(tool.name)):
        return why
    kinds = tool.input_schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return f"its arguments are of type {kinds!r:.100}, not object"
    return ""


def _renamed(
    spec: ServerSpec, tools: tuple[RemoteTool, ...], problems: list[str]
) -> dict[str, str]:
    """Return the new names of tools, by their own, less those that would collide."""
    present = {tool.name for tool in tools}
    wanted = {name: rule.rename for name, rule in spec.tools.items() if rule.rename}
    wanted = {name: new for name, new in wanted.items() if name in present and new != name}
    while True:
        owners: dict[str, list[str]] = {}
        for name in present:
            owners.setdefault(wanted.get(name, name), []).append(name)
        crowded = {new: names for new, names in owners.items() if len(names) > 1}
        if not crowded:
            return wanted
        for new, names in sorted(crowded.items()):
            for name in sorted(set(names) & wanted.keys()):
                others = " and ".join(repr(other) for other in sorted(names) if other != name)
                problems.append(
                    f"{spec.tools[name].origin} (servers.{spec.name}.tools.{name}.rename): "
                    f"{name!r} cannot be renamed to {new!r}, since that is the name of {others}; "
                    "it keeps its own"
                )
                del wanted[name]


def _rule_problems(item: Item) -> Iterator[str]:
    """Yield what a rule says of arguments that the tool does not have; withhold what cannot run."""
    rule = item.rule
    if rule is None or not (rule.defaults or rule.hidden):
        return
    try:
        schema = item.lowered().parameters
    except Untranslatable:
        return
    properties = as_mapping(schema.get("properties"))
    place = f"{rule.origin} (servers.{item.server.name}.tools.{item.said.name}"
    for key, given in (("defaults", tuple(rule.defaults)), ("hidden", rule.hidden)):
        for name in given:
            if name not in properties:
                yield f"{place}.{key}): the tool has no argument {name!r}"
    unknown = {name for name in rule.defaults if name not in properties}
    if unknown and schema.get("additionalProperties") is False:
        item.rule = _without(rule, unknown)
    required = set(names_in(schema.get("required")))
    stuck = [name for name in rule.hidden if name in required and name not in rule.defaults]
    if stuck:
        names = ", ".join(repr(name) for name in stuck)
        item.withheld = item.withheld or (
            f"its argument {names} is required and hidden, and has no default ({rule.origin})"
        )
        yield f"{place}.hidden): {names} is required and has no default; the tool is withheld"


def _without(rule: ToolRule, names: set[str]) -> ToolRule:
    """Return a rule without defaults that every call would fail with."""
    kept = {name: value for name, value in rule.defaults.items() if name not in names}
    return ToolRule(rule.rename, rule.description, kept, rule.hidden, rule.idempotent, rule.origin)


def _idle_patterns(spec: ServerSpec, names: list[str]) -> Iterator[str]:
    """Yield the patterns and rules of a server's entry that speak of no tool."""
    for key, patterns in (("allow", spec.allow), ("deny", spec.deny)):
        for pattern in patterns:
            if pattern != "*" and not any(matches_any(name, (pattern,)) for name in names):
                yield (f"{spec.origin} (servers.{spec.name}.{key}): {pattern!r} matches no tool")
    for name, rule in spec.tools.items():
        if name not in names:
            yield (
                f"{rule.origin} (servers.{spec.name}.tools.{name}): the server has no tool {name!r}"
            )
