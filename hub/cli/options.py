"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Directory = Annotated[
    Path, typer.Option("-C", "--dir", help="The folder to work on.", metavar="DIR")
]
"""``-C DIR``; the default is the current folder."""

TeamFolder = Annotated[
    Path | None,
    typer.Option("--team", help="A folder with roles/ and config.yaml to use.", metavar="DIR"),
]
"""``--team DIR``; without it, only what the workspace and the user have."""

StrictMcp = Annotated[
    Path | None,
    typer.Option(
        "--strict-mcp-config", help="Use the MCP servers of this file alone.", metavar="FILE"
    ),
]
"""``--strict-mcp-config FILE``; without it, the servers of all settings."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
"""``--json``."""
