"""One feed of events: every agent of a run writes to it, one reader follows.

A durable event is stored, folded into the conversation and queued in one synchronous step, so that
leaving early can never lose it. The queue holds what the reader has not taken yet; whoever
produces much waits for room between two pieces of work, never inside of a note.
"""

from collections import deque

import anyio

from hub.core.conversation import Conversation
from hub.core.events import Event, JobProgress, ServerLog, ToolProgress
from hub.core.ports import Clock, EventStore

HIGH_WATER = 1024
"""Events that may wait for the reader before producers pause."""

_CHATTER = (ToolProgress, ServerLog, JobProgress)
"""Nobody waits for room before these, and durable events say what came of them."""


class Feed:
    """The events of one run, in the order in which they happened."""

    def __init__(self) -> None:
        self._queue: deque[Event] = deque()
        self._filled = anyio.Event()
        self._drained = anyio.Event()
        self._closed = False
        self._abandoned = False

    def put(self, event: Event) -> None:
        """Queue an event for the reader; dropped when the reader has left.

        What servers say of their progress is also dropped while the reader is far behind.
        """
        if self._abandoned:
            return
        if isinstance(event, _CHATTER) and len(self._queue) > HIGH_WATER:
            return
        self._queue.append(event)
        if not self._filled.is_set():
            self._filled.set()

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        while len(self._queue) > HIGH_WATER and not self._abandoned:
            await self._drained.wait()

    def close(self) -> None:
        """Say that nothing more will come; the reader still gets what is queued."""
        self._closed = True
        self._filled.set()

    def abandon(self) -> None:
        """Say that the reader has left; what comes now goes to the log alone."""
        self._abandoned = True
        self._queue.clear()
        self._drained.set()

    async def get(self) -> Event | None:
        """Return the next event, waiting for it; None at the end."""
        while not self._queue:
            if self._closed:
                return None
            self._filled = anyio.Event()
            await self._filled.wait()
        event = self._queue.popleft()
        if len(self._queue) == HIGH_WATER // 2:
            self._drained.set()
            self._drained = anyio.Event()
        return event


class SessionJournal:
    """The Journal port: stamps the events of one session, stores, folds and queues them."""

    def __init__(
        self,
        *,
        store: EventStore,
        feed: Feed,
        clock: Clock,
        session: str,
        agent: str,
        conversation: Conversation,
        seq: int = 0,
        turn: int = 0,
    ) -> None:
        self._store = store
        self._feed = feed
        self._clock = clock
        self._session = session
        self._agent = agent
        self.seq = seq
        """Position of the latest event in the session's log."""
        self.conversation = conversation
        """What the log folds to so far."""
        self.turn = turn
        """Number of the current turn."""
        self.step = 0
        """Number of the current model request within the turn."""

    @property
    def session(self) -> str:
        """The session that is written."""
        return self._session

    @property
    def agent(self) -> str:
        """Path of the agent whose session it is."""
        return self._agent

    def note(self, event: Event) -> None:
        """Store a durable event, fold it into the conversation, and queue it for the reader."""
        stamped = self._stamped(event, self.seq + 1)
        self._store.append(stamped)
        self.seq += 1
        self.conversation.apply(stamped)
        self._feed.put(stamped)

    def tell(self, event: Event) -> None:
        """Queue a transient event for the reader."""
        self._feed.put(self._stamped(event, 0))

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        await self._feed.room()

    def _stamped(self, event: Event, seq: int) -> Event:
        return event.model_copy(
            update={
                "session": self._session,
                "seq": seq,
                "at": self._clock.now(),
                "agent": self._agent,
                "turn": self.turn,
                "step": self.step,
            }
        )
