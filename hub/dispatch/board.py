"""The jobs of one agent while its turn runs: what each is doing, and what the agent has not heard.

Each job is a task of the board's own, so that a result arrives whether or not somebody waits for
it. What has ended in the background, or asks something, is told to the agent at the next boundary
of its turn, exactly once: the event that tells it names the jobs in ``delivers``, and whatever no
event names is told again after a crash.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import anyio.abc
import anyio.lowlevel
from msgspec import Struct, field

from hub.core import events as ev
from hub.core.cancel import CancelReason
from hub.core.jobs import Answered, AnsweredBy, AskAbove, Job
from hub.core.ports import Clock, Journal
from hub.dispatch.frame import question_message, result_message

JobState = Literal["queued", "running", "waiting", "done"]
STOP_SECONDS = 10.0
"""How long the end of stopped jobs is waited for before their tasks are cancelled as well."""
NOBODY = "Nobody answered your question. Go on with what you know, and say so in your report."
"""What a child hears when its question stays without an answer."""


class Asked(Struct, eq=False):
    """A question of a child that waits for an answer."""

    text: str
    options: tuple[str, ...] = ()
    shown: bool = False
    """The parent has been told of it."""
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: str = ""
    by: AnsweredBy = "nobody"


class Entry(Struct, eq=False):
    """One job on the board."""

    id: str
    role: str
    task: str
    agent: str
    started: float
    """Clock time, monotonic."""
    background: bool = False
    job: Job | None = None
    """None for a job of an earlier process, of which only the result is left."""
    state: JobState = "queued"
    result: dict[str, Any] | None = None
    """The ``dispatch_result`` once it is done."""
    delivered: bool = False
    """The agent has been told the result, or somebody waits for it in a call."""
    question: Asked | None = None


class JobBoard:
    """The jobs of one agent."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        above: AskAbove | None = None,
        left: Iterable[Entry] = (),
    ) -> None:
        """Make the board; ``left`` are results that an earlier process could not tell.

        ``above`` answers what the agent leaves; without it nobody does.
        """
        self._above = above or _nobody
        self._journal = journal
        self._clock = clock
        self._group: anyio.abc.TaskGroup | None = None
        self._news = anyio.Event()
        self.entries: dict[str, Entry] = {entry.id: entry for entry in left}
        """Every job of the session that this process knows, in the order of their start."""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Hold the jobs of one turn; whatever still runs at the end of the body is stopped."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
                self.stop("parent")
                with anyio.move_on_after(STOP_SECONDS):
                    await self._until(lambda: not self.active)
                group.cancel_scope.cancel()
            finally:
                self._group = None

    def spawn(self, entry: Entry, life: Callable[[Entry], Coroutine[Any, Any, None]]) -> None:
        """Begin the life of a job, which ends with ``done``.

        Raises:
            RuntimeError: no turn is running.
        """
        if self._group is None:
            raise RuntimeError("a job can be started only while a turn runs")
        self.entries[entry.id] = entry
        self._group.start_soon(life, entry)

    def change(self, entry: Entry, state: JobState) -> None:
        """Note what a job does now."""
        entry.state = state
        self._tell()

    def done(self, entry: Entry, result: dict[str, Any]) -> None:
        """Note how a job ended."""
        entry.result, entry.state = result, "done"
        question, entry.question = entry.question, None
        if question is not None:
            question.answered.set()
        self._tell()

    def ask(self, entry: Entry, question: Asked) -> None:
        """Let a job wait for the answer to a question."""
        entry.question, entry.state = question, "waiting"
        self._journal.note(
            ev.JobQuestion(
                job=entry.id, role=entry.role, question=question.text, options=[*question.options]
            )
        )
        self._tell()

    def answer(self, entry: Entry, text: str, *, by: AnsweredBy) -> None:
        """Answer the question of a job; it goes on."""
        question, entry.question = entry.question, None
        if question is None:
            return
        self._journal.note(ev.JobAnswered(job=entry.id, role=entry.role, answer=text, by=by))
        question.answer, question.by = text, by
        if entry.state == "waiting":
            entry.state = "queued"  # until it has its place again
        question.answered.set()
        self._tell()

    @property
    def active(self) -> list[Entry]:
        """The jobs that have not ended."""
        return [entry for entry in self.entries.values() if entry.result is None]

    @property
    def unheard(self) -> list[Entry]:
        """The jobs of which the agent has not heard the result, or a question."""
        return [entry for entry in self.entries.values() if _is_unheard(entry)]

    def deliver(self) -> None:
        """Tell the agent, as context, of every result and question that it has not heard."""
        if unheard := self.unheard:
            told = self.tell_of(unheard)
            names = [entry.id for entry in unheard if entry.result is not None]
            self._journal.note(ev.ContextAdded(source="jobs", text=told, delivers=names))

    def tell_of(self, entries: Sequence[Entry]) -> str:
        """Return results and questions for the agent, and remember that it has heard them."""
        parts = []
        for entry in entries:
            if entry.result is not None:
                entry.delivered = True
                parts.append(result_message(entry.result))
            elif entry.question is not None:
                entry.question.shown = True
                parts.append(_question(entry, entry.question))
        return "\n".join(parts)

    async def more(self) -> bool:
        """Wait until there is something to hear, if anything can still come; say whether.

        A question that the agent was told and has left goes to whoever is above it.
        """
        for entry in self.active:
            if entry.question is not None and entry.question.shown:
                await self._pass_on(entry, entry.question)
        if not self.active and not self.unheard:
            return False
        await self._until(lambda: bool(self.unheard) or not self.active)
        return bool(self.unheard)

    async def until_change(self, entries: Sequence[Entry]) -> None:
        """Wait until one of the jobs has ended or asks something."""
        await self._until(lambda: any(e.result is not None or e.question for e in entries))

    def stop(self, reason: CancelReason) -> None:
        """Stop every job that runs."""
        for entry in self.active:
            if entry.job is not None:
                entry.job.cancel.cancel(reason)

    async def _pass_on(self, entry: Entry, question: Asked) -> None:
        """Let those above answer, for as long as the child waits."""
        answered = Answered("", "nobody")
        async with anyio.create_task_group() as group:

            async def end_with_it() -> None:
                await question.answered.wait()
                group.cancel_scope.cancel()

            group.start_soon(end_with_it)
            answered = await self._above(entry.agent, question.text, question.options)
            group.cancel_scope.cancel()
        if entry.question is question:
            self.answer(entry, answered.text or NOBODY, by=answered.by)

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._news.wait()


async def _nobody(_agent: str, _question: str, _options: Sequence[str]) -> Answered:
    await anyio.lowlevel.checkpoint()
    return Answered("", "nobody")


def _question(entry: Entry, question: Asked) -> str:
    return question_message(entry.id, entry.role, question.text, question.options)


def _is_unheard(entry: Entry) -> bool:
    if entry.result is not None:
        return not entry.delivered
    return entry.background and entry.question is not None and not entry.question.shown
