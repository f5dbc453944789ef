"""The hub as a library: one prompt, every event consumed, all of it stored in SQLite.

A fourth argument, ``lines``, also gives each event to the plain view of the command line.
"""

import os
import sys
from pathlib import Path

import anyio

from bench.programs.work import Meter, given
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.cli.views import LinesView

TEAM = Path(__file__).with_name("team")


async def main() -> None:
    base_url, model, folder = given()
    os.environ["OPENAI_BASE_URL"] = base_url
    view = LinesView() if sys.argv[4:] == ["lines"] else None
    reports = 0
    async with (
        anyio.create_task_group() as beside,
        open_hub(RunOptions(workspace=folder, model=model, team=TEAM)) as hub,
    ):
        if view is not None:
            beside.start_soon(view.run)
        meter = Meter()
        async with hub.ask("Do the benchmark.", final=True) as events:
            async for event in events:
                if view is not None:
                    view.show(event)
                if event.type == "job.done":
                    reports += event.outcome == "done"
        if view is not None:
            await view.drained()
        result = events.result
        meter.tell(reports=reports, characters=len(result.text), outcome=result.outcome)
        beside.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
