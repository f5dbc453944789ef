"""Approving: what would be started, then what a server says of itself, each shown beforehand."""

import json
from collections.abc import Sequence
from difflib import get_close_matches

from msgspec import Struct

from hub.app.mcp.approval import (
    Standing,
    approval_state,
    approve_server,
    launch_changes,
    require_spec,
)
from hub.app.mcp.compare import Bench, Comparison, accept, compared
from hub.app.mcp.live import ask_servers
from hub.app.pinned import bundled_name
from hub.config.beside import is_secret_name
from hub.core.errors import UsageError
from hub.core.servers import ServerSpec
from hub.pins.canonical import HINTS
from hub.pins.offer import Change, Offer
from hub.pins.packages import version_warning
from hub.pins.visible import hidden_words, visible
from hub.pins.words import change_line


class Candidate(Struct, frozen=True):
    """A server that somebody wants to approve."""

    spec: ServerSpec
    standing: Standing
    part: str = ""
    """The one tool, prompt or resource that is meant; empty for all."""

    @property
    def changes(self) -> list[str]:
        """How the launch differs from the one that was approved; empty when there was none."""
        record = self.standing.record
        if self.standing.approved or record is None:
            return []
        return launch_changes(self.spec, record)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What would be started or reached, whole: nothing that runs is hidden from who agrees."""
        spec = self.spec
        words = [spec.command, *spec.args] if spec.command else []
        values = [f"{name}={_value(name, value)}" for name, value in spec.env.items()]
        pairs = [
            ("command", " ".join(json.dumps(word, ensure_ascii=False) for word in words)),
            ("address", spec.url),
            ("folder", spec.cwd),
            ("variables", ", ".join(values)),
            ("headers", ", ".join(spec.headers)),
            ("asked by", str(spec.origin)),
        ]
        return [(name, visible(value)) for name, value in pairs]

    @property
    def warnings(self) -> list[str]:
        """What to think of before it is started, one line each."""
        warning = version_warning(self.spec)
        return [visible(text) for text in [*self.changes, *([warning] if warning else [])]]


class ToolLine(Struct, frozen=True):
    """One tool, as it is shown to whoever approves; all of it can be printed."""

    name: str
    description: str
    mark: str
    """``read-only``, ``destructive`` or ``writes``, by its own word; for what says nothing, MCP
    takes it to be destructive."""
    hidden: str = ""
    """Hidden characters in its name or description, in words."""


def candidate(bench: Bench, target: str) -> Candidate:
    """Return the server, or the part of one, that ``SERVER`` or ``SERVER/PART`` means.

    Raises:
        UsageError: there is no such server, or it comes with the hub.
    """
    server, _, part = target.partition("/")
    spec = require_spec(bench.setup, server)
    if bundled_name(spec):
        raise UsageError(f"{server!r} comes with the hub, so there is nothing to approve")
    return Candidate(spec, approval_state(spec, bench.setup), part)


def approve_launch(bench: Bench, found: Candidate) -> None:
    """Record that the server may be started as it is launched now.

    Raises:
        ConfigError: the record cannot be written.
    """
    approve_server(found.spec, bench.setup)


async def look(bench: Bench, found: Candidate) -> Comparison:
    """Start an approved server and compare what it says with its pins."""
    live = await ask_servers(bench.setup, [found.spec])
    return compared(bench, live[found.spec.name], found.standing.words)


def chosen(found: Comparison, part: str) -> list[Change]:
    """Return the changes that approving accepts: all, or those of one part.

    Raises:
        UsageError: the server has no such part.
    """
    if not part:
        return list(found.changes)
    named = [change for change in found.changes if change.name == part]
    if not named and part not in _parts(found.now):
        near = get_close_matches(part, _parts(found.now), n=1)
        advice = f"Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"server {found.spec.name!r} has no tool, prompt or resource {part!r}", remedy=advice
        )
    return named


def lines_of(changes: Sequence[Change]) -> list[str]:
    """Say what changed, one line each."""
    return [change_line(change) for change in changes]


def pin(bench: Bench, found: Comparison, accepted: Sequence[Change]) -> None:
    """Pin what was accepted; a server without pins is pinned as a whole.

    Raises:
        ConfigError: the pins cannot be read or written.
    """
    whole = not found.pinned or len(accepted) == len(found.changes)
    accept(bench, found, None if whole else accepted)


def tool_lines(offer: Offer) -> list[ToolLine]:
    """Return the tools of a server, in its own order."""
    lines = []
    for name, form in offer.tools.items():
        hints = HINTS | {k: v for k, v in form.get("annotations", {}).items() if k in HINTS}
        mark = "destructive" if hints["destructiveHint"] is not False else "writes"
        if hints["readOnlyHint"] is True and (
            form.get("annotations", {}).get("destructiveHint") is not True
        ):
            mark = "read-only"
        description = form.get("description", "") or form.get("title", "")
        found = hidden_words(f"{name}{description}")
        lines.append(ToolLine(visible(name), visible(description), mark, found))
    return lines


def _value(name: str, value: str) -> str:
    """Return the value of a variable; a literal secret is hidden, and does not count either."""
    return "***" if value and "${" not in value and is_secret_name(name) else value


def _parts(offer: Offer) -> list[str]:
    return [*offer.tools, *offer.prompts, *offer.templates, *offer.resources]
