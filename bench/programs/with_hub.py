"""The hub as a library: one prompt, every event consumed, all of it stored in SQLite.

With ``lines`` as a fourth argument, each event also goes to the plain view of the command line.
With ``twice`` there is a prompt before the one that is measured.
"""

import os
import sys
from pathlib import Path

import anyio

from bench.programs.work import Meter, given
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.cli.garbage import keep_imports, put_off, settle
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
        settle()
        if view is not None:
            beside.start_soon(view.run)
        if sys.argv[4:] == ["twice"]:
            async with hub.ask("Get ready.") as events:
                async for event in events:
                    if event.type == "server.connected":
                        keep_imports()
        meter = Meter()
        async with hub.ask("Do the benchmark.", final=True) as events:
            async for event in events:
                if event.type == "server.connected":
                    keep_imports()
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
    put_off()  # with settle(), as the command line does
    anyio.run(main)
