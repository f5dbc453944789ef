"""``hub version``."""

import typer

from hub.cli.examples import examples
from hub.version import __version__

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=examples("hub version"))
def version() -> None:
    """Print the version."""
    print(f"hub {__version__}")
