"""What a person is told at the end of a run of the changes that wait in patches."""

from collections.abc import Mapping
from typing import Any

from hub.cli.figures import plural
from hub.core import events as ev
from hub.core.text import one_line

MOST = 5
"""Jobs that are named."""
_LENGTH = 200


class KeptChanges:
    """Children that changed something in work trees of their own."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._kept: list[tuple[str, Mapping[str, Any]]] = []

    def note(self, event: ev.AnyEvent) -> None:
        """Take the next event of the run into account."""
        match event:
            case ev.JobStarted():
                self._paths[event.job] = event.child_agent
            case ev.JobDone():
                changes = event.result.get("changes")
                if isinstance(changes, Mapping) and changes.get("hint"):
                    agent = self._paths.get(event.job, event.role)
                    self._kept.append((agent, changes))
            case _:
                pass

    def text(self) -> str:
        """Return who changed how much, and what to do with it; empty where nobody did."""
        if not self._kept:
            return ""
        lines = [_words(agent, changes) for agent, changes in self._kept[:MOST]]
        if (more := len(self._kept) - len(lines)) > 0:
            lines.append(f"changes of {more} more: hub jobs list --changes")
        return "\n".join([*lines, "  the workspace has none of it until: hub jobs apply JOB"])


def _words(agent: str, changes: Mapping[str, Any]) -> str:
    files = plural(int(changes.get("files", 0)), "file")
    size = f"+{changes.get('insertions', 0)} -{changes.get('deletions', 0)}"
    words = f"changes of {one_line(agent, _LENGTH)}: {files}, {size}"
    hint = one_line(str(changes.get("hint")), _LENGTH)
    if why := changes.get("incomplete"):
        words += f", not complete ({one_line(str(why), _LENGTH)})"
    return f"{words}; see: {hint}"
