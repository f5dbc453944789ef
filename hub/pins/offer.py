"""What a server offers, in canonical form: what is pinned, locked and compared. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.ports import ServerListing
from hub.pins.canonical import (
    DESTRUCTIVE,
    Json,
    canonical_prompt,
    canonical_resource,
    canonical_tool,
    compact,
    plain,
)

Kind = Literal["tool", "prompt", "prompt text", "template", "resource", "instructions"]
What = Literal["new", "changed", "removed"]
KINDS: tuple[tuple[Kind, str], ...] = (
    ("tool", "tools"),
    ("prompt", "prompts"),
    ("prompt text", "texts"),
    ("template", "templates"),
    ("resource", "resources"),
)
"""What is compared by name, with the field that holds it."""
_LOOSE = ("prompt text", "resource")
"""What may come and go: only another description of the same is a change."""
UNREADABLE = "it is nested too deeply to be compared"

_Part = TypeVar("_Part")


class Offer(Struct, frozen=True):
    """All that is pinned of a server, each part in canonical form."""

    instructions: str = ""
    tools: Mapping[str, Json] = field(default_factory=dict)
    """By name."""
    prompts: Mapping[str, Json] = field(default_factory=dict)
    texts: Mapping[str, Json] = field(default_factory=dict)
    """What prompts say when each argument is its own name in braces, as far as it is known. It is
    compared where both sides know it."""
    templates: Mapping[str, Json] = field(default_factory=dict)
    """By URI template."""
    resources: Mapping[str, Json] = field(default_factory=dict)
    """By URI. They are data that comes and goes; only another description is a change."""

    def of(self, kind: Kind) -> Mapping[str, Json]:
        """Return the parts of one kind, by name."""
        if kind == "instructions":
            return {"": {"text": self.instructions}} if self.instructions else {}
        found: Mapping[str, Json] = getattr(self, dict(KINDS)[kind])
        return found


class Change(Struct, frozen=True):
    """One part of a server that is not what was approved."""

    kind: Kind
    name: str
    """Name, URI or URI template; empty for the instructions."""
    what: What
    before: Json | None = None
    """Its canonical form as it was approved."""
    now: Json | None = None
    """Its canonical form as it is."""
    copy_of: str = ""
    """A part that was approved under another name and is the same otherwise."""

    @property
    def held_back(self) -> bool:
        """Say whether the part is not to be offered; what is gone needs no holding back."""
        return self.what != "removed"


def offer_of(listing: ServerListing) -> tuple[Offer, tuple[str, ...]]:
    """Return what a listing offers, and the tools that cannot be compared at all."""
    unreadable: list[str] = []
    tools = dict(_forms(listing.tools, canonical_tool, "name", unreadable))
    resources = [resource for resource in listing.resources if not resource.template]
    templates = [resource for resource in listing.resources if resource.template]
    offer = Offer(
        instructions=listing.instructions,
        tools=tools,
        prompts=dict(_forms(listing.prompts, canonical_prompt, "name", unreadable)),
        templates=dict(_forms(templates, canonical_resource, "uri", unreadable)),
        resources=dict(_forms(resources, canonical_resource, "uri", unreadable)),
    )
    return offer, tuple(unreadable)


def with_texts(offer: Offer, texts: Mapping[str, Sequence[Mapping[str, Any]]]) -> Offer:
    """Return an offer with what its prompts say, by prompt: a list of messages."""
    known = {name: {"messages": plain(list(said))} for name, said in texts.items()}
    return replace(offer, texts={**offer.texts, **known})


def probe_arguments(prompt: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments with which a prompt is asked for the text that is pinned."""
    names = [str(part.get("name")) for part in prompt.get("arguments", []) if "name" in part]
    return {name: f"{{{name}}}" for name in names}


def as_document(offer: Offer) -> Json:
    """Return an offer as JSON values, empty parts left out."""
    document: Json = {"instructions": offer.instructions} if offer.instructions else {}
    for _, name in KINDS:
        if parts := getattr(offer, name):
            document[name] = {key: parts[key] for key in sorted(parts)}
    return document


def offer_from(document: Mapping[str, Any]) -> Offer:
    """Return the offer in a document.

    Raises:
        ValueError: it is none.
    """
    instructions = document.get("instructions", "")
    if not isinstance(instructions, str):
        raise ValueError("the instructions are no text")
    parts: dict[str, Any] = {}
    for _, name in KINDS:
        found = document.get(name, {})
        if not isinstance(found, dict) or not all(isinstance(p, dict) for p in found.values()):
            raise ValueError(f"{name!r} is no mapping of mappings")
        parts[name] = plain(found)
    return Offer(instructions=instructions, **parts)


def changes(before: Offer, now: Offer) -> list[Change]:
    """Return what differs between what was approved and what is, in a fixed order."""
    found: list[Change] = []
    if before.instructions != now.instructions:
        what: What = "changed" if before.instructions and now.instructions else "new"
        what = what if now.instructions else "removed"
        found.append(
            Change(
                "instructions",
                "",
                what,
                {"text": before.instructions} if before.instructions else None,
                {"text": now.instructions} if now.instructions else None,
            )
        )
    for kind, _ in KINDS:
        found += _changes_of(kind, before.of(kind), now.of(kind))
    return found


def merged(before: Offer, now: Offer, accepted: Iterable[Change]) -> Offer:
    """Return what was approved with some changes accepted."""
    parts: dict[str, dict[str, Json]] = {name: dict(getattr(before, name)) for _, name in KINDS}
    instructions, fields = before.instructions, dict(KINDS)
    for change in accepted:
        if change.kind == "instructions":
            instructions = now.instructions
        elif change.now is None:
            parts[fields[change.kind]].pop(change.name, None)
        else:
            parts[fields[change.kind]][change.name] = change.now
    return Offer(instructions=instructions, **parts)


def _changes_of(kind: Kind, old: Mapping[str, Json], new: Mapping[str, Json]) -> list[Change]:
    found = []
    for name, now in new.items():
        before = old.get(name)
        if before is None:
            found.append(Change(kind, name, "new", None, now, _original(name, now, old)))
        elif compact(before) != compact(now) and compact(before) != compact(_narrower(before, now)):
            found.append(Change(kind, name, "changed", before, now))
    found += [Change(kind, name, "removed", old[name]) for name in old if name not in new]
    return [change for change in found if kind not in _LOOSE or change.what == "changed"]


def _narrower(before: Json, now: Json) -> Json:
    """Return a form without a default that was written down since and takes a promise back."""
    hints = dict(now.get("annotations", {}))
    if DESTRUCTIVE in before.get("annotations", {}) or hints.pop(DESTRUCTIVE, None) is not True:
        return now
    return {**now, "annotations": hints}


def _original(name: str, now: Json, old: Mapping[str, Json]) -> str:
    """Return the approved part that a new one equals in all but its name; empty when none."""
    own = _nameless(now)
    return next((other for other, form in old.items() if _nameless(form) == own), "")


def _nameless(form: Json) -> str:
    return compact({key: part for key, part in form.items() if key not in ("name", "uri")})


def _forms(
    parts: Iterable[_Part], form: Callable[[_Part], Json], key: str, unreadable: list[str]
) -> Iterable[tuple[str, Json]]:
    for part in parts:
        name: str = getattr(part, key)
        try:
            found = form(part)
            compact(found)
        except RecursionError:
            unreadable.append(name)
        else:
            yield name, found
