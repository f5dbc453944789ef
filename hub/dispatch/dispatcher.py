"""Runs the jobs of one parent: in parallel up to each edge's cap, each with exactly one end."""

from collections.abc import Iterator, Mapping
from typing import Any

import anyio

from hub.core import events as ev
from hub.core.jobs import Denials, Failure, Job, JobResult, RunChild, TurnResult
from hub.core.ports import Clock, Journal
from hub.dispatch.build import Parent, build_job


class Dispatcher:
    """The children of one agent."""

    def __init__(
        self,
        parent: Parent,
        *,
        run_child: RunChild,
        journal: Journal,
        clock: Clock,
        denials: Denials,
        numbers: Iterator[int],
    ) -> None:
        self._parent = parent
        self._run_child = run_child
        self._journal = journal
        self._clock = clock
        self._denials = denials
        self._numbers = numbers
        self._slots: dict[str, anyio.CapacityLimiter] = {}

    async def dispatch(self, arguments: Mapping[str, Any], *, call_id: str) -> JobResult:
        """Check, run and settle one job; more jobs than the edge's cap wait their turn.

        Raises:
            Refusal: the dispatch may not happen.
        """
        job = build_job(self._parent, arguments, call_id=call_id, numbers=self._numbers)
        try:
            async with self._slot(job):
                return await self._run(job)
        finally:
            job.cancel.close()

    def _slot(self, job: Job) -> anyio.CapacityLimiter:
        edge = self._parent.role.edge_to(job.role)
        cap = edge.max_parallel if edge else 1
        slots = self._slots.setdefault(job.role, anyio.CapacityLimiter(cap))
        if slots.available_tokens <= 0:
            position = slots.statistics().tasks_waiting + 1
            progress = ev.JobProgress(job=job.id, role=job.role, state="queued", position=position)
            self._journal.tell(progress)
        return slots

    async def _run(self, job: Job) -> JobResult:
        started = self._clock.monotonic()
        self._journal.note(_job_started(job))
        turn: TurnResult | None = None
        try:
            turn = await self._run_child(job)
        finally:
            elapsed = round((self._clock.monotonic() - started) * 1000)
            result = _job_result(job, turn, elapsed)
            self._denials.add(*result.denied_calls)
            self._journal.note(_job_done(job, result))
        return result


def _job_started(job: Job) -> ev.JobStarted:
    return ev.JobStarted(
        job=job.id,
        role=job.role,
        task=job.task,
        call_id=job.call_id,
        child=job.session,
        child_agent=job.agent,
        depth=job.depth,
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
    )
