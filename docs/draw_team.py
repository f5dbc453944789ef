"""Draws docs/images/team.svg: the live tree of a real run of the survey team on this folder.

Usage: python docs/draw_team.py [FOLDER]
"""

import io
import os
import re
import sys
import tempfile
from pathlib import Path

import anyio
from rich.console import Console
from rich.text import Text

from hub import RunOptions, open_hub
from hub.cli.agents import RunAgents
from hub.cli.picture import picture
from hub.core.events import AnyEvent

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "docs" / "images" / "team.svg"
WIDTH = 96
TASK = "Survey this folder"


async def events_of_a_run(folder: Path) -> tuple[list[AnyEvent], str]:
    """Run the team and return all that happened, and the answer."""
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "HUB_STATE_DIR": state, "XDG_CONFIG_HOME": state}
        options = RunOptions(workspace=folder, team=ROOT / "examples" / "survey", env=environment)
        async with open_hub(options) as hub, hub.ask(TASK, final=True) as stream:
            events = [event async for event in stream]
        return events, stream.result.text


def drawn(events: list[AnyEvent], answer: str) -> str:
    """Return the SVG: the tree while both children work, and the beginning of the answer."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text(f'$ hub run "{TASK}" --team examples/survey', style="bold"))
    busy = [at for at, event in enumerate(events) if event.type == "tool.call"]
    middle = next(
        at for at in busy if events[at].agent.endswith("census#1") and at > busy[len(busy) // 3]
    )
    for count in (middle + 1, len(events)):
        agents = RunAgents()
        for event in events[:count]:
            agents.apply(event)
        for line in picture(agents, events[count - 1].at, width=WIDTH, height=20):
            console.print(line)
        console.print()
    for line in answer.splitlines()[:8]:
        console.print(Text(line))
    svg = console.export_svg(title="hub", unique_id="hub-team")
    without_web_fonts = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return without_web_fonts.replace("Fira Code, monospace", "Fira Code, Menlo, monospace")


def main() -> None:
    """Run, draw, write."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT)
    events, answer = anyio.run(events_of_a_run, folder)
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    IMAGE.write_text(drawn(events, answer), encoding="utf-8")
    print(f"wrote {IMAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
