"""``hub mcp call``: calls one tool."""

import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer
from anyio.abc import TaskStatus

from hub.app.faults import one_fault
from hub.app.mcp.call import STOPPED, Called, arguments_of, call_tool
from hub.cli.examples import examples
from hub.cli.layout import show
from hub.cli.mcp.asking import Person
from hub.cli.mcp.progress import Progress
from hub.cli.options import AsJson, Directory, StrictMcp
from hub.cli.results import json_line
from hub.core.outcomes import EXIT_CODES, EXIT_USAGE
from hub.core.text import one_line, printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXITS = {
    "denied": EXIT_CODES["denied"],
    "invalid_arguments": EXIT_USAGE,
    "cancelled": EXIT_CODES["cancelled"],
}


@app.command(
    epilog=examples(
        "hub mcp call time/get_current_time timezone=Europe/Berlin",
        'hub mcp call git/git_log --args \'{"repo_path": ".", "max_count": 3}\' --json',
    )
)
def call(
    tool: Annotated[str, typer.Argument(help="SERVER/TOOL, or the name that models see.")],
    pairs: Annotated[
        list[str] | None, typer.Argument(help="Arguments as key=value.", metavar="[KEY=VALUE]...")
    ] = None,
    *,
    arguments: Annotated[
        str | None, typer.Option("--args", help="All arguments as one JSON object.")
    ] = None,
    directory: Directory = Path(),
    strict_mcp: StrictMcp = None,
    as_json: AsJson = False,
) -> None:
    """Call one tool and print what it says."""
    text = arguments_of(arguments, pairs or [])
    called = anyio.run(partial(_called, directory, strict_mcp, tool, text))
    if as_json:
        show([json_line(called.as_dict()).rstrip()])
    else:
        _tell(called)
    outcome = called.outcome
    raise typer.Exit(_EXITS.get(outcome.kind, 1) if outcome.is_error else 0)


async def _called(directory: Path, strict_mcp: Path | None, tool: str, arguments: str) -> Called:
    progress, stop = Progress(live=sys.stderr.isatty()), anyio.Event()
    person = Person(progress)
    progress.show(f"calling {tool}")
    called = Called(tool, STOPPED)
    try:
        async with one_fault(), anyio.create_task_group() as group:
            await group.start(_obey, stop, group.cancel_scope)
            group.start_soon(person.run)
            called = await call_tool(
                directory,
                tool,
                arguments,
                progress=_hearing(progress),
                stop=stop,
                elicitor=person,
                strict_mcp=strict_mcp,
            )
            group.cancel_scope.cancel()
    finally:
        progress.clear()
    return called


async def _obey(
    stop: anyio.Event,
    scope: anyio.CancelScope,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Cancel the call on the first Ctrl-C, and leave at once on the second."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        async for _ in received:
            if stop.is_set():
                scope.cancel()
            stop.set()


def _hearing(progress: Progress) -> Callable[[str, float | None, float | None], None]:
    def hear(message: str, done: float | None, total: float | None) -> None:
        counted = "" if done is None else f"{done:g}" + (f"/{total:g}" if total else "")
        progress.show(" ".join(part for part in (counted, message) if part))

    return hear


def _tell(called: Called) -> None:
    """Print the text on stdout, or an error on stderr; what is odd goes to stderr as well."""
    outcome = called.outcome
    for warning in outcome.warnings:
        print(f"warning: {one_line(warning, 500)}", file=sys.stderr)
    if outcome.is_error:
        print(f"error: {printable(outcome.text)}", file=sys.stderr)
        return
    show([printable(outcome.text)])
