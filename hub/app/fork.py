"""A copy of a stored session that goes on by itself, whoever is at work on the session."""

from hub.app.old_jobs import OldJobs
from hub.core import events as ev
from hub.core.errors import UsageError
from hub.core.ids import new_id
from hub.core.ports import Clock
from hub.sessions.archive import SessionArchive


def fork(store: SessionArchive, source: str, clock: Clock) -> str:
    """Copy a session into a new one and return its id; the session itself is only read.

    Children stay those of the session: in the copy, one that has not ended counts as lost.

    Raises:
        UsageError: it is a child, or nothing of it is stored.
        StoreError: the store cannot be read or written.
    """
    info = store.get_session(source)
    if info.parent:
        raise UsageError(
            f"the session {source} belongs to a child", remedy=f"Copy its parent: {info.parent}"
        )
    log = store.read(source)
    if not log.events:
        raise UsageError(f"the session {source} holds nothing that could be copied")
    session, last = new_id("s"), log.events[-1]
    jobs = OldJobs(log.events)
    ends = [jobs.settle(job, store.read(job.child).events) for job in jobs.open]
    forked = ev.SessionForked(source=source, events=log.last_seq)
    store.create(session, parent="", role=info.role, workspace=info.workspace)
    stamp = {"at": clock.now(), "agent": last.agent, "turn": last.turn, "step": last.step}
    added = [event.model_copy(update=stamp) for event in (*ends, forked)]
    for seq, event in enumerate((*log.events, *added), 1):
        store.append(event.model_copy(update={"session": session, "seq": seq}))
    return session
