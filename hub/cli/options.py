"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Directory = Annotated[
    Path, typer.Option("-C", "--dir", help="The folder to work on.", metavar="DIR")
]
"""``-C DIR``; the default is the current folder."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
"""``--json``."""
