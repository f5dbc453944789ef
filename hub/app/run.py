"""One run: what all agents of a tree share, and how a role becomes an agent."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from hub.app.above import ask_above
from hub.app.asking import AtWork
from hub.app.desk import Desk, Seating
from hub.app.isolation import Isolation, place_of
from hub.app.policies import policy_of
from hub.app.reporting import Reporting, report_duty
from hub.app.seat import CHILD_RULES, Seat
from hub.app.views import fitted, view
from hub.catalog.catalog import Catalog
from hub.catalog.explain import Profile
from hub.core import events as ev
from hub.core.asking import Elicitor
from hub.core.errors import UsageError
from hub.core.jobs import Denials, Failure, Job, ParentLink, TurnResult
from hub.core.ports import Asker, Clock, EventStore, Model, Tool
from hub.core.team import Grant, Role
from hub.dispatch.ask_tool import ASK, AskTool
from hub.dispatch.board import JobBoard
from hub.dispatch.build import DeriveGrant, Parent
from hub.dispatch.caps import Caps
from hub.dispatch.dispatcher import Dispatcher
from hub.dispatch.frame import task_message
from hub.dispatch.job_tools import job_tools
from hub.dispatch.report import REPORT, ReportTool
from hub.dispatch.tool import DISPATCH, DispatchTool
from hub.engine.agent import Agent
from hub.engine.feed import Feed, SessionJournal
from hub.engine.turn import run_turn
from hub.permissions.policy import Rule
from hub.pipeline.path import CallPath


class Run(Struct):
    """What the agents of one tree share."""

    workspace: Path
    roles: Mapping[str, Role]
    tools: Mapping[str, Tool]
    """The whole catalog, by model-facing name, in the order in which it is offered."""
    rules: tuple[Rule, ...]
    store: EventStore
    clock: Clock
    asker: Asker
    elicitor: Elicitor
    model_for: Callable[[Role], Model]
    profile_for: Callable[[Role], Profile]
    """What the servers of a role's model accept as schemas."""
    derive: DeriveGrant
    reporting: Reporting
    desk: Desk
    isolation: Isolation
    """Gives jobs work trees of their own."""
    release: Callable[[str], None] = lambda agent: None
    """Ends what servers keep for an agent, told by its path when its work is over."""
    bundled: frozenset[str] = frozenset()
    """Names of the servers that come with the hub and go by their own names."""
    caps: Caps = field(default_factory=Caps)
    """How many jobs run at once."""
    answer_seconds: float = 600.0
    """How long a child waits for the answer to a question."""
    at_work: dict[str, AtWork] = field(default_factory=dict)
    """The agents that may have calls under way, by session."""
    feed: Feed = field(default_factory=Feed)
    """Where events go; one for each prompt of the user."""

    def agent(self, seat: Seat, *, final: bool) -> Agent:
        """Put the parts of an agent together."""
        journal = self._journal(seat)
        profile = self.profile_for(seat.role)
        board = self._board(seat, journal)
        seating: Seating
        dispatcher = self._dispatcher(
            seat, journal, board, lambda: seating.offer.load(tool.spec.name for tool in later)
        )
        later = job_tools(dispatcher, self.clock) if seat.role.dispatch else []
        report = self.reporting.tool(seat.role, seat.job, self._folder(seat), journal, board)
        tools = self._tools(seat, dispatcher, report)
        seating = self.desk.seating(
            tools,
            there=self.tools,
            sees=lambda new: view(new, seat.grant, profile),
            loaded=seat.loaded,
            later={tool.spec.name: fitted(tool, profile) for tool in later},
            note=lambda names: journal.note(ev.ToolsLoaded(names=names)),
            fit=lambda tool: fitted(tool, profile),
        )
        policy = policy_of(seat.role, seat.grant, self.rules, self.bundled)
        path = CallPath(
            tools,
            withheld=seating.withheld,
            policy=policy,
            asker=self.asker,
            journal=journal,
            clock=self.clock,
            denials=seat.denials,
            shelf=self.desk.shelf,
            offer=seating.offer,
            allowed=seat.allowed,
        )
        agent = Agent(
            model=self.model_for(seat.role),
            instructions=seat.role.instructions + (CHILD_RULES if seat.job else ""),
            offer=seating.offer,
            path=path,
            journal=journal,
            ledger=seat.ledger,
            cancel=seat.cancel,
            clock=self.clock,
            denials=seat.denials,
            duty=report_duty(report),
            jobs=board if seat.role.dispatch or seat.left else None,
            final=final,
        )
        self.at_work[seat.session] = AtWork(agent, policy, seat.allowed, seating.join)
        return agent

    def _board(self, seat: Seat, journal: SessionJournal) -> JobBoard:
        above = ask_above(seat.link, self.elicitor)
        return JobBoard(journal, self.clock, above=above, left=seat.left)

    def _journal(self, seat: Seat) -> SessionJournal:
        return SessionJournal(
            store=self.store,
            feed=self.feed,
            clock=self.clock,
            session=seat.session,
            agent=seat.path,
            conversation=seat.conversation,
            seq=seat.seq,
            turn=seat.turn,
        )

    def _folder(self, seat: Seat) -> Path:
        return seat.workspace or self.workspace

    async def run_child(
        self, job: Job, link: ParentLink, denials: Denials, workspace: Path
    ) -> TurnResult:
        """Run a dispatched job in a session of its own, to its end."""
        role = self.roles[job.role]
        seat = Seat(
            role=role,
            session=job.session,
            path=job.agent,
            depth=job.depth,
            grant=job.grant,
            ledger=job.ledger,
            cancel=job.cancel,
            denials=Denials(denials),
            job=job,
            link=link,
            workspace=workspace,
        )
        try:
            agent = self.agent(seat, final=True)
        except UsageError as error:
            failure = Failure(error.code, str(error))
            return TurnResult("model_error", "model_error", error=failure)
        self.open_session(seat, agent)
        result: TurnResult | None = None
        try:
            place = place_of(job, workspace)
            result = await run_turn(agent, task_message(job.task, job.context, job.files, place))
        finally:
            outcome = "cancelled" if result is None else result.outcome
            self.release(seat.path)
            del self.at_work[seat.session]
            agent.journal.note(ev.SessionDone(outcome=outcome))
        return result

    def open_session(self, seat: Seat, agent: Agent) -> None:
        """Register a new session and note its start."""
        parent = seat.job.parent_session if seat.job else ""
        self.store.create(
            seat.session, parent=parent, role=seat.role.name, workspace=str(self.workspace)
        )
        agent.journal.note(
            ev.SessionStarted(
                role=seat.role.name,
                model=agent.model.name,
                workspace=str(self._folder(seat)),
                parent=parent,
                job=seat.job.id if seat.job else "",
                depth=seat.depth,
                tools=[spec.name for spec in agent.offer.specs],
            )
        )

    def renew(self, tools: Mapping[str, Tool], catalog: Catalog) -> None:
        """Offer other tools from the next turn on."""
        self.tools = tools
        self.desk.index.renew(catalog.tools)

    def join(self, tools: Mapping[str, Tool], catalog: Catalog) -> None:
        """Offer what is new at the next step of every agent, and to every later one."""
        new = {name: tool for name, tool in tools.items() if name not in self.tools}
        self.renew(tools, catalog)
        for found in self.at_work.values():
            found.join(new)

    def offered(self, grant: Grant, role: Role) -> dict[str, Tool]:
        """Return the tools that a grant leaves, in the form for the role's model."""
        return view(self.tools, grant, self.profile_for(role))

    def _tools(
        self, seat: Seat, dispatcher: Dispatcher, report: ReportTool | None
    ) -> dict[str, Tool]:
        tools: dict[str, Tool] = self.offered(seat.grant, seat.role)
        if seat.role.dispatch:
            tools[DISPATCH] = DispatchTool(seat.role, self.roles, dispatcher)
        if seat.link is not None:
            tools[ASK] = AskTool(seat.link)
        if report is not None:
            tools[REPORT] = report
        profile = self.profile_for(seat.role)
        return {name: fitted(tool, profile) for name, tool in tools.items()}

    def _dispatcher(
        self,
        seat: Seat,
        journal: SessionJournal,
        board: JobBoard,
        offer_job_tools: Callable[[], object],
    ) -> Dispatcher:
        parent = Parent(
            role=seat.role,
            grant=seat.grant,
            ledger=seat.ledger,
            cancel=seat.cancel,
            session=seat.session,
            agent=seat.path,
            depth=seat.depth,
            workspace=self._folder(seat),
            roles=self.roles,
            derive=self.derive,
            no_isolation=self.isolation.refusal,
            changes_of=self.isolation.saved.get,
        )

        async def run_child(job: Job, link: ParentLink) -> TurnResult:
            work = partial(self.run_child, job, link, seat.denials)
            return await self.isolation.run(job, parent.workspace, work)

        return Dispatcher(
            parent,
            run_child=run_child,
            board=board,
            caps=self.caps,
            link=seat.link,
            offer_job_tools=offer_job_tools,
            answer_seconds=self.answer_seconds,
            journal=journal,
            clock=self.clock,
            denials=seat.denials,
            numbers=seat.numbers,
        )
