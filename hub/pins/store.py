"""The pins of all servers, one private file each: the Pins port over a folder.

What an approved server says of itself at its first listing is pinned; what differs from it later,
or from ``hub.lock``, is held back until the user accepts it.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from hub.config.paths import write_private
from hub.core.ports import Quarantine, ServerListing
from hub.core.servers import ServerSpec
from hub.pins.approvals import launch_words, of_project
from hub.pins.canonical import Json
from hub.pins.lockfile import Lock
from hub.pins.offer import (
    UNREADABLE,
    Change,
    Offer,
    as_document,
    changes,
    merged,
    offer_from,
    offer_of,
    with_texts,
)
from hub.pins.words import why_held_back, why_not_locked

_FORMAT = 1
_BROKEN = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What rubbish in a file can lead to."""
NOTHING = Quarantine()


class PinStore:
    """What was approved of each server."""

    def __init__(
        self,
        state: Path,
        *,
        project: Path,
        lock: Lock | None = None,
        shipped: Callable[[ServerSpec], ServerListing | None] = lambda spec: None,
    ) -> None:
        """Take the state folder; ``shipped`` knows what the hub's own servers list."""
        self._folder = state / "pins"
        self._project = project
        self.lock = lock or Lock(project)
        """What the project says its servers have to be."""
        self._shipped = shipped
        self._known: dict[Path, tuple[str, Offer]] = {}

    def check(self, spec: ServerSpec, listing: ServerListing) -> Quarantine:
        """Compare a listing with what was approved; the first listing of an approved server is.

        Pins that cannot be read or written hold everything back.
        """
        if spec.transport == "memory":
            return NOTHING
        mark = self._mark(spec, listing)
        if mark and self._seen(spec) == mark:
            return NOTHING
        now, unreadable = offer_of(listing)
        try:
            pinned = self.pinned(spec)
            if pinned is None:
                self._write(spec, pinned := now)
        except (OSError, *_BROKEN) as error:
            return _all(now, f"its pins cannot be used ({self.path(spec)}: {error})")
        held = quarantine(changes(pinned, now), self.lock_changes(spec, now), unreadable)
        if not held:
            self._remember(spec, listing)
        return held

    def idempotent(self, spec: ServerSpec, tool: str) -> bool:
        """Say whether a tool was approved as one whose calls may be repeated."""
        rule = spec.tools.get(tool)
        if rule is not None and rule.idempotent is not None:
            return rule.idempotent
        pinned = None
        with suppress(OSError, *_BROKEN):
            pinned = self.pinned(spec)
        hints = pinned.tools.get(tool, {}).get("annotations", {}) if pinned else {}
        reads = hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True
        return reads or hints.get("idempotentHint") is True

    def pinned(self, spec: ServerSpec) -> Offer | None:
        """Return what was approved of a server; None when nothing was yet.

        Raises:
            ValueError: the pins cannot be read; other errors of that kind, and OSError, as well.
        """
        if (shipped := self._shipped(spec)) is not None:
            return offer_of(shipped)[0]
        path = self.path(spec)
        state = _state(path)
        if not state:
            return None
        known = self._known.get(path)
        if known is None or known[0] != state:
            data = json.loads(path.read_bytes())
            if data["format"] != _FORMAT:
                raise ValueError(f"its format is {data['format']!r}")
            known = self._known[path] = (state, offer_from(data["offer"]))
        return known[1]

    def lock_changes(self, spec: ServerSpec, now: Offer) -> list[Change]:
        """Return what differs from ``hub.lock``, where it speaks of the server."""
        locked = self.lock.servers.get(spec.name)
        return [] if locked is None else changes(locked.offer, now)

    def accept(
        self, spec: ServerSpec, now: Offer, accepted: Iterable[Change] | None = None
    ) -> None:
        """Pin what a server offers now: all of it, or only some of the changes.

        Raises:
            ValueError: the pins cannot be read; other errors of that kind, and OSError, as well.
        """
        before = None if accepted is None else self.pinned(spec)
        offer = now if before is None or accepted is None else merged(before, now, accepted)
        self._write(spec, offer)

    def check_text(
        self, spec: ServerSpec, prompt: str, messages: Sequence[Mapping[str, Any]]
    ) -> str:
        """Compare what a prompt says with what it said first; return why it is held back.

        ``messages`` are those for ``probe_arguments``. An empty text means that all is well.
        """
        if spec.transport == "memory" or self._shipped(spec) is not None:
            return ""
        try:
            pinned = self.pinned(spec)
            if pinned is None:
                return "the server was not listed before"
            now = with_texts(pinned, {prompt: messages})
            if prompt not in pinned.texts:
                self._write(spec, now)
        except (OSError, *_BROKEN) as error:
            return f"its pins cannot be used ({self.path(spec)}: {error})"
        return next((why_held_back(change) for change in changes(pinned, now)), "")

    def forget(self, spec: ServerSpec) -> None:
        """Drop the pins of a server; its next listing is pinned anew."""
        for path in (self.path(spec), self._seen_path(spec)):
            path.unlink(missing_ok=True)

    def path(self, spec: ServerSpec) -> Path:
        """Return the file that holds a server's pins, or will.

        A launch that a project asks for is one of that project: the same words may start another
        program elsewhere.
        """
        key = spec.fingerprint()
        if of_project(spec):
            folder = str(self._project.resolve()).encode("utf-8", "surrogateescape")
            key += f"-{hashlib.sha256(folder).hexdigest()[:8]}"
        return self._folder / f"{key}.json"

    def _write(self, spec: ServerSpec, offer: Offer) -> None:
        document: Json = {
            "format": _FORMAT,
            "server": spec.name,
            "launched": launch_words(spec),
            "at": time.time(),
            "offer": as_document(offer),
        }
        path = self.path(spec)
        write_private(path, json.dumps(document, indent=1, sort_keys=True) + "\n")
        self._known[path] = (_state(path), offer)

    def _mark(self, spec: ServerSpec, listing: ServerListing) -> str:
        """Return a mark of listing, pins and lock together; empty when there is nothing yet."""
        state = "shipped" if self._shipped(spec) is not None else _state(self.path(spec))
        parts = (listing.instructions, listing.tools, listing.prompts, listing.resources)
        if not state:
            return ""
        try:
            whole = hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
        except (ValueError, RecursionError):
            return ""
        return f"{whole} {state} {self.lock.digest}"

    def _remember(self, spec: ServerSpec, listing: ServerListing) -> None:
        """Note that a listing agreed, so that the same one need not be compared again."""
        if mark := self._mark(spec, listing):
            with suppress(OSError):
                write_private(self._seen_path(spec), mark)

    def _seen(self, spec: ServerSpec) -> str:
        with suppress(OSError, UnicodeError):
            return self._seen_path(spec).read_text(encoding="ascii")
        return ""

    def _seen_path(self, spec: ServerSpec) -> Path:
        return self.path(spec).with_suffix(".seen")


def quarantine(
    since_approved: Iterable[Change],
    against_lock: Iterable[Change] = (),
    unreadable: Iterable[str] = (),
) -> Quarantine:
    """Return what of a server is held back because of changes, with the reasons."""
    reasons: dict[str, dict[str, str]] = {"tool": {}, "prompt": {}, "resource": {}}
    names = {"prompt text": "prompt", "template": "resource"}
    instructions = ""
    told = [(change, why_held_back(change)) for change in since_approved if change.held_back]
    told += [(change, why_not_locked(change)) for change in against_lock if change.held_back]
    for change, why in told:
        if change.kind == "instructions":
            instructions = instructions or why
        else:
            reasons[names.get(change.kind, change.kind)].setdefault(change.name, why)
    reasons["tool"] |= dict.fromkeys(unreadable, UNREADABLE)
    return Quarantine(reasons["tool"], reasons["prompt"], reasons["resource"], instructions)


def _all(offer: Offer, why: str) -> Quarantine:
    """Hold everything back."""
    return Quarantine(
        tools=dict.fromkeys(offer.tools, why),
        prompts=dict.fromkeys(offer.prompts, why),
        resources=dict.fromkeys([*offer.templates, *offer.resources], why),
        instructions=why if offer.instructions else "",
    )


def _state(path: Path) -> str:
    """Return what changes when a file does; empty when there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ""
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"
