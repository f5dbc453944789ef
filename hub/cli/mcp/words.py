"""Places and times of servers in the few words that a line has for them."""

from datetime import datetime
from pathlib import Path

from hub.cli.figures import plural
from hub.core.team import Origin


def place(origin: Origin, folder: Path) -> str:
    """Return where something is written: below the folder or the home, the path from there."""
    if not origin.path:
        return origin.layer
    path = Path(origin.path)
    for base, start in ((folder, ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            shown = f"{start}{path.relative_to(base)}"
            break
    else:
        shown = str(path)
    return f"{shown}:{origin.line}" if origin.line else shown


def when(at: float, now: float) -> str:
    """Return a time since 1970 as local time, and how long ago it was; empty for never."""
    if not at:
        return ""
    clock = datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"{clock} ({span(now - at)} ago)" if now >= at else f"{clock} (in {span(at - now)})"


def span(seconds: float) -> str:
    """Return a duration in its largest unit, such as ``3 minutes``."""
    for size, noun in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return plural(int(seconds // size), noun)
    return plural(int(seconds), "second")
