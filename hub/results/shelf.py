"""Makes results fit into a conversation; implements the Shelf port for one session tree."""

import json
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.core.messages import KeptPart, ToolOutcome
from hub.core.results import NOTE, READ_RESULT
from hub.core.text import cut_middle, without_surrogates
from hub.results.blocks import storable_blocks
from hub.results.preview import cut_json, cut_text, kind_of, parsed
from hub.results.store import HANDLE, Entry, ResultStore

DOUBLED = 4_000
"""Characters of structured content that the log keeps even where the text says the same."""
WARNING_LENGTH = 300
OWN = 50_000
"""Characters of a result of tools that came with the hub; they bound their results themselves."""


class Budget(Struct, frozen=True):
    """How much of a result a model is shown."""

    inline: int = 25_000
    """Characters of a result that is shown whole."""
    preview: int = 6_000
    """Characters of what is shown of a longer one."""


class TreeShelf:
    """The shelf of one session tree."""

    def __init__(self, store: ResultStore, tree: str, budget: Budget) -> None:
        """Take the store and the root session of the tree."""
        self._store = store
        self._tree = tree
        self.budget = budget
        """How much of a result a model is shown."""

    def find(self, handle: str) -> Entry | None:
        """Return what a handle opens; None when this tree has none of that name."""
        return self._store.find(self._tree, handle)

    def read(self, entry: Entry) -> bytes:
        """Return the bytes of an entry.

        Raises:
            Missing: they are not there any more.
        """
        return self._store.read(entry)

    def mentions(self, text: str) -> bool:
        """Say whether a text names a handle that can be read here."""
        return "res_" in text and any(self.find(found) for found in set(HANDLE.findall(text)))

    def shape(self, outcome: ToolOutcome, *, own: bool = False) -> ToolOutcome:
        """Return an outcome that a log can hold and a model can be told."""
        budget = self.budget if not own else Budget(OWN, self.budget.preview)
        shaping = _Shaping(self._store, self._tree, budget)
        text = without_surrogates(outcome.text)
        structured = shaping.structured(outcome.structured, text)
        blocks = storable_blocks(outcome.blocks, shaping.keep_block) if outcome.blocks else ()
        warnings = tuple(
            cut_middle(without_surrogates(warning), WARNING_LENGTH) for warning in outcome.warnings
        )
        return replace(
            outcome,
            text=shaping.text(text, warnings) or "(no output)",
            structured=structured,
            blocks=_clean(blocks),
            warnings=warnings,
            kept=tuple(shaping.kept),
        )


class _Shaping:
    """One outcome on its way."""

    def __init__(self, store: ResultStore, tree: str, budget: Budget) -> None:
        self._store = store
        self._tree = tree
        self._budget = budget
        self._beside: list[str] = []
        self.kept: list[KeptPart] = []

    def structured(self, value: Any, text: str) -> Any:
        """Return structured content for the log; None when the text says it or it is kept."""
        if value is None:
            return None
        try:
            written = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return None
        clean = without_surrogates(written)
        if len(clean) > DOUBLED and _says_the_same(value, text):
            return None
        if len(clean) <= self._budget.inline:
            return value if clean is written else json.loads(clean)
        data = clean.encode()
        handle = self._keep("structured", data, "application/json")
        what = f"structured content, {kind_of(value)} in {len(clean):,} characters"
        self._beside.append(f"[{what}, is kept apart: {handle}]")
        return None

    def keep_block(self, part: str, data: bytes, media_type: str) -> dict[str, Any]:
        """Keep the content of a block."""
        handle = self._keep(part, data, media_type)
        found = {"bytes": len(data)}
        return {**found, "handle": handle} if handle.startswith("res_") else found

    def text(self, text: str, warnings: tuple[str, ...]) -> str:
        """Return what the model is told."""
        told = [warning for warning in warnings if not warning.startswith(NOTE)]
        beside = [*self._beside, *(f"[warning: {warning}]" for warning in told)]
        if len(text) <= self._budget.inline:
            return "\n".join([text, *beside]) if beside else text
        value = parsed(text)
        media = "text/plain" if value is None else "application/json"
        handle = self._keep("text", text.encode(), media)
        limit = min(self._budget.preview, self._budget.inline)
        if value is None:
            lines = text.count("\n") + 1
            what = f"{len(text):,} characters in {lines:,} lines"
            head = f"[This is a part of a result of {what}. {_how(handle)}]"
            return "\n".join([head, *beside, cut_text(text, limit)])
        what = f"{kind_of(value)} in {len(text):,} characters"
        envelope = {
            "cut": f"This is a part of a result, {what}. {_how(handle)}",
            **({"handle": handle} if handle.startswith("res_") else {}),
            **({"also": beside} if beside else {}),
            "preview": cut_json(value, limit),
        }
        return json.dumps(envelope, ensure_ascii=False)

    def _keep(self, part: str, data: bytes, media_type: str) -> str:
        """Keep a part and return its handle, or why there is none."""
        try:
            handle, entry = self._store.put(self._tree, data, part=part, media_type=media_type)
        except OSError as error:
            return f"it could not be kept: {error.strerror or error}"
        self.kept.append(KeptPart(part, handle, entry.digest, entry.size, media_type))
        return handle


def _how(handle: str) -> str:
    if not handle.startswith("res_"):
        return f"The rest is lost, {handle}."
    return f"All of it is kept: {READ_RESULT} reads on, with the handle {handle}."


def _says_the_same(value: Any, text: str) -> bool:
    """Say whether a text is the structured content in other words, as servers are to send it."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value.values())) == text:
        return True
    found = parsed(text)
    return found is not None and (found == value or value == {"result": found})


def _clean(blocks: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Return blocks that encode as UTF-8."""
    if not blocks:
        return blocks
    written = json.dumps(blocks, ensure_ascii=False, default=str)
    clean = without_surrogates(written)
    return blocks if clean is written else tuple(msgspec.json.decode(clean))
