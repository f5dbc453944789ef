"""A tree that is stopped while it works: when that was, and when the last process was gone.

Arguments: base URL, model, workspace, team folder, streaming agents, commands. The agents stream
and the commands sleep; once all are at it, the tree is cancelled. Prints the monotonic time of the
cancel, which every process of a machine shares, and how long the processes took to end.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio

from bench.programs.work import given
from hub.app.hub import Hub
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.app.setup import store_path
from hub.cli.garbage import put_off, settle
from hub.core.conversation import Conversation
from hub.sessions.lines import Log
from hub.sessions.store import SqliteStore

LOOK = 0.002
"""Seconds between two looks at processes."""
LIMIT = 30.0


async def main() -> None:
    base_url, model, folder = given()
    os.environ["OPENAI_BASE_URL"] = base_url
    team, streaming, commands = Path(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
    options = RunOptions(workspace=folder, model=model, team=team, mode="bypass")
    async with open_hub(options) as hub:
        settle()
        with anyio.fail_after(LIMIT):
            figures = await stopped(hub, folder, streaming, commands)
    print(json.dumps(figures))


async def stopped(hub: Hub, folder: Path, streaming: int, commands: int) -> dict[str, object]:
    busy: set[str] = set()
    async with hub.ask("Do the benchmark.") as events:
        async for event in events:
            if event.type == "text.delta" and event.agent != "lead":
                busy.add(event.agent)
            if len(busy) == streaming and len(pids(folder)) == commands:
                break
            if event.type == "tool.ruling" and len(busy) == streaming:
                while len(pids(folder)) < commands:  # noqa: ASYNC110 - other processes write
                    await anyio.sleep(LOOK)
                break
        processes = pids(folder)
        cancelled = time.monotonic()
        hub.cancel("user")
        gone = None if processes else cancelled
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                nonlocal gone
                while any(Path(f"/proc/{pid}").exists() for pid in processes):  # noqa: ASYNC110
                    await anyio.sleep(LOOK)
                gone = time.monotonic()

            group.start_soon(watch)
            async for _ in events:
                pass
    return {
        "cancelled": cancelled,
        "processes": ((gone or cancelled) - cancelled) * 1000,
        "settled": (time.monotonic() - cancelled) * 1000,
        "open_calls": sum(len(Conversation(log.events).unsettled()) for log in logs(hub)),
    }


def logs(hub: Hub) -> Iterator[Log]:
    store, waiting = SqliteStore(store_path()), [hub.session_id]
    with closing(store):
        while waiting:
            session = waiting.pop()
            yield store.read(session)
            waiting += [child.id for child in store.children(session)]


def pids(folder: Path) -> list[int]:
    path = folder / "pids"
    text = path.read_text() if path.exists() else ""
    return [int(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


if __name__ == "__main__":
    put_off()
    anyio.run(main)
