"""The tool ``read_result``: pages, searches and picks from results that are kept."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext
from hub.core.results import READ_RESULT
from hub.core.text import cut_middle, one_line
from hub.results import matching
from hub.results.paths import BadPath, is_single, select
from hub.results.preview import cut_json, kind_of, parsed
from hub.results.shelf import TreeShelf
from hub.results.store import Missing

DEFAULT_LIMIT = 10_000
"""Characters that one call gives unless it says otherwise."""
MOST_MATCHES = 100
PATTERN_SECONDS = 5
"""Wall time that a regular expression may take; its process has less CPU time than this."""
LONGEST_PATTERN = 1_000

_SPEC = ToolSpec(
    READ_RESULT,
    "Read a result that was too large to show. Without more than a handle it gives the beginning; "
    "go on with offset or line. grep lists matching lines; path picks from JSON, and can be "
    "combined with the others.",
    {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "such as res_0123456789abcdef"},
            "path": {
                "type": "string",
                "description": "JSON Path without filters: $.items[0:5].name, $..id, $['a b'][*]",
            },
            "grep": {"type": "string", "description": "text to find, whatever its case"},
            "regex": {"type": "boolean", "description": "grep is a regular expression"},
            "line": {"type": "integer", "minimum": 1, "description": "first line"},
            "offset": {"type": "integer", "minimum": 0, "description": "first character, from 0"},
            "limit": {"type": "integer", "minimum": 1, "description": "characters to give"},
        },
        "required": ["handle"],
        "additionalProperties": False,
    },
    read_only=True,
    concurrency_safe=True,
)


class _Unreadable(Exception):
    """A call that gives nothing; the message is for the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ReadResultTool:
    """Reads what is on the shelf of a session tree."""

    def __init__(self, shelf: TreeShelf) -> None:
        self._shelf = shelf
        self.spec = _SPEC
        """How it is offered."""

    async def call(self, arguments: dict[str, Any], _context: CallContext) -> ToolOutcome:
        """Give a part of a kept result; never more than is shown of any result."""
        most = self._shelf.budget.inline - 500
        limit = min(int(arguments.get("limit") or DEFAULT_LIMIT), most)
        try:
            text, note = await anyio.to_thread.run_sync(self._source, arguments, limit)
            if grep := str(arguments.get("grep") or ""):
                found = await _found(grep, text, regex=bool(arguments.get("regex")))
                return ToolOutcome(note + _listed(found, limit))
        except (_Unreadable, Missing, BadPath) as error:
            return ToolOutcome(error.message, is_error=True, kind="unreadable_result")
        if arguments.get("path") and not ("offset" in arguments or "line" in arguments):
            return ToolOutcome(note + text)
        return ToolOutcome(note + _page(text, arguments, limit))

    def _source(self, arguments: dict[str, Any], limit: int) -> tuple[str, str]:
        """Return the text to read from, and what is to be said before it."""
        handle = str(arguments["handle"]).strip()
        entry = self._shelf.find(handle)
        if entry is None:
            raise _Unreadable(
                f"There is no result {one_line(repr(handle), 60)} in this session; "
                "take a handle from a result that was cut."
            )
        if not entry.media_type.startswith("text/") and entry.media_type != "application/json":
            raise _Unreadable(
                f"The {entry.part} is {entry.media_type}, {entry.size:,} bytes; it is no text."
            )
        text = self._shelf.read(entry).decode("utf-8", "replace")
        if not (path := str(arguments.get("path") or "")):
            return text, ""
        value = parsed(text)
        if value is None:
            raise _Unreadable("The result is no JSON; read it by line or offset, or use grep.")
        return _picked(value, path, limit, whole=bool({"offset", "line", "grep"} & {*arguments}))


def _picked(value: Any, path: str, limit: int, *, whole: bool) -> tuple[str, str]:
    found = select(value, path)
    if not found:
        raise _Unreadable(f"Nothing is at {one_line(path, 200)}; the result is {kind_of(value)}.")
    picked = found[0] if is_single(path) else found
    text = json.dumps(picked, ensure_ascii=False, indent=1)
    if whole or len(text) <= limit:
        return text, ""
    compact = json.dumps(picked, ensure_ascii=False)
    if len(compact) <= limit:
        return compact, ""
    cut = json.dumps(cut_json(picked, limit - 200), ensure_ascii=False)
    note = f"[{kind_of(picked)}, cut; narrow the path, or add offset, line or grep]\n"
    return cut, note


async def _found(pattern: str, text: str, *, regex: bool) -> dict[str, Any]:
    """Find lines: a plain text here, a regular expression in a process that can be ended."""
    if len(pattern) > LONGEST_PATTERN:
        raise _Unreadable(f"The pattern is longer than {LONGEST_PATTERN} characters.")
    if not regex:
        plain = re.compile(re.escape(pattern), re.IGNORECASE)
        return await anyio.to_thread.run_sync(matching.find, plain, text, MOST_MATCHES)
    program = [sys.executable, "-I", "-S", str(Path(matching.__file__)), pattern, str(MOST_MATCHES)]
    output = b""
    with anyio.move_on_after(PATTERN_SECONDS):
        done = await anyio.run_process(program, input=text.encode(), check=False)
        output = done.stdout if done.returncode == 0 else b""
    if not output:
        raise _Unreadable(
            "The regular expression takes too long on this result; make it simpler, or search for "
            "a plain text."
        )
    found: dict[str, Any] = json.loads(output)
    if "error" in found:
        raise _Unreadable(f"The regular expression cannot be used: {found['error']}.")
    return found


def _listed(found: dict[str, Any], limit: int) -> str:
    count, used = found["count"], 0
    lines: list[str] = []
    for match in found["shown"]:
        line = f"{match['line']} (offset {match['offset']}): {match['text']}"
        used += len(line) + 1
        if used > limit and lines:
            break
        lines.append(cut_middle(line, limit))
    head = f"[{count:,} matching lines"
    head += f", the first {len(lines)} shown]" if len(lines) < count else "]"
    return "\n".join([head, *lines])


def _page(text: str, arguments: dict[str, Any], limit: int) -> str:
    start = int(arguments.get("offset") or 0)
    if line := int(arguments.get("line") or 0):
        start = _start_of(text, line)
    if start >= len(text):
        lines = text.count("\n") + 1
        return f"[nothing is there: the result has {len(text):,} characters in {lines:,} lines]"
    end = min(start + limit, len(text))
    if end < len(text) and (newline := text.rfind("\n", start + limit // 2, end)) > 0:
        end = newline + 1
    first = text.count("\n", 0, start) + 1
    last = first + text.count("\n", start, max(end - 1, start))
    head = f"[characters {start:,} to {end:,} of {len(text):,}, lines {first:,} to {last:,}"
    head += f"; go on with offset {end}]" if end < len(text) else "; this is the end]"
    return f"{head}\n{text[start:end]}"


def _start_of(text: str, line: int) -> int:
    position = 0
    for _ in range(line - 1):
        found = text.find("\n", position)
        if found < 0:
            return len(text)
        position = found + 1
    return position
