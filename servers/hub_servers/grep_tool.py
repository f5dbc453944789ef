"""The tool `grep`.

A simple search begins in a worker thread and moves to a process of its own when it turns out
long; any other search starts there, so that it can be killed (see `searching`).
"""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

import anyio

from hub_servers.answers import fitting, notes
from hub_servers.errors import ToolError
from hub_servers.find_tools import bounded, existing, in_thread
from hub_servers.globbing import Glob
from hub_servers.paths import Root
from hub_servers.reaper import send
from hub_servers.searching import Line, Query, Totals, command_line, compiled, is_simple, search
from hub_servers.tooling import Call, Reply, Tool, schema
from hub_servers.walking import Budget, ScanStopped

MAX_HITS = 1000
"""How many matching lines `grep` shows at most."""
SEARCH_SECONDS = 20.0
"""How long a search may take before it is killed."""
_THREAD_SECONDS = 0.3
_THREAD_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class GrepTool:
    """Runs the tool on one root."""

    root: Root
    """The folder that nothing leaves."""

    def tools(self) -> list[Tool]:
        """Return the tool."""
        text = {"type": "string"}
        number = {"type": "integer"}
        given = schema(
            ["pattern"],
            pattern=text,
            path=text,
            glob=text,
            context=number,
            ignore_case={"type": "boolean"},
            limit=number,
        )
        about_it = (
            "Search the lines of files by Python regex. glob: which files; context: lines around"
        )
        return [Tool("grep", about_it, given, self.grep, read_only=True, idempotent=True)]

    async def grep(self, call: Call) -> Reply:
        """Search the lines of files."""
        given = call.arguments
        place = existing(self.root, given.get("path", "."))
        query = Query(
            root=str(self.root.path),
            base=str(place.path),
            pattern=given["pattern"],
            glob=given.get("glob"),
            context=bounded(given.get("context", 0), "context", 0, 50),
            ignore_case=given.get("ignore_case", False),
            limit=bounded(given.get("limit", 100), "limit", 1, MAX_HITS),
        )
        compiled(query)
        if query.glob is not None:
            Glob.parse(query.glob)
        lines, totals = await _search(query)
        return _answer(lines, totals, context=query.context > 0)


async def _search(query: Query) -> tuple[list[Line], Totals]:
    if is_simple(query.pattern):
        budget = Budget.of(_THREAD_SECONDS)
        try:
            return await in_thread(partial(_search_here, query, budget), budget)
        except ScanStopped:
            pass
    received, timed_out = await _search_elsewhere(query)
    rows = [json.loads(row) for row in received.splitlines(keepends=True) if row[-1:] == b"\n"]
    if rows and isinstance(rows[-1], dict):
        totals = Totals(**rows.pop())
    elif timed_out:
        totals = Totals(files=len({row[0] for row in rows}), stopped=True)
    else:
        raise ToolError("grep: the search process ended early; narrow the pattern or the path")
    return [Line(*row) for row in rows], totals


def _search_here(query: Query, budget: Budget) -> tuple[list[Line], Totals]:
    totals = Totals()
    lines = list(search(query, budget, totals, stop_at_bytes=_THREAD_FILE_BYTES))
    return lines, totals


async def _search_elsewhere(query: Query) -> tuple[bytes, bool]:
    """Search in another process; return what it wrote, and whether it had to be killed."""
    process = await anyio.open_process(
        command_line(), env={}, cwd="/", stderr=subprocess.DEVNULL, start_new_session=True
    )
    request = json.dumps({"query": asdict(query), "seconds": SEARCH_SECONDS * 0.9})
    received = bytearray()
    try:
        with anyio.move_on_after(SEARCH_SECONDS) as scope:
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdin.send(request.encode())
            await process.stdin.aclose()
            async for part in process.stdout:
                received += part
            await process.wait()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise ToolError("grep: the search process did not start; try again") from error
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                # Not `process.kill`: it may take the exit status away from asyncio's watcher.
                send(process.pid, signal.SIGKILL)
            await process.aclose()
    return bytes(received), scope.cancelled_caught


def _answer(lines: Sequence[Line], totals: Totals, *, context: bool) -> Reply:
    rendered: list[str] = []
    before: Line | None = None
    for line in lines:
        apart = before is None or (before.path, before.line + 1) != (line.path, line.line)
        gap = "--\n" if context and apart and before is not None else ""
        mark = ":" if line.hit else "-"
        rendered.append(f"{gap}{line.path}{mark}{line.line}{mark}{line.text}")
        before = line
    text, left_out = fitting(rendered)
    kept, dropped = lines[: len(lines) - left_out], lines[len(lines) - left_out :]
    more = totals.more + sum(line.hit for line in dropped)
    body = [text] if kept else ["no line matches"]
    body += notes(more, "matching lines; narrow the pattern or the path", stopped=totals.stopped)
    if totals.too_large:
        body.append(f"[{totals.too_large} files were too large to search]")
    data = {"matches": [_row(line) for line in kept], "more": more, "files": totals.files}
    return Reply("\n".join(body), data)


def _row(line: Line) -> dict[str, str | int | bool]:
    row: dict[str, str | int | bool] = {"path": line.path, "line": line.line, "text": line.text}
    return row if line.hit else row | {"context": True}
