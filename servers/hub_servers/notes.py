"""The MCP server `notes`: memory between sessions, a scratchpad, and a to-do list.

Memory lives in markdown files of the folder. The scratchpad and the to-do list belong to one
instance of the server; with a state folder they are kept there and outlive it. No file or folder
exists before something is written to it.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server import Server

from hub_servers.errors import ToolError
from hub_servers.memory import MemoryTool
from hub_servers.paths import Root
from hub_servers.storage import FileStore
from hub_servers.tooling import (
    Call,
    Reply,
    Tool,
    argument_parser,
    build_server,
    schema,
    serve_stdio,
)

MAX_SCRATCHPAD = 50_000
"""How many characters the scratchpad holds."""
MAX_ITEMS = 200
"""How many items the to-do list holds."""
MAX_ITEM_CHARS = 500
"""How long one item may be."""
_MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]"}


@dataclass(slots=True)
class Kept:
    """A value that is read once and, if there is a file for it, written there with mode 0600."""

    file: Path | None
    """Where it is kept; None for nowhere."""
    empty: Any
    """The value before anything was written."""
    is_valid: Callable[[Any], bool]
    """Whether what the file holds is such a value."""
    _value: Any = field(default=None, init=False)

    def get(self) -> Any:
        """Return the value.

        Raises:
            ToolError: the file holds something else.
        """
        if self._value is None:
            self._value = self.empty
            if self.file is not None and self.file.exists():
                self._value = self._read(self.file)
        return self._value

    def set(self, value: Any) -> None:
        """Keep a new value."""
        self._value = value
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = self.file.with_suffix(".tmp")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
                json.dump(value, file)
            temporary.replace(self.file)

    def _read(self, file: Path) -> Any:
        try:
            value = json.loads(file.read_text("utf-8"))
        except ValueError:
            value = None
        if not self.is_valid(value):
            raise ToolError(f"'{file}' is damaged; remove it, or write anew")
        return value


@dataclass(frozen=True, slots=True)
class NoteTools:
    """Runs `scratchpad` and `todo`."""

    scratchpad: Kept
    """The text of the scratchpad."""
    items: Kept
    """The to-do list."""

    def tools(self) -> list[Tool]:
        """Return the tools."""
        text = {"type": "string"}
        item = schema(
            ["text", "status"], text=text, status={"type": "string", "enum": list(_MARKS)}
        )
        return [
            Tool(
                "scratchpad",
                "Your working notes, for this session only",
                schema(["action"], action=_one_of("show", "write", "append", "clear"), text=text),
                self.scratch,
            ),
            Tool(
                "todo",
                "Your task list. write replaces the whole list",
                schema(
                    ["action"],
                    action=_one_of("show", "write"),
                    items={"type": "array", "items": item},
                ),
                self.todo,
                idempotent=True,
            ),
        ]

    async def scratch(self, call: Call) -> Reply:
        """Show or change the scratchpad."""
        action, text = call.arguments["action"], call.arguments.get("text")
        if action in {"write", "append"}:
            if text is None:
                raise ToolError(f"scratchpad {action} needs 'text'")
            before = self.scratchpad.get() if action == "append" else ""
            joined = f"{before}\n{text}" if before else text
            if len(joined) > MAX_SCRATCHPAD:
                raise ToolError(
                    f"the scratchpad would have {len(joined)} characters, "
                    f"the limit is {MAX_SCRATCHPAD}; write a shorter one"
                )
            self.scratchpad.set(joined)
            return Reply(f"kept {len(joined)} characters", {"characters": len(joined)})
        if action == "clear":
            self.scratchpad.set("")
            return Reply("cleared", {"characters": 0})
        kept = self.scratchpad.get()
        return Reply(kept or "the scratchpad is empty", {"text": kept})

    async def todo(self, call: Call) -> Reply:
        """Show or replace the to-do list."""
        if call.arguments["action"] == "write":
            if "items" not in call.arguments:
                raise ToolError("todo write needs 'items', the whole list")
            self.items.set(_checked_items(call.arguments["items"]))
        items: list[dict[str, str]] = self.items.get()
        lines = [f"{_MARKS[item['status']]} {item['text']}" for item in items]
        return Reply("\n".join(lines) or "the list is empty", {"items": items})


def create_server(root: Path, *, state: Path | None = None) -> Server[Any]:
    """Return the server for one folder; ``state`` is where scratchpad and to-do list are kept.

    Raises:
        NotADirectoryError: ``root`` is not a folder that exists.
    """
    memory = MemoryTool(Root.at(root), FileStore())
    scratchpad = Kept(None if state is None else state / "scratchpad.json", "", _is_text)
    items = Kept(None if state is None else state / "todo.json", [], _is_list)
    return build_server("notes", memory.tools() + NoteTools(scratchpad, items).tools())


def main(argv: Sequence[str] | None = None) -> None:
    """Serve over stdio; a wrong option ends with exit code 2."""
    parser = argument_parser("hub-server-notes", "Keeps memory, a scratchpad and a to-do list.")
    parser.add_argument(
        "--state",
        metavar="DIR",
        type=Path,
        help="keep scratchpad and to-do list in this folder (default: only while it runs)",
    )
    options = parser.parse_args(argv)
    if options.state is not None and options.state.exists() and not options.state.is_dir():
        parser.error(f"--state: '{options.state}' is not a folder")
    try:
        server = create_server(options.root, state=options.state)
    except NotADirectoryError as error:
        parser.error(f"--root: {error}")
    serve_stdio(server)


def _one_of(*choices: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices)}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and isinstance(item.get("text"), str)
        and item.get("status") in _MARKS
        for item in value
    )


def _checked_items(items: list[dict[str, str]]) -> list[dict[str, str]]:
    if len(items) > MAX_ITEMS:
        raise ToolError(f"the list has {len(items)} items, the limit is {MAX_ITEMS}")
    for number, item in enumerate(items, 1):
        text = " ".join(item["text"].split())
        if not text or len(text) > MAX_ITEM_CHARS:
            raise ToolError(
                f"item {number} has {len(text)} characters; it must have 1 to {MAX_ITEM_CHARS}"
            )
    return [{"text": " ".join(item["text"].split()), "status": item["status"]} for item in items]


if __name__ == "__main__":
    main()
