"""A team over its own folder of roles: how long each job took, and what the store cost.

Arguments: base URL, model, workspace, team folder. Prints also how much of the wall time went into
appending events to SQLite.
"""

import os
import sys
import time
from pathlib import Path

import anyio

from bench.programs.work import Meter, given
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.cli.garbage import keep_imports, put_off, settle
from hub.core.events import Event
from hub.sessions.store import SqliteStore

STORED = {"seconds": 0.0, "events": 0.0}


class Watched(SqliteStore):
    """The store, with a watch on what it takes to append."""

    def append(self, event: Event) -> None:
        """Append and count."""
        started = time.perf_counter()
        super().append(event)
        STORED["seconds"] += time.perf_counter() - started
        STORED["events"] += 1


async def main() -> None:
    base_url, model, folder = given()
    os.environ["OPENAI_BASE_URL"] = base_url
    started: dict[str, float] = {}
    took: list[float] = []
    async with open_hub(RunOptions(workspace=folder, model=model, team=Path(sys.argv[4]))) as hub:
        settle()
        async with hub.ask("Get ready.") as events:
            async for event in events:
                if event.type == "server.connected":
                    keep_imports()
        STORED.update(seconds=0.0, events=0.0)
        meter = Meter()
        async with hub.ask("Do the benchmark.", final=True) as events:
            async for event in events:
                if event.type == "job.started":
                    started[event.job] = event.at
                elif event.type == "job.done":
                    if event.outcome != "done":
                        raise RuntimeError(f"a job ended with {event.outcome}: {event.result}")
                    took.append(event.at - started[event.job])
        meter.tell(children=took, stored=STORED, outcome=events.result.outcome)


if __name__ == "__main__":
    put_off()
    # The hub opens its store by this name; the figure is about what the hub itself uses.
    import hub.app.open as opening

    opening.SqliteStore = Watched  # type: ignore[misc]
    anyio.run(main)
