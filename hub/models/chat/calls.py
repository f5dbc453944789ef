"""Puts tool calls together that arrive in pieces: by id, then by index, then by position."""

from typing import Any

from msgspec import Struct, field

from hub.core.messages import ToolCall
from hub.core.text import without_surrogates
from hub.models.chat.call_ids import with_unique_ids
from hub.models.chat.call_json import canonical, from_value, is_complete

NAMELESS = "unknown"
"""Stands for the name of a call that came without one."""


class _Slot(Struct):
    id: str
    index: int | None
    name: str
    parts: list[str] = field(default_factory=list)
    announced_again: bool = False
    """The name came once more, alone, after the arguments were whole."""

    @property
    def arguments(self) -> str:
        return "".join(self.parts)

    @property
    def whole(self) -> bool:
        return bool(self.parts) and "}" in self.parts[-1] and is_complete(self.arguments)


class _Piece(Struct, frozen=True):
    id: str
    index: int | None
    name: str
    arguments: str
    position: int | None
    """Place in a list of several calls; None when the list has only this one."""


class CallSlots:
    """The calls of one answer while it streams."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._at: dict[int, _Slot] = {}

    def __bool__(self) -> bool:
        return bool(self._slots)

    def add(self, deltas: list[Any]) -> None:
        """Take the ``tool_calls`` of one chunk."""
        several = len(deltas) > 1
        for position, delta in enumerate(deltas):
            if isinstance(delta, dict):
                self._put(_piece(delta, position if several else None))

    def add_legacy(self, delta: dict[str, Any]) -> None:
        """Take a ``function_call``, the form from before there were several calls."""
        self._put(_piece({"index": 0, "function": delta}, None))

    def calls(self, taken: set[str], *, ended: bool) -> tuple[ToolCall, ...]:
        """Return the calls, with ids that differ from each other and from those taken.

        When the answer has ended well, missing arguments become an empty object and arguments
        that parse become valid JSON; else everything stays as it came.
        """
        found = [
            ToolCall(
                without_surrogates(slot.id),
                without_surrogates(slot.name).strip() or NAMELESS,
                _arguments(slot.arguments, ended=ended),
            )
            for slot in self._slots
            if slot.name or slot.parts
        ]
        return with_unique_ids(found, taken)

    def _put(self, piece: _Piece) -> None:
        slot = self._slot_of(piece)
        if slot is None or self._starts_anew(slot, piece):
            name = piece.name or (slot.name if slot else "")
            slot = _Slot(piece.id, piece.index, name)
            self._slots.append(slot)
        else:
            slot.id = slot.id or piece.id
            slot.index = piece.index if slot.index is None else slot.index
            slot.name = slot.name or piece.name
        if piece.position is not None:
            self._at[piece.position] = slot
        if piece.arguments and not _repeats(slot, piece):
            slot.parts.append(piece.arguments)

    def _slot_of(self, piece: _Piece) -> _Slot | None:
        if piece.id:
            for slot in reversed(self._slots):
                if slot.id == piece.id:
                    return slot
        if piece.index is not None:
            return self._slot_at_index(piece.index, named=bool(piece.name))
        if piece.position is not None:
            return self._at.get(piece.position)
        return self._slots[-1] if self._slots else None

    def _slot_at_index(self, index: int, *, named: bool) -> _Slot | None:
        for slot in reversed(self._slots):
            if slot.index == index:
                return slot
        unplaced = [slot for slot in self._slots if slot.index is None]
        if named or not unplaced:
            return None
        same_place = self._slots[index] if 0 <= index < len(self._slots) else unplaced[-1]
        return same_place if same_place.index is None else unplaced[-1]

    def _starts_anew(self, slot: _Slot, piece: _Piece) -> bool:
        if piece.name and slot.name and piece.name != slot.name:
            return True
        if piece.id and slot.id and piece.id != slot.id:
            # a server that makes up a new id for every piece still continues an open call
            return bool(piece.name) or not piece.arguments or slot.whole
        if not piece.name:
            return slot.announced_again and bool(piece.arguments)
        if piece.index is not None and slot.index is not None and piece.index != slot.index:
            return True
        if not (slot.name and slot.whole):
            return False
        slot.announced_again = not piece.arguments
        return bool(piece.arguments) and piece.arguments != slot.arguments


def _repeats(slot: _Slot, piece: _Piece) -> bool:
    if piece.arguments[0] != "{" or piece.arguments[-1] != "}":
        return False
    return piece.arguments == slot.arguments and is_complete(piece.arguments)


def _piece(delta: dict[str, Any], position: int | None) -> _Piece:
    function = delta.get("function")
    if not isinstance(function, dict):
        function = delta
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        arguments = from_value(arguments)
    index = delta.get("index")
    if not isinstance(index, int) or isinstance(index, bool):
        index = None
    return _Piece(_text(delta.get("id")), index, _text(function.get("name")), arguments, position)


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def _arguments(text: str, *, ended: bool) -> str:
    if not ended:
        return without_surrogates(text)
    if not text.strip():
        return "{}"
    valid = canonical(text)
    return without_surrogates(text) if valid is None else valid
