"""What every event says of itself."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Event(BaseModel):
    """What every event says of itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    durable: ClassVar[bool] = True

    session: str = ""
    """The session that it belongs to."""
    seq: int = 0
    """Position in the session's log, from 1 without gaps; 0 for a transient event."""
    at: float = 0.0
    """Seconds since 1970."""
    agent: str = ""
    """Path of the agent, such as ``lead/worker#2``."""
    turn: int = 0
    """Number of the turn, from 1; 0 outside of turns."""
    step: int = 0
    """Number of the model request within the turn, from 1; 0 before the first."""


class Transient(Event):
    """An event that is published and not stored."""

    durable: ClassVar[bool] = False
