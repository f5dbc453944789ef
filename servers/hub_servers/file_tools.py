"""The tools that read and change one file: `read`, `write` and `edit`.

Every answer names the *version* of a file, 12 hex digits of the SHA-256 of its bytes. A file that
exists is written only by a caller who knows its current version, so nobody overwrites what they
have not seen. `read` shows lines as they are, without numbers: what it shows can be used as `old`.
"""

import functools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio.to_thread

from hub_servers.errors import ToolError
from hub_servers.paths import Place, Root, about
from hub_servers.storage import INLINE_BYTES, FileStore
from hub_servers.textfiles import Text, decode, encode, version_of
from hub_servers.tooling import Call, Reply, Tool, schema

READ_CHARS = 40_000
"""How many characters of a file one `read` shows."""
MAX_LINES_NAMED = 100
"""How many line numbers the answer of an `edit` holds."""


@dataclass(frozen=True, slots=True)
class FileTools:
    """Runs the three tools on one root."""

    root: Root
    """The folder that nothing leaves."""
    store: FileStore
    """Reads and changes the files."""

    def tools(self) -> list[Tool]:
        """Return the tools."""
        text = {"type": "string"}
        number = {"type": "integer"}
        flag = {"type": "boolean"}
        return [
            Tool(
                "read",
                "Read a text file; also returns its version. offset: first line (from 1)",
                schema(["path"], path=text, offset=number, limit=number),
                self.read,
                read_only=True,
                idempotent=True,
            ),
            Tool(
                "write",
                "Create a file, or replace all of one, which needs the version that read returned",
                schema(["path", "content"], path=text, content=text, version=text),
                self.write,
                destructive=True,
                idempotent=True,
            ),
            Tool(
                "edit",
                "Replace text in a file. old must match exactly and once, or set all",
                schema(
                    ["path", "old", "new"], path=text, old=text, new=text, all=flag, version=text
                ),
                self.edit,
                destructive=True,
            ),
        ]

    async def read(self, call: Call) -> Reply:
        """Show lines of a text file and its version."""
        place = self.root.place(call.arguments["path"])
        first = _at_least_one(call.arguments.get("offset", 1), "offset")
        limit = _at_least_one(call.arguments.get("limit", sys.maxsize), "limit")
        with about(place.name):
            data = await self.store.read(place.path)
        page = functools.partial(_page, place, data, first, limit)
        return page() if len(data) <= INLINE_BYTES else await anyio.to_thread.run_sync(page)

    async def write(self, call: Call) -> Reply:
        """Create a file, or replace one whose current version the caller knows."""
        place = self.root.place(call.arguments["path"])
        content = call.arguments["content"]
        version = call.arguments.get("version")
        with about(place.name):
            if version is None:
                if place.path.exists():
                    raise ToolError(await self._exists(place))
                data = encode(content)
                try:
                    await self.store.create(place.path, data)
                except FileExistsError:
                    raise ToolError(await self._exists(place)) from None
                return _changed("created", place, data)
            if not place.path.exists():
                raise ToolError(
                    f"'{place.name}' does not exist; leave the version out to create it"
                )
            data = await self.store.change(place.path, _rewritten(place, content, version))
        return _changed("wrote", place, data)

    async def edit(self, call: Call) -> Reply:
        """Replace exact text in a file."""
        place = self.root.place(call.arguments["path"])
        replacement = _Replacement(
            place, call.arguments["old"], call.arguments["new"], call.arguments.get("all", False)
        )
        version = call.arguments.get("version")
        lines: list[int] = []

        def change(data: bytes) -> bytes:
            _require(place, data, version)
            content = decode(data, place.name)
            text, lines[:] = replacement.apply(content)
            return encode(text, content)

        with about(place.name):
            data = await self.store.change(place.path, change)
        reply = _changed("edited", place, data)
        where = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} places"
        places = {"replaced": len(lines), "lines": lines[:MAX_LINES_NAMED]}
        return Reply(f"{reply.text}, {where}", reply.data | places)

    async def _exists(self, place: Place) -> str:
        current = version_of(await self.store.read(place.path))
        return (
            f"'{place.name}' exists (version {current}); read it, then write with that version, "
            f"or use edit"
        )


@dataclass(frozen=True, slots=True)
class _Replacement:
    place: Place
    old: str
    new: str
    every: bool

    def apply(self, content: Text) -> tuple[str, list[int]]:
        """Return the new text and the lines where something was replaced."""
        old, new = (
            part.replace("\r\n", "\n") if content.crlf else part for part in (self.old, self.new)
        )
        if not old:
            raise ToolError("old is empty; to fill or replace a whole file use write")
        if old == new:
            raise ToolError("old and new are the same")
        text = content.text
        # Overlapping places count too where one is wanted: which of them is meant is not clear.
        lines = _lines_with(text, old, len(old) if self.every else 1)
        if not lines:
            raise ToolError(f"old was not found in '{self.place.name}'{_near(text, old)}")
        if len(lines) > 1 and not self.every:
            shown = ", ".join(map(str, lines[:10])) + ", …" * (len(lines) > 10)
            raise ToolError(
                f"old was found {len(lines)} times in '{self.place.name}' (lines {shown}); "
                f"add lines around it, or set all"
            )
        return text.replace(old, new), lines


def _at_least_one(value: int, name: str) -> int:
    if value < 1:
        raise ToolError(f"{name} must be 1 or more, not {value}")
    return value


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _page(place: Place, data: bytes, first: int, limit: int) -> Reply:
    """Return the lines that fit, under a head that says which they are."""
    content, version = decode(data, place.name), version_of(data)
    lines = _lines(content.text)
    if first > max(len(lines), 1):
        raise ToolError(f"offset {first} is after the end: '{place.name}' has {len(lines)} lines")
    wanted = lines[first - 1 : first - 1 + limit]
    body, shown, cut = _fitting(wanted)
    last = first + shown - 1
    notes = []
    if cut:
        notes.append(f"[line {first} goes on: {cut} more characters; use grep or a shell]")
    if last < len(lines):
        notes.append(f"[{len(lines) - last} more lines, from offset {last + 1}]")
    span = f"lines {first}-{last} of {len(lines)}" if lines else "empty"
    marks = ", CRLF" * content.crlf + ", BOM" * content.bom
    return Reply(
        "\n".join([f"[{place.name} version {version}, {span}{marks}]", body, *notes]),
        {
            "path": place.name,
            "version": version,
            "first": first,
            "last": last,
            "total": len(lines),
            "text": body,
        },
    )


def _fitting(lines: Sequence[str]) -> tuple[str, int, int]:
    """Return the text that fits, its number of lines, and the characters cut off a lone line."""
    shown, used = 0, 0
    for line in lines:
        used += len(line) + 1
        if used > READ_CHARS + 1:
            break
        shown += 1
    if lines and not shown:
        return lines[0][:READ_CHARS], 1, len(lines[0]) - READ_CHARS
    return "\n".join(lines[:shown]), shown, 0


def _rewritten(place: Place, content: str, version: str) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        _require(place, data, version)
        try:
            like = decode(data, place.name)
        except ToolError:
            like = None
        return encode(content, like)

    return change


def _require(place: Place, data: bytes, version: str | None) -> None:
    current = version_of(data)
    if version is not None and version != current:
        raise ToolError(
            f"'{place.name}' has changed: its version is {current}, not {version!r:.40}; "
            f"read it again"
        )


def _changed(verb: str, place: Place, data: bytes) -> Reply:
    version = version_of(data)
    return Reply(
        f"{verb} {place.name} ({len(data)} bytes), version {version}",
        {"path": place.name, "version": version, "bytes": len(data)},
    )


def _lines_with(text: str, old: str, step: int) -> list[int]:
    """Return the line of each place where ``old`` begins, looking on ``step`` characters later."""
    lines: list[int] = []
    line, counted = 1, 0
    at = text.find(old)
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        lines.append(line)
        at = text.find(old, at + step)
    return lines


def _near(text: str, old: str) -> str:
    """Return a hint where the text is found if white space does not count."""
    words = old.split()
    if not words or len(words) > 200:
        return "; read the file for its exact text"
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    if match is None:
        return "; read the file for its exact text"
    line = text.count("\n", 0, match.start()) + 1
    return f", but at line {line} it is there with other white space; read that for the exact text"
