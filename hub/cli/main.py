"""The ``hub`` command: a table of commands, each imported when it is asked for."""

import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from types import MappingProxyType
from typing import Annotated, Any

import typer

from hub.cli.examples import examples
from hub.cli.faults import debugging, report
from hub.cli.garbage import put_off
from hub.cli.lazy import Entry, LazyGroup
from hub.version import __version__

COMMANDS: Mapping[str, Entry] = MappingProxyType({
    "run": Entry("hub.cli.run", "Run a team on a task and print what it found.", "Work"),
    "sessions": Entry("hub.cli.sessions", "Look at what earlier runs did.", "Look"),
    "jobs": Entry("hub.cli.jobs", "Look at jobs, and apply what they changed.", "Look"),
    "roles": Entry("hub.cli.roles", "Look at the team: who there is and who may do what.", "Look"),
    "mcp": Entry("hub.cli.mcp.table", "Plug in MCP servers, look at them, approve them.", "Set up"),
    "doctor": Entry("hub.cli.doctor", "Check that everything a run needs is in place.", "Set up"),
    "trust": Entry("hub.cli.trust", "Decide whether a workspace's own files may act.", "Set up"),
    "version": Entry("hub.cli.version", "Print the version.", "Set up"),
})


CONTROL_FLOW: tuple[type[BaseException], ...] = (
    typer.Exit,
    typer.Abort,
    # Whatever the parser raises: usage errors and their base, which typer does not export.
    typer.BadParameter.__mro__[2],
    BrokenPipeError,
    EOFError,
)
"""What the library itself turns into an exit."""


PYDANTIC = "Value error, "
"""What the library puts before the message of a value that it refuses."""


class MainGroup(LazyGroup):
    """The commands of ``hub``; a fault of any of them ends as a message."""

    table = COMMANDS

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a fault becomes a message and an exit code."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.replace(PYDANTIC, "", 1)
            raise
        except CONTROL_FLOW:
            raise
        except Exception as error:  # noqa: BLE001 - the top: every fault ends here as a message
            raise typer.Exit(report(error, debug=debugging(ctx))) from None


app = typer.Typer(
    cls=MainGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        print(f"hub {__version__}")
        raise typer.Exit


@app.callback(epilog=examples('hub run "Find the slowest test and say why"', "hub doctor"))
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Run teams of role-based agents over approved MCP servers."""


def main() -> None:
    """Run the command line; the entry point of the console script."""
    put_off()
    _fill_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    finally:
        _flush_quietly()


def _fill_descriptors() -> None:
    """Open the null device where a standard stream is closed, lest a database takes its number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _flush_quietly() -> None:
    """Write out what is buffered; a reader that has gone is no fault."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
