"""The tool `memory`: markdown files in ``.hub/memory`` of a folder, kept between sessions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_servers.answers import fitting, notes
from hub_servers.errors import ToolError
from hub_servers.paths import Place, Root, about, shown
from hub_servers.storage import FileStore
from hub_servers.textfiles import decode, encode
from hub_servers.tooling import Call, Reply, Tool, schema

FOLDER = ".hub/memory"
"""Where the files are, below the root."""
MAX_CHARS = 20_000
"""The largest memory."""
MAX_FILES = 500
"""How many memories there may be."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ACTIONS = ["list", "show", "add", "edit", "rm", "search"]


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """Runs the tool on one root."""

    root: Root
    """The folder whose memory it is."""
    store: FileStore
    """Reads and changes the files."""

    def tools(self) -> list[Tool]:
        """Return the tool."""
        text = {"type": "string"}
        return [
            Tool(
                "memory",
                "Notes kept between sessions, by name. add appends; edit puts text in place of "
                "old, or of all; search finds text",
                schema(
                    ["action"],
                    action={"type": "string", "enum": _ACTIONS},
                    name=text,
                    text=text,
                    old=text,
                ),
                self.memory,
                destructive=True,
            )
        ]

    async def memory(self, call: Call) -> Reply:
        """Run one action."""
        given = call.arguments
        match given["action"]:
            case "list":
                return await self._list()
            case "search":
                return await self._search(_needed(given, "text"))
        place = self._place(_needed(given, "name"))
        with about(place.name):
            match given["action"]:
                case "show":
                    text = await self._text(place)
                    return Reply(text, {"name": place.path.stem, "text": text})
                case "add":
                    return await self._add(place, _needed(given, "text"))
                case "edit":
                    return await self._edit(place, given.get("old"), _needed(given, "text"))
                case _:
                    place.path.unlink()
                    return _done("removed", place)

    async def _list(self) -> Reply:
        lines, rows = [], []
        for place in self._all():
            text = await self._text(place)
            title = next((line.strip("# ") for line in text.split("\n") if line.strip("# ")), "")
            lines.append(f"{shown(place.path.stem)}: {title[:100]} ({len(text)} characters)")
            rows.append({"name": shown(place.path.stem), "title": title[:100]})
        text, left_out = fitting(lines)
        body = [text if rows else "no memories", *notes(left_out, "memories; use search")]
        return Reply("\n".join(body), {"memories": rows[: len(rows) - left_out]})

    async def _search(self, wanted: str) -> Reply:
        words = wanted.casefold().split()
        lines, rows = [], []
        for place in self._all():
            for number, line in enumerate((await self._text(place)).split("\n"), 1):
                folded = line.casefold()
                if all(word in folded for word in words):
                    name = shown(place.path.stem)
                    lines.append(f"{name}:{number}:{line}")
                    rows.append({"name": name, "line": number, "text": line})
        text, left_out = fitting(lines)
        body = [text if rows else "no line matches", *notes(left_out, "lines; add words")]
        return Reply("\n".join(body), {"matches": rows[: len(rows) - left_out]})

    async def _add(self, place: Place, text: str) -> Reply:
        data = encode(_bounded(text.rstrip("\n") + "\n"))
        if not place.path.exists():
            if sum(1 for _ in self._all()) >= MAX_FILES:
                raise ToolError(f"there are {MAX_FILES} memories already; remove some first")
            try:
                await self.store.create(place.path, data)
            except FileExistsError:
                pass
            else:
                return _done("added", place)

        def append(old: bytes) -> bytes:
            content = decode(old, place.name)
            before = content.text.rstrip("\n")
            joined = f"{before}\n\n{data.decode()}" if before else data.decode()
            return encode(_bounded(joined), content)

        await self.store.change(place.path, append)
        return _done("added to", place)

    async def _edit(self, place: Place, old: str | None, text: str) -> Reply:
        def replace(data: bytes) -> bytes:
            content = decode(data, place.name)
            if old is None:
                return encode(_bounded(text.rstrip("\n") + "\n"), content)
            count = content.text.count(old) if old else 0
            if count != 1:
                raise ToolError(f"old was found {count} times in {place.path.stem}, not once")
            return encode(_bounded(content.text.replace(old, text)), content)

        await self.store.change(place.path, replace)
        return _done("edited", place)

    async def _text(self, place: Place) -> str:
        with about(place.name):
            return decode(await self.store.read(place.path), place.name).text

    def _all(self) -> Iterator[Place]:
        folder = self.root.place(FOLDER).path
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else []:
            if path.is_file():
                yield self.root.place(str(path))

    def _place(self, name: str) -> Place:
        stem = name.removesuffix(".md")
        if not _NAME.fullmatch(stem):
            raise ToolError(
                f"name {name!r:.80} is not usable: letters, digits, '_', '-' and '.', at most 64"
            )
        return self.root.place(str(Path(FOLDER) / f"{stem}.md"))


def _needed(given: dict[str, Any], key: str) -> str:
    value: str = given.get(key, "")
    if not value.strip():
        raise ToolError(f"memory {given['action']} needs '{key}'")
    return value


def _bounded(text: str) -> str:
    if len(text) > MAX_CHARS:
        raise ToolError(
            f"the memory would have {len(text)} characters, the limit is {MAX_CHARS}; "
            f"shorten it or begin another one"
        )
    return text


def _done(verb: str, place: Place) -> Reply:
    return Reply(f"{verb} {place.path.stem}", {"name": place.path.stem, "path": place.name})
