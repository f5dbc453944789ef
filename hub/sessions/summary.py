"""What a list of sessions shows of each, and how each event changes it."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from hub.core import events as ev
from hub.core.text import one_line

TITLE_LENGTH = 80


class SessionInfo(Struct, frozen=True):
    """One stored session in short."""

    id: str
    """The session."""
    parent: str
    """Session of the agent that dispatched it; empty for a root."""
    role: str
    """Role of the agent."""
    workspace: str
    """The folder that it worked on."""
    created: float
    """Seconds since 1970."""
    updated: float
    """Time of its latest turn, answer or end, in seconds since 1970."""
    model: str = ""
    """The model that answered last."""
    title: str = ""
    """First line of what it was first told, printable."""
    outcome: str = ""
    """How its latest turn ended; empty while the turn runs, and for ever when it was killed."""
    turns: int = 0
    """Prompts that it was given."""
    tokens: int = 0
    """Input and output tokens of its own requests."""
    tree_tokens: int = 0
    """The same with every session below it."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, where ids of sessions are called so."""
        fields = asdict(self)
        return {"session_id": fields.pop("id"), "parent_session_id": fields.pop("parent"), **fields}


class Change(Struct, frozen=True):
    """What one event changes in the summary of its session; None leaves a field as it is."""

    updated: float
    model: str | None = None
    title: str | None = None
    """Counts only while there is no title."""
    outcome: str | None = None
    turns: int | None = None
    tokens: int = 0
    """To be added."""


def change_of(event: ev.Event) -> Change | None:
    """Return what an event changes in the summary; None for most events."""
    match event:
        case ev.SessionStarted() | ev.SessionResumed():
            return Change(event.at, model=event.model)
        case ev.TurnStarted():
            return Change(event.at, outcome="", turns=event.turn)
        case ev.UserMessageEvent():
            return Change(event.at, title=_title(event.text))
        case ev.UsageEvent():
            return Change(event.at, tokens=event.input_tokens + event.output_tokens)
        case ev.TurnDone() | ev.SessionDone():
            return Change(event.at, outcome=event.outcome)
        case _:
            return None


def changed(info: SessionInfo, change: Change) -> SessionInfo:
    """Return the summary after a change."""
    return replace(
        info,
        updated=change.updated,
        model=info.model if change.model is None else change.model,
        title=info.title or change.title or "",
        outcome=info.outcome if change.outcome is None else change.outcome,
        turns=info.turns if change.turns is None else change.turns,
        tokens=info.tokens + change.tokens,
    )


def _title(text: str) -> str:
    lines = (line for line in text.splitlines() if line.strip())
    return one_line(next(lines, ""), TITLE_LENGTH)
