"""One agent's place in the tree, before it becomes an agent."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from msgspec import Struct, field

from hub.core.cancel import CancelToken
from hub.core.conversation import Conversation
from hub.core.jobs import Denials, Job, ParentLink
from hub.core.ledger import Ledger
from hub.core.team import Grant, Role
from hub.dispatch.board import Entry

CHILD_RULES = (
    "\n\nYou work for a parent agent. Nobody reads what you write except through the tool "
    "`report`: call it once, as your last act, with a true account of what you did and found and "
    "what you could not do."
)
"""What every child is told beside its role's instructions."""


class Seat(Struct):
    """One agent's place in the tree."""

    role: Role
    session: str
    path: str
    """Such as ``lead/worker#2``."""
    depth: int
    grant: Grant
    ledger: Ledger
    cancel: CancelToken
    denials: Denials
    conversation: Conversation = field(default_factory=Conversation)
    seq: int = 0
    turn: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    """Tell the children of this seat apart."""
    allowed: set[str] = field(default_factory=set)
    """Tools that a person allowed for the session."""
    loaded: list[str] = field(default_factory=list)
    """Tools that joined those that were offered at first, in their order."""
    job: Job | None = None
    """None for a root."""
    link: ParentLink | None = None
    """The way to the parent; None for a root."""
    left: list[Entry] = field(default_factory=list)
    """Results of jobs that an earlier process could not tell the agent."""
    workspace: Path | None = None
    """Where it works; None is the run's workspace."""
