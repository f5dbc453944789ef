"""Opens a stored session again: what its process left open is closed first, down the whole tree."""

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from hub.app.old_jobs import LOST, OldJobs, accepted_report
from hub.app.spending import Spending, spent
from hub.core import events as ev
from hub.core.changes import Changes
from hub.core.conversation import Conversation
from hub.core.errors import UsageError
from hub.core.jobs import REPORT_OUTCOME, Failure, Report
from hub.core.messages import ToolOutcome
from hub.core.ports import Clock
from hub.core.results import Shelf
from hub.dispatch.board import Entry
from hub.engine.feed import Feed, SessionJournal
from hub.pipeline.path import result_event
from hub.sessions.archive import SessionArchive


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
    left: list[Entry] = field(default_factory=list)
    """Results of jobs that the agent has not been told."""
    ignored: list[str] = field(default_factory=list)
    """What in the log could not be read or was not legal."""


def reopen(
    store: SessionArchive,
    session: str,
    clock: Clock,
    shelf: Shelf,
    changes_of: Callable[[str], Changes | None] = lambda job: None,
) -> Stored:
    """Close what a stored session has left open, and return it.

    Every open call gets one result, every open job and turn one end with the outcome ``lost``, and
    so do the sessions of the jobs. A session that was ended in order is not touched.
    ``changes_of`` tells what is kept of a job's changes.

    Raises:
        StoreError: the store cannot be read or written.
    """
    log = store.read(session)
    conversation = Conversation(log.events)
    agent = next((event.agent for event in log.events if event.agent), "")
    turn = max((event.turn for event in log.events), default=0)
    journal = _writer(store, clock, session, agent, Stored(conversation, log.last_seq, turn, 0))
    jobs = OldJobs(log.events)
    for job in jobs.open:
        _settle_child(store, job, clock, shelf, changes_of)
        journal.note(jobs.settle(job, store.read(job.child).events, changes_of(job.job)))
    unsettled = conversation.unsettled()
    for call, started in unsettled:
        outcome, job_id = jobs.outcome(call.id) or (_lost_call(started=started), "")
        shaped = replace(shelf.shape(outcome, own=True), delivers=(job_id,) if job_id else ())
        journal.note(result_event(call, shaped))
    if _turn_is_open(log.events):
        journal.note(_turn_end(accepted_report(log.events)))
    ignored = [f"event {line.seq}: {line.why}" for line in log.skipped] + conversation.ignored
    return Stored(
        conversation,
        journal.seq,
        turn,
        len(unsettled),
        jobs=jobs.count,
        spent=spent(store, log.events),
        loaded=_loaded(log.events),
        left=jobs.unheard(),
        ignored=ignored,
    )


def _loaded(events: Iterable[ev.AnyEvent]) -> list[str]:
    loaded = [event.names for event in events if isinstance(event, ev.ToolsLoaded)]
    return [name for names in loaded for name in names]


def _settle_child(
    store: SessionArchive,
    job: ev.JobStarted,
    clock: Clock,
    shelf: Shelf,
    changes_of: Callable[[str], Changes | None],
) -> None:
    child = store.read(job.child)
    if not child.events or isinstance(child.events[-1], ev.SessionDone):
        return
    stored = reopen(store, job.child, clock, shelf, changes_of)
    report = accepted_report(child.events)
    journal = _writer(store, clock, job.child, job.child_agent, stored)
    journal.note(ev.SessionDone(outcome=REPORT_OUTCOME[report.status] if report else "lost"))


def _turn_end(report: Report | None) -> ev.TurnDone:
    """End an open turn: with the report that was accepted before the process ended, or as lost."""
    if report is None:
        error = Failure("lost", LOST).as_dict()
        return ev.TurnDone(outcome="lost", stop_reason="interrupted", error=error)
    outcome = REPORT_OUTCOME[report.status]
    return ev.TurnDone(outcome=outcome, stop_reason="reported", text=report.summary)


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


def _writer(
    store: SessionArchive, clock: Clock, session: str, agent: str, stored: Stored
) -> SessionJournal:
    """Return the way to write on in a session that has come so far."""
    return SessionJournal(
        store=store,
        feed=_nobody(),
        clock=clock,
        session=session,
        agent=agent,
        conversation=stored.conversation,
        seq=stored.seq,
        turn=stored.turn,
    )


def _nobody() -> Feed:
    """Return a feed that nobody reads."""
    feed = Feed()
    feed.abandon()
    return feed


def require_same(stored: str, workspace: Path, session: str) -> None:
    """Refuse to take what was said in one workspace to the roles and files of another.

    Raises:
        UsageError: the session's workspace still exists and is another one.
    """
    folder = Path(stored)
    if stored and folder.is_dir() and folder.resolve() != workspace.resolve():
        raise UsageError(
            f"the session {session} worked on {stored}, and this is {workspace}",
            remedy=f"Go on with it there: hub run -C {shlex.quote(stored)} --resume {session} …",
        )
