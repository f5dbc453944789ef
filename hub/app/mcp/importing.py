"""Copies servers out of the files of other clients into our settings.

What there is, what would be added, and the adding itself; files of other clients are only read.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from hub.app.mcp.literals import Hidden, Keep, Names, masked, without_secrets
from hub.app.mcp.settings_file import Scope, clash_of, file_of, require_usable
from hub.config.clients.dialect import Around
from hub.config.clients.reading import all_files, files_of
from hub.config.clients.recognising import recognised_layer
from hub.config.clients.table import CLIENTS, Surroundings, user_files
from hub.config.edit import put_servers, server_entries
from hub.config.layers import Sources
from hub.config.problems import fault
from hub.config.references import store_secret
from hub.config.sources import Layer
from hub.config.yaml_edit import lines_for
from hub.core.errors import ConfigError, UsageError
from hub.core.team import Origin

State = Literal["add", "replace", "same", "clash", "unusable"]


KNOWN = tuple(CLIENTS)
"""The clients by name."""


class Source(Struct, frozen=True):
    """One file of another client on this machine."""

    client: str
    title: str
    path: Path
    servers: tuple[str, ...]
    left_out: int = 0
    """Entries that cannot be used."""
    problem: str = ""
    """Why nothing of it can be used."""
    of_project: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "source": self.client,
            "title": self.title,
            "path": str(self.path),
            "of_project": self.of_project,
            "servers": list(self.servers),
            "left_out": self.left_out,
            "problem": self.problem,
        }


class Planned(Struct, frozen=True):
    """One server of a source, and what becomes of it."""

    name: str
    origin: Origin
    state: State
    entry: Mapping[str, Any]
    """As it would be written."""
    why: str = ""
    """Why it is not added."""
    hidden: tuple[Hidden, ...] = ()
    """Secrets that a reference takes the place of."""

    @property
    def shown(self) -> Mapping[str, Any]:
        """The entry as it may be shown."""
        return masked(self.name, self.entry)

    @property
    def lines(self) -> list[str]:
        """The lines of the settings file, as they may be shown."""
        return lines_for(self.name, self.shown).splitlines()[1:]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values; no secret is among them."""
        return {
            "name": self.name,
            "origin": str(self.origin),
            "state": self.state,
            "entry": dict(self.shown),
            "why": self.why,
            "secrets": [{"key": one.key, "name": one.name} for one in self.hidden],
        }


class Plan(Struct, frozen=True):
    """What an import comes to before anything is written."""

    target: Path
    scope: Scope
    keep: Keep
    servers: tuple[Planned, ...]
    notices: tuple[str, ...] = ()
    """What of the source is left out, and why."""

    @property
    def writes(self) -> tuple[Planned, ...]:
        """The servers that are written."""
        return tuple(one for one in self.servers if one.state in {"add", "replace"})

    @property
    def refused(self) -> bool:
        """Say whether a server of the source is not written although it is not there."""
        return any(one.state in {"clash", "unusable"} for one in self.servers)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "target": str(self.target),
            "scope": self.scope,
            "servers": [one.as_dict() for one in self.servers],
            "notices": list(self.notices),
        }


class Choices(Struct, frozen=True):
    """How to import."""

    scope: Scope = "user"
    keep: Keep = "env"
    replace: bool = False


def sources_here(sources: Sources) -> list[Source]:
    """Return the files of other clients that exist on this machine; nothing is written."""
    where = Surroundings(sources.environ)
    return [
        Source(
            found.client,
            found.title,
            found.path,
            tuple(found.taken.layer.data.get("servers", {})),
            found.taken.left_out,
            found.broken.message.partition("\n")[0] if found.broken else "",
            found.of_project,
        )
        for found in all_files(_around(sources), where)
    ]


def plan_import(sources: Sources, wanted: str, choices: Choices) -> Plan:
    """Work out what importing from a client, or from a file, would write.

    Raises:
        UsageError: there is no such client, or nothing of it on this machine.
        ConfigError: the file, or the settings to be written, cannot be read.
    """
    layers, notices = _layers(sources, wanted)
    entries: dict[str, tuple[Mapping[str, Any], Origin]] = {}
    for layer in layers:
        for name, entry in layer.data.get("servers", {}).items():
            entries[name] = (entry, layer.origin_of(("servers", name)))
    target = file_of(sources, choices.scope)
    existing = server_entries(target)
    names = Names(sources.environ)
    planned = []
    for name, (entry, origin) in entries.items():
        cleaned = without_secrets(name, entry, names, choices.keep)
        one = Planned(name, origin, "add", cleaned.entry, hidden=cleaned.hidden)
        planned.append(_judged(sources, one, existing, choices))
    return Plan(target, choices.scope, choices.keep, tuple(planned), tuple(notices))


def carry_out(plan: Plan) -> None:
    """Write what was planned; secrets go into the keyring first, where that was chosen.

    Raises:
        ConfigError: the keyring refuses, or the file cannot be changed.
    """
    if plan.keep == "keyring":
        for one in plan.writes:
            for hidden in one.hidden:
                store_secret(hidden.name, hidden.value)
    entries = {one.name: one.entry for one in plan.writes}
    put_servers(plan.target, entries, private=plan.scope != "project")


def _judged(
    sources: Sources, one: Planned, existing: Mapping[str, Any], choices: Choices
) -> Planned:
    def as_state(state: State, why: str) -> Planned:
        return Planned(one.name, one.origin, state, one.entry, why, one.hidden)

    if existing.get(one.name) == one.entry:
        return as_state("same", "it stands there already")
    try:
        require_usable(sources, one.name, one.entry, choices.scope)
    except ConfigError as error:
        return as_state("unusable", error.message.partition("\n")[0])
    clash = clash_of(existing, one.name)
    if not clash:
        return one
    return as_state("replace", "") if choices.replace else as_state("clash", clash)


def _layers(sources: Sources, wanted: str) -> tuple[list[Layer], list[str]]:
    """Return the layers of a client, its file in the project above, or those of one file.

    Raises:
        UsageError: there is no such client or file.
        ConfigError: the file cannot be used.
    """
    if wanted not in CLIENTS:
        return _of_file(sources, wanted)
    where = Surroundings(sources.environ)
    found = [
        one
        for of_project in (False, True)
        for one in files_of(wanted, _around(sources), where, of_project=of_project)
    ]
    if not found:
        raise UsageError(
            f"{CLIENTS[wanted].title} keeps no servers on this machine",
            where=str(user_files(wanted, where)[0]),
            remedy="hub mcp import, without more, lists what there is.",
        )
    if problems := [one.broken for one in found if one.broken is not None]:
        raise fault(ConfigError, problems)
    return [one.taken.layer for one in found], [text for one in found for text in one.taken.notices]


def _of_file(sources: Sources, wanted: str) -> tuple[list[Layer], list[str]]:
    path = sources.cwd / Path(wanted).expanduser()
    if not path.exists():
        near = get_close_matches(wanted, CLIENTS, n=1)
        advice = f"Did you mean {near[0]!r}? " if near else ""
        raise UsageError(
            f"{wanted!r} is no client that hub knows, and no file",
            remedy=f"{advice}Known are: {', '.join(CLIENTS)}.",
        )
    taken, problems = recognised_layer("import", path, _around(sources))
    if problems:
        raise fault(ConfigError, problems)
    return [taken.layer], list(taken.notices)


def _around(sources: Sources) -> Around:
    return Around(sources.project, Surroundings(sources.environ).home)
