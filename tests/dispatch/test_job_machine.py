"""A machine that dispatches, ends, asks, answers, waits and cancels at random (A15, A16, A20, A21).

Whatever the order: a job has one start and at most one end, its result is told once, a place is
held by exactly those that work, and a cancel reaches everything below it.
"""

import os
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hub.core import events as ev
from hub.core.cancel import CancelToken
from hub.core.clock import SystemClock
from hub.core.jobs import Answered, Denials, Job, ParentLink, Report, TurnResult
from hub.core.ledger import Ledger
from hub.core.limits import Limits
from hub.core.team import Edge, Grant, Role
from hub.dispatch.board import Entry, JobBoard
from hub.dispatch.build import Parent
from hub.dispatch.caps import Caps
from hub.dispatch.dispatcher import Dispatcher
from hub.dispatch.job_tools import job_tools

NIGHTLY = bool(os.environ.get("HUB_NIGHTLY"))
"""Set by ``make nightly``: many more steps."""
IN_TREE, OVER_EDGE = 3, 2


class Log:
    """The Journal port over a list."""

    session, agent = "s-1", "lead"

    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    def note(self, event: ev.Event) -> None:
        self.events.append(event)

    def tell(self, event: ev.Event) -> None:
        self.events.append(event)

    async def room(self) -> None:
        await anyio.lowlevel.checkpoint()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class Child:
    """One child that does what the machine says, when it says so."""

    def __init__(self, job: Job, link: ParentLink) -> None:
        self.job, self.link = job, link
        self.orders: list[str] = []
        self.news = anyio.Event()
        self.answers: list[Answered] = []

    def order(self, what: str) -> None:
        self.orders.append(what)
        self.news.set()
        self.news = anyio.Event()

    async def work(self) -> TurnResult:
        with self.job.cancel.scope():
            while True:
                while not self.orders:
                    await self.news.wait()
                match self.orders.pop(0):
                    case "end":
                        report = Report("success", "did it")
                        return TurnResult("done", "reported", report=report)
                    case "fail":
                        return TurnResult("failed", "reported")
                    case "crash":
                        raise RuntimeError("a fault of the harness")
                    case "ask":
                        self.answers.append(await self.link.ask("which?", ()))
        return TurnResult("cancelled", "parent_cancelled")


class Stage:
    """One parent with its dispatcher, inside of an event loop."""

    def __init__(self) -> None:
        self.log, self.children = Log(), dict[str, Child]()
        role = Role("lead", dispatch=(Edge("child", OVER_EDGE),))
        self.token, clock = CancelToken(), SystemClock()
        self.caps = Caps(anyio.CapacityLimiter(IN_TREE))
        free = Limits(steps=None, tool_calls=None)
        parent = Parent(
            role=role,
            grant=Grant(("*",)),
            ledger=Ledger("lead", free),
            cancel=self.token,
            session="s-1",
            agent="lead",
            depth=0,
            workspace=Path.cwd(),
            roles={"child": Role("child", limits=free)},
            derive=lambda role, grant, edge: grant,
        )
        self.board = JobBoard(self.log, clock)
        self.dispatcher = Dispatcher(
            parent,
            run_child=self.run_child,
            board=self.board,
            caps=self.caps,
            link=None,
            journal=self.log,
            clock=clock,
            denials=Denials(),
            numbers=count(1),
            offer_job_tools=lambda: None,
            answer_seconds=600,
        )
        self.tools = {tool.spec.name: tool for tool in job_tools(self.dispatcher, clock)}
        self.told: Counter[str] = Counter()
        self.open, self.close = anyio.Event(), anyio.Event()

    async def run_child(self, job: Job, link: ParentLink) -> TurnResult:
        child = self.children[job.id] = Child(job, link)
        try:
            return await child.work()
        except RuntimeError:
            return TurnResult("model_error", "model_error")

    async def hold(self) -> None:
        async with self.board.opened():
            self.open.set()
            await self.close.wait()

    async def settle(self) -> None:
        await anyio.wait_all_tasks_blocked()

    async def dispatch(self, background: bool) -> None:
        arguments = {"role": "child", "task": "do it", "background": background}
        entry = self.dispatcher.start(arguments, call_id="c")
        if not background:
            # Nobody waits for it here: as if its call had been told a question.
            entry.background = True
        await self.settle()

    async def call(self, tool: str, **arguments: Any) -> None:
        outcome = await self.tools[tool].call(arguments, None)  # type: ignore[arg-type]
        self.told.update(outcome.delivers)
        await self.settle()

    async def deliver(self) -> None:
        before = len(self.log.of(ev.ContextAdded))
        self.board.deliver()
        for event in self.log.of(ev.ContextAdded)[before:]:
            self.told.update(event.delivers)
        await self.settle()

    async def order(self, job: str, what: str) -> None:
        self.children[job].order(what)
        await self.settle()

    async def cancel(self) -> None:
        self.token.cancel("user")
        await self.settle()

    async def end(self) -> None:
        self.close.set()
        await self.settle()


class Jobs(RuleBasedStateMachine):
    """The rules; each runs to the point at which every task waits."""

    def __init__(self) -> None:
        super().__init__()
        self.context = anyio.from_thread.start_blocking_portal()
        self.portal = self.context.__enter__()
        self.stage = self.portal.call(Stage)
        self.holding = self.portal.start_task_soon(self.stage.hold)
        self.portal.call(self.stage.settle)
        self.over = False

    def teardown(self) -> None:
        self.portal.call(self.stage.end)
        self.holding.result(10)
        self.portal.call(self.stage.deliver)
        entries = self.stage.board.entries
        done = Counter(event.job for event in self.stage.log.of(ev.JobDone))
        assert done == Counter(dict.fromkeys(entries, 1))
        assert self.stage.told == Counter(dict.fromkeys(entries, 1))
        assert self.stage.caps.tree.borrowed_tokens == 0
        self.context.__exit__(None, None, None)

    def _entries(self, *states: str) -> Sequence[Entry]:
        return [e for e in self.stage.board.entries.values() if e.state in states]

    def _any(self, at: int, *states: str) -> str:
        found = self._entries(*states)
        return found[at % len(found)].id

    @precondition(lambda self: not self.stage.token.cancelled)
    @rule(background=st.booleans())
    def dispatch(self, background: bool) -> None:
        self.portal.call(self.stage.dispatch, background)

    @precondition(lambda self: self._entries("running"))
    @rule(at=st.integers(0, 99), what=st.sampled_from(["end", "fail", "crash", "ask"]))
    def order(self, at: int, what: str) -> None:
        self.portal.call(self.stage.order, self._any(at, "running"), what)

    @precondition(lambda self: self._entries("waiting"))
    @rule(at=st.integers(0, 99))
    def answer(self, at: int) -> None:
        job = self._any(at, "waiting")
        self.portal.call(lambda: self.stage.call("answer_job", job_id=job, answer="b"))

    @precondition(lambda self: self.stage.board.entries)
    @rule(at=st.integers(0, 99))
    def cancel_one(self, at: int) -> None:
        job = self._any(at, "queued", "running", "waiting", "done")
        self.portal.call(lambda: self.stage.call("cancel_job", job_id=job))

    @rule()
    def wait(self) -> None:
        self.portal.call(lambda: self.stage.call("wait_jobs", timeout=0.001))

    @rule()
    def boundary(self) -> None:
        self.portal.call(self.stage.deliver)

    @rule()
    def cancel_all(self) -> None:
        self.portal.call(self.stage.cancel)
        assert not self._entries("queued", "running", "waiting")

    @invariant()
    def one_end_at_most(self) -> None:
        log = self.stage.log
        done = Counter(event.job for event in log.of(ev.JobDone))
        started = Counter(event.job for event in log.of(ev.JobStarted))
        assert set(done.values()) | set(started.values()) <= {1}
        ended = {entry.id for entry in self._entries("done")}
        assert done.keys() == ended

    @invariant()
    def nothing_is_told_twice(self) -> None:
        assert set(self.stage.told.values()) <= {1}

    @invariant()
    def places_are_held_by_those_that_work(self) -> None:
        running = len(self._entries("running"))
        assert self.stage.caps.tree.borrowed_tokens == running <= IN_TREE
        assert running <= OVER_EDGE
        if self._entries("queued"):
            assert running == OVER_EDGE


Jobs.TestCase.settings = settings(
    max_examples=250 if NIGHTLY else 15,
    stateful_step_count=50 if NIGHTLY else 35,
    deadline=None,
)
test_jobs_and_tokens_keep_their_promises_in_any_order = Jobs.TestCase
