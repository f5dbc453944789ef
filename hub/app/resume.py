"""Opens a stored session again: what its process left open is closed first, down the whole tree."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from hub.app.spending import Spending, spent
from hub.core import events as ev
from hub.core.conversation import Conversation
from hub.core.jobs import Failure, JobResult
from hub.core.messages import ToolOutcome
from hub.core.ports import Clock
from hub.core.results import Shelf
from hub.dispatch.frame import result_outcome
from hub.engine.feed import Feed, SessionJournal
from hub.pipeline.path import result_event
from hub.sessions.archive import SessionArchive

LOST = "the process ended before this was done"


class Stored(Struct):
    """A stored session with nothing left open, ready to go on."""

    conversation: Conversation
    seq: int
    turn: int
    settled: int
    """How many calls without a result were closed."""
    jobs: int = 0
    """How many children it has dispatched."""
    spent: Spending = field(default_factory=Spending)
    """What it and everything below it has used so far."""
    loaded: list[str] = field(default_factory=list)
    """Tools that joined those that were offered at first, in their order."""
    ignored: list[str] = field(default_factory=list)
    """What in the log could not be read or was not legal."""


def reopen(store: SessionArchive, session: str, clock: Clock, shelf: Shelf) -> Stored:
    """Close what a stored session has left open, and return it.

    Every open call gets one result, every open job and turn one end with the outcome ``lost``, and
    so do the sessions of the jobs. A session that was ended in order is not touched.

    Raises:
        StoreError: the store cannot be read or written.
    """
    log = store.read(session)
    conversation = Conversation(log.events)
    agent = next((event.agent for event in log.events if event.agent), "")
    turn = max((event.turn for event in log.events), default=0)
    journal = SessionJournal(
        store=store,
        feed=_nobody(),
        clock=clock,
        session=session,
        agent=agent,
        conversation=conversation,
        seq=log.last_seq,
        turn=turn,
    )
    jobs = _Jobs(log.events)
    for job in jobs.open:
        _settle_child(store, job, clock, shelf)
        journal.note(jobs.lose(job))
    unsettled = conversation.unsettled()
    for call, started in unsettled:
        outcome = jobs.outcome(call.id) or _lost_call(started=started)
        journal.note(result_event(call, shelf.shape(outcome, own=True)))
    if _turn_is_open(log.events):
        error = Failure("lost", LOST).as_dict()
        journal.note(ev.TurnDone(outcome="lost", stop_reason="interrupted", error=error))
    ignored = [f"event {line.seq}: {line.why}" for line in log.skipped] + conversation.ignored
    return Stored(
        conversation,
        journal.seq,
        turn,
        len(unsettled),
        jobs=jobs.count,
        spent=spent(store, log.events),
        loaded=_loaded(log.events),
        ignored=ignored,
    )


def _loaded(events: Iterable[ev.AnyEvent]) -> list[str]:
    loaded = [event.names for event in events if isinstance(event, ev.ToolsLoaded)]
    return [name for names in loaded for name in names]


def _settle_child(store: SessionArchive, job: ev.JobStarted, clock: Clock, shelf: Shelf) -> None:
    child = store.read(job.child)
    if not child.events or isinstance(child.events[-1], ev.SessionDone):
        return
    stored = reopen(store, job.child, clock, shelf)
    journal = SessionJournal(
        store=store,
        feed=_nobody(),
        clock=clock,
        session=job.child,
        agent=job.child_agent,
        conversation=stored.conversation,
        seq=stored.seq,
        turn=stored.turn,
    )
    journal.note(ev.SessionDone(outcome="lost"))


class _Jobs:
    """The jobs of one session's log."""

    def __init__(self, events: Iterable[ev.AnyEvent]) -> None:
        self._started: dict[str, ev.JobStarted] = {}
        self._results: dict[str, Mapping[str, Any]] = {}
        for event in events:
            match event:
                case ev.JobStarted():
                    self._started[event.job] = event
                case ev.JobDone():
                    self._results[event.job] = event.result
                case _:
                    pass

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self._started)

    @property
    def open(self) -> list[ev.JobStarted]:
        """Those that have no end."""
        return [job for job in self._started.values() if job.job not in self._results]

    def lose(self, job: ev.JobStarted) -> ev.JobDone:
        """End a job as lost."""
        done = _lost_job(job)
        self._results[job.job] = done.result
        return done

    def outcome(self, call_id: str) -> ToolOutcome | None:
        """Return what a dispatch call came to, if it became a job: a report is not lost."""
        for job in self._started.values():
            if job.call_id == call_id:
                return result_outcome(self._results[job.job])
        return None


def _lost_call(*, started: bool) -> ToolOutcome:
    state = "it may have run" if started else "it was not run"
    text = f"The process ended before this call had a result; {state}."
    return ToolOutcome(text, is_error=True, kind="lost")


def _turn_is_open(events: Iterable[ev.AnyEvent]) -> bool:
    is_open = False
    for event in events:
        if isinstance(event, ev.TurnStarted | ev.TurnDone):
            is_open = isinstance(event, ev.TurnStarted)
    return is_open


def _lost_job(job: ev.JobStarted) -> ev.JobDone:
    result = JobResult(
        job_id=job.job,
        role=job.role,
        outcome="lost",
        stop_reason="interrupted",
        session_id=job.child,
        error=Failure("lost", LOST),
    )
    return ev.JobDone(
        job=job.job,
        role=job.role,
        outcome="lost",
        stop_reason="interrupted",
        child=job.child,
        result=result.as_dict(),
    )


def _nobody() -> Feed:
    """Return a feed that nobody reads."""
    feed = Feed()
    feed.abandon()
    return feed
