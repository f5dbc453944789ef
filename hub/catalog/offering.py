"""Gates and aliases: what the settings say of the tools of all servers together.

Pure, but for looking whether the file of a gate exists.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from hub.catalog.explain import Touch
from hub.catalog.items import Item
from hub.core.offers import Alias, Gate, Offers, Surroundings
from hub.core.team import matches_any

HUB_TOOLS = frozenset({"dispatch", "report", "resources", "tool_search", "read_result"})
"""Names of the hub's own tools, which no alias may take."""


def closed(gate: Gate, around: Surroundings) -> str:
    """Return why a gate is closed; empty when it is open."""
    if gate.env and not around.environ.get(gate.env):
        return f"the variable {gate.env} is not set"
    if gate.file:
        root = around.workspace.absolute()
        path = root / Path(gate.file)
        if ".." in Path(gate.file).parts or not path.is_relative_to(root):
            return f"{gate.file} leads out of the workspace"
        if not path.exists():
            return f"the workspace has no {gate.file}"
    if gate.platform and around.platform not in gate.platform:
        return f"this is {around.platform}, not {' or '.join(gate.platform)}"
    return ""


def gated(
    items: Sequence[Item], offers: Offers, problems: list[str]
) -> tuple[list[Item], list[Item]]:
    """Return the tools that stay offered, in their order, and those that a closed gate holds."""
    held: dict[str, Item] = {}
    for gate in offers.gates:
        found = [item for item in items if _speaks_of(gate.pattern, item)]
        if not found:
            problems.append(f"{gate.origin} (gates): {gate.pattern!r} matches no tool")
        if not found or not (why := closed(gate, offers.surroundings)):
            continue
        touch = Touch("gate", f"gate {gate.pattern!r}: {why}", str(gate.origin))
        for item in found:
            known = held.get(item.name, item)
            reason = known.withheld or f"gate {gate.pattern!r} is closed: {why} ({gate.origin})"
            held[item.name] = replace(
                known, withheld=reason, touches=(*known.touches, touch), forms={}
            )
    return [item for item in items if item.name not in held], list(held.values())


def _speaks_of(pattern: str, item: Item) -> bool:
    return any(matches_any(name, (pattern,)) for name in (item.name, *item.other_names))


def aliased(
    items: Sequence[Item], offers: Offers, problems: list[str], held: Iterable[Item] = ()
) -> list[Item]:
    """Return the tools under their aliases where they have one, in their order."""
    by_name = {name: item for item in items for name in (*item.other_names, item.name)}
    quiet = {name for item in held for name in (*item.other_names, item.name)}
    good: dict[str, list[Alias]] = {}
    shorts = {alias.short for alias in offers.aliases}
    for alias in offers.aliases:
        if alias.target in quiet and alias.target not in by_name:
            continue
        if why := _refused(alias, by_name, shorts):
            problems.append(f"{alias.origin} (aliases.{alias.short}): {why}")
        else:
            good.setdefault(by_name[alias.target].name, []).append(alias)
    chosen: dict[str, Alias] = {}
    for name, aliases in good.items():
        if len(aliases) == 1:
            chosen[name] = aliases[0]
            continue
        shown = " and ".join(f"{one.short!r} ({one.origin})" for one in aliases)
        problems.append(f"{name} has several aliases, and none is used: {shown}")
    return [_under(item, chosen.get(item.name)) for item in items]


def _refused(alias: Alias, by_name: Mapping[str, Item], shorts: set[str]) -> str:
    """Return why an alias is not used; empty when it is."""
    if alias.target in shorts:
        return f"{alias.target!r} is an alias itself; name the tool"
    if alias.target not in by_name:
        return f"there is no tool {alias.target!r}"
    if alias.short in HUB_TOOLS:
        return f"{alias.short!r} is the name of the hub's own tool"
    if (owner := by_name.get(alias.short)) is not None:
        target = by_name[alias.target]
        return (
            f"{alias.short!r} would be the name of {target.said.name!r} of "
            f"{target.server.name!r}, and is that of {owner.said.name!r} of {owner.server.name!r}"
        )
    return ""


def _under(item: Item, alias: Alias | None) -> Item:
    if alias is None:
        return item
    touch = Touch("alias", f"alias: {alias.short}", str(alias.origin))
    return replace(
        item,
        name=alias.short,
        alias=alias.short,
        other_names=(item.name, *item.other_names),
        touches=(*item.touches, touch),
        forms={},
    )
