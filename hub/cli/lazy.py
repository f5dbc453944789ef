"""Groups of commands that know their commands' names and helps without importing them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup


class Entry(NamedTuple):
    """One command of a table."""

    module: str
    """Module whose ``app`` is the command."""
    help: str
    """First line of its help; a test compares it with the command itself."""
    panel: str
    """Heading under which the help of the group lists it."""


class LazyGroup(TyperGroup):
    """A group over a table of commands, each imported when it is asked for."""

    table: ClassVar[Mapping[str, Entry]] = {}
    """The commands by name; a subclass gives its own."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        names: dict[str, Any] = dict.fromkeys(self.table)
        self.commands = names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the module of a command and return the command."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        command = typer.main.get_command(import_module(entry.module).app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the table under its headings."""
        for panel in dict.fromkeys(entry.panel for entry in self.table.values()):
            with formatter.section(panel):
                formatter.write_dl([
                    (name.ljust(10), entry.help)
                    for name, entry in self.table.items()
                    if entry.panel == panel
                ])
