"""The tools with which a parent looks after jobs that work while it goes on."""

import json
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import anyio

from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext, Clock
from hub.core.text import one_line
from hub.dispatch.board import Entry, JobBoard
from hub.dispatch.dispatcher import Dispatcher

MOST_SECONDS = 600.0
"""The longest that one call may wait."""
USUAL_SECONDS = 60.0
CANCEL_SECONDS = 5.0
"""How long a cancelled job has to say what it has."""
TASK_SHOWN = 80
_ID = {"type": "string", "description": "such as j-01k3v9x2q7f3kq2m"}
_IDS = {"type": "array", "items": {"type": "string"}}


def job_tools(dispatcher: Dispatcher, clock: Clock) -> list["JobTool"]:
    """Return the tools for the jobs of one agent."""
    made = _Calls(dispatcher, clock)
    wait = {"jobs": _IDS, "timeout": {"type": "number", "description": "seconds"}}
    return [
        JobTool(_spec("jobs", "List your jobs and what each is doing.", {}, ()), made.jobs),
        JobTool(
            _spec(
                "wait_jobs",
                "Wait until one of your jobs ends or asks something, or the timeout is over.",
                wait,
                (),
            ),
            made.wait,
        ),
        JobTool(_spec("cancel_job", "Stop a job.", {"job_id": _ID}, ("job_id",)), made.cancel),
        JobTool(
            _spec(
                "answer_job",
                "Answer the question of a job that waits for you.",
                {"job_id": _ID, "answer": {"type": "string"}},
                ("job_id", "answer"),
            ),
            made.answer,
        ),
    ]


class JobTool:
    """One of the tools; the Tool port."""

    def __init__(self, spec: ToolSpec, run: Callable[[Mapping[str, Any]], Any]) -> None:
        self.spec = spec
        """How it is offered."""
        self._run = run

    async def call(self, arguments: dict[str, Any], _context: CallContext) -> ToolOutcome:
        """Run it."""
        outcome: ToolOutcome = await self._run(arguments)
        return outcome


def open_jobs(board: JobBoard) -> str:
    """Say which jobs keep a child from reporting; empty when none does."""
    waiting = [*board.active, *(entry for entry in board.unheard if entry.result is not None)]
    if not waiting:
        return ""
    names = ", ".join(f"{entry.id} ({entry.state})" for entry in waiting)
    return (
        f"Your jobs are not settled: {names}. Wait for them with wait_jobs or stop them with "
        "cancel_job, then report."
    )


class _Calls:
    """What the tools do."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._board = dispatcher.board
        self._clock = clock

    async def jobs(self, _arguments: Mapping[str, Any]) -> ToolOutcome:
        await anyio.lowlevel.checkpoint()
        rows = [self._row(entry) for entry in self._board.entries.values()]
        return ToolOutcome(json.dumps({"jobs": rows}, ensure_ascii=False))

    async def wait(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Wait within the timeout whatever the jobs do; then tell what is there."""
        names = arguments.get("jobs") or []
        chosen = [self._board.entries[name] for name in names if name in self._board.entries]
        if unknown := [name for name in names if name not in self._board.entries]:
            return self._unknown(str(unknown[0]))
        waited = chosen or list(self._board.entries.values())
        open_ones = [entry for entry in waited if entry.result is None]
        seconds = min(float(arguments.get("timeout") or USUAL_SECONDS), MOST_SECONDS)
        if open_ones and not self._news(waited):
            with anyio.move_on_after(max(seconds, 0.0)):
                async with self._dispatcher.waiting():
                    await self._board.until_change(open_ones)
        return self._told(waited)

    async def cancel(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        entry = self._board.entries.get(str(arguments["job_id"]))
        if entry is None:
            return self._unknown(str(arguments["job_id"]))
        if entry.result is None and entry.job is not None:
            entry.job.cancel.cancel("parent")
            with anyio.move_on_after(CANCEL_SECONDS):
                await self._board.until_change([entry])
        if entry.result is None:
            return ToolOutcome(f"Job {entry.id} is being stopped; its end is told to you.")
        return self._told([entry])

    async def answer(self, arguments: Mapping[str, Any]) -> ToolOutcome:
        entry = self._board.entries.get(str(arguments["job_id"]))
        if entry is None:
            return self._unknown(str(arguments["job_id"]))
        if entry.question is None:
            text = f"Job {entry.id} asks nothing; it is {entry.state}."
            return ToolOutcome(text, is_error=True, kind="no_question")
        self._board.answer(entry, str(arguments["answer"]), by="parent")
        return ToolOutcome(f"Job {entry.id} goes on with your answer; wait_jobs waits for it.")

    def _news(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the jobs with a result or a question that the agent has not heard."""
        return [
            entry
            for entry in entries
            if (entry.result is not None and not entry.delivered)
            or (entry.question is not None and not entry.question.shown)
        ]

    def _told(self, entries: Sequence[Entry]) -> ToolOutcome:
        news = self._news(entries)
        parts = [self._board.tell_of(news)] if news else []
        if rest := [entry for entry in entries if entry.result is None]:
            rows = json.dumps({"jobs": [self._row(e) for e in rest]}, ensure_ascii=False)
            parts.append(f"Not ended yet:\n{rows}")
        text = "\n".join(parts) or "You have heard of all of these jobs already."
        delivers = tuple(entry.id for entry in news if entry.result is not None)
        return ToolOutcome(text, delivers=delivers)

    def _row(self, entry: Entry) -> dict[str, Any]:
        row: dict[str, Any] = {
            "job_id": entry.id,
            "role": entry.role,
            "state": entry.state,
            "task": one_line(entry.task, TASK_SHOWN),
            "seconds": round(self._clock.monotonic() - entry.started, 1),
        }
        if entry.job is not None:
            row["tokens"] = entry.job.ledger.total.total_tokens
        if entry.result is not None:
            row |= {"outcome": entry.result["outcome"], "delivered": entry.delivered}
        if entry.question is not None:
            row["question"] = one_line(entry.question.text, 200)
        return row

    def _unknown(self, name: str) -> ToolOutcome:
        near = get_close_matches(name, list(self._board.entries), n=1)
        known = near or list(self._board.entries)[-5:]
        hint = f" Known are: {', '.join(known)}." if known else " There are no jobs."
        return ToolOutcome(f"There is no job {name!r:.80}.{hint}", is_error=True, kind="no_job")


def _spec(
    name: str, description: str, properties: Mapping[str, Any], required: Sequence[str]
) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema, concurrency_safe=name in ("jobs", "wait_jobs"))
