"""Runs the jobs of one parent: in parallel up to every cap, each with exactly one end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import anyio
from msgspec.structs import replace

from hub.core import events as ev
from hub.core.jobs import (
    Answered,
    Denials,
    Failure,
    Job,
    JobResult,
    ParentLink,
    RunChild,
    TurnResult,
)
from hub.core.messages import ToolOutcome
from hub.core.ports import Clock, Journal
from hub.dispatch.board import NOBODY, Asked, Entry, JobBoard
from hub.dispatch.build import Parent, build_job
from hub.dispatch.caps import Caps, Place
from hub.dispatch.frame import result_outcome

HOW_TO_ANSWER = "The child waits for your answer: call answer_job with its job_id."


class Dispatcher:
    """The children of one agent."""

    def __init__(
        self,
        parent: Parent,
        *,
        run_child: RunChild,
        board: JobBoard,
        caps: Caps,
        link: ParentLink | None,
        journal: Journal,
        clock: Clock,
        denials: Denials,
        numbers: Iterator[int],
        offer_job_tools: Callable[[], object],
        answer_seconds: float,
    ) -> None:
        """Make the dispatcher; ``link`` leads to those above the parent, if there are any."""
        self._parent = parent
        self._run_child = run_child
        self.board = board
        """What became of the jobs."""
        self._caps = caps
        self._link = link
        self._journal = journal
        self._clock = clock
        self._denials = denials
        self._numbers = numbers
        self.offer_job_tools = offer_job_tools
        """Puts the tools for jobs on offer; called when there is a job to use them for."""
        self._answer_seconds = answer_seconds
        self._edges: dict[str, anyio.CapacityLimiter] = {}

    def start(self, arguments: Mapping[str, Any], *, call_id: str) -> Entry:
        """Check a dispatch and begin its job, which waits its turn where a cap is reached.

        Raises:
            Refusal: the dispatch may not happen.
        """
        job = build_job(self._parent, arguments, call_id=call_id, numbers=self._numbers)
        background = bool(arguments.get("background"))
        entry = Entry(
            id=job.id,
            role=job.role,
            task=job.task,
            agent=job.agent,
            started=self._clock.monotonic(),
            background=background,
            job=job,
        )
        self._journal.note(_job_started(job, background=background))
        self.board.spawn(entry, self._live)
        return entry

    async def settled(self, entry: Entry) -> None:
        """Wait until a job has ended or asks something, and lend it the parent's own place."""
        entry.delivered = True
        try:
            async with self.waiting():
                await self.board.until_change([entry])
        except BaseException:
            entry.delivered = False
            raise

    def heard(self, entry: Entry) -> ToolOutcome:
        """Return a job's result, or its question, for the call that waited for it."""
        if entry.result is not None:
            entry.delivered = True
            return replace(result_outcome(entry.result), delivers=(entry.id,))
        entry.delivered, entry.background = False, True
        self.offer_job_tools()
        return ToolOutcome(f"{self.board.tell_of([entry])}\n{HOW_TO_ANSWER}", kind="question")

    def waiting(self) -> AbstractAsyncContextManager[None]:
        """Lend the parent's place to its children while the body waits for them."""
        return nullcontext() if self._link is None else self._link.waiting()

    async def _live(self, entry: Entry) -> None:
        job = entry.job
        if job is None:
            raise RuntimeError("a job of an earlier process cannot be run")
        edge = self._edge(job)
        place = self._caps.place(edge)
        turn: TurnResult | None = None
        started = self._clock.monotonic()
        try:
            if position := self._caps.position(edge):
                self._journal.tell(
                    ev.JobProgress(job=job.id, role=job.role, state="queued", position=position)
                )
            with job.cancel.scope():
                await place.take()
            started = self._clock.monotonic()
            self.board.change(entry, "running")
            if place.held:
                turn = await self._run_child(
                    job, _Link(self.board, entry, place, self._answer_seconds)
                )
        finally:
            place.give()
            elapsed = round((self._clock.monotonic() - started) * 1000)
            result = _job_result(job, turn, elapsed)
            if turn is None and job.isolated:
                result = replace(result, changes=self._parent.changes_of(job.id))
            self._denials.add(*result.denied_calls)
            self._journal.note(_job_done(job, result))
            job.cancel.close()
            self.board.done(entry, result.as_dict())

    def _edge(self, job: Job) -> anyio.CapacityLimiter:
        edge = self._parent.role.edge_to(job.role)
        cap = edge.max_parallel if edge else 1
        return self._edges.setdefault(job.role, anyio.CapacityLimiter(cap))


class _Link:
    """The way from a job to its parent."""

    def __init__(self, board: JobBoard, entry: Entry, place: Place, seconds: float) -> None:
        self._board = board
        self._entry = entry
        self._place = place
        self._seconds = seconds

    async def ask(self, question: str, options: Sequence[str]) -> Answered:
        """Put a question to the parent and wait for the answer, within a deadline."""
        asked = Asked(question, tuple(options))
        self._board.ask(self._entry, asked)
        async with self._place.while_waiting():
            with anyio.move_on_after(self._seconds):
                await asked.answered.wait()
            if not asked.answered.is_set():
                self._board.answer(self._entry, NOBODY, by="nobody")
        self._board.change(self._entry, "running")
        return Answered(asked.answer, asked.by)

    def waiting(self) -> AbstractAsyncContextManager[None]:
        """Lend the job's place among the running ones to its own children, in the body."""
        return self._place.while_waiting()


def _job_started(job: Job, *, background: bool) -> ev.JobStarted:
    return ev.JobStarted(
        job=job.id,
        role=job.role,
        task=job.task,
        call_id=job.call_id,
        child=job.session,
        child_agent=job.agent,
        depth=job.depth,
        background=background,
    )


def _job_done(job: Job, result: JobResult) -> ev.JobDone:
    return ev.JobDone(
        job=job.id,
        role=job.role,
        outcome=result.outcome,
        stop_reason=result.stop_reason,
        child=job.session,
        result=result.as_dict(),
    )


def _job_result(job: Job, turn: TurnResult | None, duration_ms: int) -> JobResult:
    if turn is None:
        return JobResult(
            job_id=job.id,
            role=job.role,
            outcome="cancelled",
            stop_reason="parent_cancelled",
            usage=job.ledger.total,
            cost_usd=job.ledger.cost,
            duration_ms=duration_ms,
            session_id=job.session,
            error=Failure("cancelled", "the parent was stopped while the child ran"),
        )
    return JobResult(
        job_id=job.id,
        role=job.role,
        outcome=turn.outcome,
        stop_reason=turn.stop_reason,
        report=turn.report,
        partial_text="" if turn.report else turn.text,
        usage=turn.usage,
        cost_usd=turn.cost_usd,
        duration_ms=duration_ms,
        denied_calls=turn.denied_calls,
        session_id=job.session,
        error=turn.error,
        changes=turn.changes,
    )
