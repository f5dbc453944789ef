"""``hub run``: one task, one result."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.hub import Hub
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.cli.asker import asker_on_terminal
from hub.cli.elicitation import elicitor_on_terminal
from hub.cli.examples import examples
from hub.cli.faults import remember_debug
from hub.cli.garbage import settle
from hub.cli.options import StrictMcp
from hub.cli.outlet import Outlet
from hub.cli.results import Format, ResultWriter
from hub.cli.running import Faces, run_task
from hub.cli.task import given_task
from hub.cli.views import view_on_stderr
from hub.core.team import PermissionMode

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=examples(
        'hub run "Find the slowest test and say why"',
        'git diff | hub run "Review this change" --output json',
        'hub run -C ../site --model script:demo.yaml "Survey this folder"',
        'hub run --resume s-01k3 "Go on" --max-steps 20',
    )
)
def run(
    *,
    task: Annotated[
        str | None,
        typer.Argument(
            help="What the team is to do; - reads it from stdin, else piped text is added to it."
        ),
    ] = None,
    role: Annotated[str | None, typer.Option(help="Who takes the task.")] = None,
    model: Annotated[
        str | None, typer.Option(help="A model, an entry of models:, or script:FILE.")
    ] = None,
    mode: Annotated[
        PermissionMode | None, typer.Option(help="The widest permission mode for all agents.")
    ] = None,
    output: Annotated[Format, typer.Option(help="What stdout gets.")] = "text",
    include_deltas: Annotated[
        bool, typer.Option("--include-deltas", help="Let stream-json hold text as it streams in.")
    ] = False,
    directory: Annotated[
        Path, typer.Option("-C", "--dir", help="The folder to work on.", metavar="DIR")
    ] = Path(),
    team: Annotated[
        Path | None,
        typer.Option(help="A folder with roles/ and config.yaml to use.", metavar="DIR"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting, such as limits.depth=1.", metavar="KEY=VALUE"),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="Model requests of each agent.", metavar="N")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens of the whole tree.", metavar="N")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(help="US dollars of the whole tree.", metavar="USD")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that the run may take.", metavar="SECONDS")
    ] = None,
    strict_mcp: StrictMcp = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse to run when anything is withheld.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(help="Go on with a stored session.", metavar="ID")
    ] = None,
    fork: Annotated[
        str | None, typer.Option(help="Go on with a copy of a stored session.", metavar="ID")
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks.", callback=remember_debug)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run a team on a task and print what it found."""
    view = view_on_stderr(quiet=quiet, json_on_terminal=output == "stream-json" and os.isatty(1))
    limits = {
        "limits.steps": max_steps,
        "limits.tokens": max_tokens,
        "limits.usd": max_usd,
        "limits.seconds": timeout,
    }
    asker = asker_on_terminal(view)
    options = RunOptions(
        workspace=directory,
        role=role,
        model=model,
        mode=mode,
        flags=limits,
        assignments=settings or (),
        team=team,
        strict_mcp_config=strict_mcp,
        strict=strict,
        resume=resume,
        fork=fork,
        asker=asker,
        elicitor=elicitor_on_terminal(view, asker),
    )
    given = given_task(task, lambda text: print(f"warning: {text}", file=sys.stderr))
    faces = Faces(view, ResultWriter(output, deltas=include_deltas), Outlet(1))
    raise typer.Exit(anyio.run(run_task, _settled_hub, options, given, faces))


@asynccontextmanager
async def _settled_hub(options: RunOptions) -> AsyncIterator[Hub]:
    async with open_hub(options) as hub:
        settle()
        yield hub
