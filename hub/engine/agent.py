"""One agent as the turn sees it: everything it needs, and nothing that it could widen."""

from collections.abc import Callable

from msgspec import Struct, field

from hub.core.cancel import CancelToken
from hub.core.jobs import Denials, Report
from hub.core.ledger import Ledger
from hub.core.offer import Offer
from hub.core.ports import Clock, Jobs, Model
from hub.engine.feed import SessionJournal
from hub.engine.loops import LoopDetector
from hub.pipeline.path import CallPath


class ReportDuty(Struct, frozen=True):
    """The duty to end with a report, and how often an agent is reminded of it."""

    tool: str
    """Name of the tool that takes the report."""
    accepted: Callable[[], Report | None]
    """The report that was accepted; None while there is none."""
    refused: Callable[[], Report | None] = lambda: None
    """The latest report that was valid and did not pass what the role asks for."""
    hurry: Callable[[], None] = lambda: None
    """Says that the next report is the last word, which is taken as it is."""
    nudges: int = 2
    """How often an answer without a call is sent back before the call is forced."""
    tries: int = 4
    """How many invalid reports are sent back before the job fails."""
    acceptances: int = 3
    """How many reports may fail what the role asks for before the job fails."""


class Agent(Struct, frozen=True):
    """The parts of one agent for one session."""

    model: Model
    instructions: str
    offer: Offer
    """The tools that are sent; read anew at each step, since it grows."""
    path: CallPath
    journal: SessionJournal
    ledger: Ledger
    cancel: CancelToken
    clock: Clock
    denials: Denials
    duty: ReportDuty | None = None
    """None for an agent that answers a user."""
    jobs: Jobs | None = None
    """None for an agent that may not dispatch."""
    final: bool = False
    """No further turn will follow: a scripted model that has more to say is at fault."""
    loops: LoopDetector = field(default_factory=LoopDetector)
