"""How a scripted answer misbehaves on the wire: read here, played by the model server."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hub.models.script.entry import Entry

WIRE_KEYS = (
    *("fault", "stall", "close", "chunks", "raw", "deltas", "delta_size", "batch"),
    *("comments", "crlf", "done", "content_type", "framing"),
)
_FAULT_KEYS = ("status", "headers", "body", "times")
_STALL_KEYS = ("after", "name", "seconds", "keep_alive")
_CLOSE_KEYS = ("after", "bytes")


class Fault(Struct, frozen=True):
    """A status in place of the answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """A text, or data that goes out as JSON; None for an ordinary error object."""
    times: int | None = None
    """How often, at each place of a conversation; None for always."""


class Stall(Struct, frozen=True):
    """A pause until it is released, or the time is over."""

    after: int | None = None
    """So many events come before it; None for a pause before the first byte."""
    name: str = ""
    """What it is released by."""
    seconds: float | None = None
    """It ends by itself after so long; None for never."""
    keep_alive: float | None = None
    """Seconds between comments while it lasts; None for silence."""


class Cut(Struct, frozen=True):
    """The connection is cut."""

    after: int = 0
    """So many events come before it."""
    bytes: int = 0
    """So many bytes of the next event as well."""


class Wire(Struct, frozen=True):
    """What an answer does on the wire beside what it says."""

    fault: Fault | None = None
    stall: Stall | None = None
    close: Cut | None = None
    chunks: tuple[Any, ...] | None = None
    """Objects that are sent as events in place of the answer's own."""
    raw: tuple[bytes, ...] | None = None
    """Bytes that are sent in place of the answer, each part in a write of its own."""
    deltas: int = 0
    """So many deltas of one token before the text."""
    delta_size: int | None = None
    """Characters of text or arguments in one delta."""
    batch: int | None = None
    """Events in one write."""
    comments: int = 0
    """Keep-alive comments before each event."""
    crlf: bool = False
    done: bool = True
    """``[DONE]`` ends the stream."""
    content_type: str | None = ""
    """Empty for the usual one, None for no such header."""
    until_closed: bool = False
    """The body has no framing and ends with the connection."""


def wire_of(turn: Entry) -> Wire | None:
    """Read what stands under ``wire``; None when there is nothing.

    Raises:
        ScriptFileError: naming the line of the first fault.
    """
    if not turn.get("wire"):
        if turn.get("wire") not in (None, {}):
            raise turn.wrong("wire", "a mapping")
        return None
    given = turn.entry("wire", WIRE_KEYS)
    return Wire(
        fault=_fault(given.entry("fault", _FAULT_KEYS)) if "fault" in given else None,
        stall=_stall(given.entry("stall", _STALL_KEYS)) if "stall" in given else None,
        close=_cut(given.entry("close", _CLOSE_KEYS)) if "close" in given else None,
        chunks=tuple(given.items("chunks")) if "chunks" in given else None,
        raw=_raw(given) if "raw" in given else None,
        deltas=given.number("deltas") or 0,
        delta_size=given.number("delta_size", least=1),
        batch=given.number("batch", least=1),
        comments=given.number("comments") or 0,
        crlf=given.flag("crlf") or False,
        done=given.flag("done") is not False,
        content_type=given.text("content_type") if "content_type" in given else "",
        until_closed=given.choice("framing", ("chunked", "close")) == "close",
    )


def _fault(given: Entry) -> Fault:
    status = given.number("status", least=100)
    if status is None or status > 599:
        raise given.fault("a fault needs a status from 100 to 599", "status", "Write: status: 503")
    headers = given.entry("headers", what="headers of fault")
    return Fault(
        status=status,
        headers={str(name): headers.text(name) or "" for name in headers.data},
        body=given.get("body"),
        times=given.number("times", least=1),
    )


def _stall(given: Entry) -> Stall:
    after = None if given.get("after", "request") == "request" else given.number("after")
    keep_alive = given.seconds("keep_alive")
    if keep_alive is not None and (after is None or keep_alive <= 0):
        raise given.fault("keep_alive needs seconds and an 'after' that is a number", "keep_alive")
    return Stall(after, given.text("name") or "", given.seconds("seconds"), keep_alive)


def _cut(given: Entry) -> Cut:
    return Cut(given.number("after") or 0, given.number("bytes") or 0)


def _raw(given: Entry) -> tuple[bytes, ...]:
    parts = []
    for part in given.items("raw"):
        if isinstance(part, Mapping) and isinstance(part.get("hex"), str) and len(part) == 1:
            try:
                parts.append(bytes.fromhex(part["hex"]))
            except ValueError:
                raise given.fault(f"{part['hex']!r} is not hexadecimal", "raw") from None
        elif isinstance(part, str):
            parts.append(part.encode("utf-8", "surrogatepass"))
        else:
            raise given.fault(
                "each part of raw is a text or {hex: …}", "raw", 'Write for example: {hex: "f09f"}'
            )
    return tuple(parts)
