"""The one ordered path of a tool call: note, parse, validate, rule, call, normalise, result."""

import json
from collections.abc import Mapping, Sequence, Set
from difflib import get_close_matches
from typing import Any

from msgspec.structs import asdict

from hub.core import events as ev
from hub.core.jobs import Denials, DeniedCall
from hub.core.messages import Message, ToolCall, ToolOutcome, ToolSpec
from hub.core.offer import TOOL_SEARCH, Offer
from hub.core.ports import Asker, CallContext, Clock, Journal, Question, Tool
from hub.core.results import HANDS_ON, READ_RESULT, Shelf
from hub.permissions.policy import Policy, Ruling
from hub.pipeline.arguments import BadArguments, coerce, parse_arguments, validate
from hub.pipeline.finish import finished


class Refused(Exception):
    """A call that ends before its tool is reached; the outcome is for the model."""

    def __init__(self, outcome: ToolOutcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class CallPath:
    """Takes the calls of one agent to their tools and their results to the log."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        withheld: Set[str],
        policy: Policy,
        asker: Asker,
        journal: Journal,
        clock: Clock,
        denials: Denials,
        shelf: Shelf,
        offer: Offer,
        allowed: set[str] | None = None,
    ) -> None:
        """Make the path; ``allowed`` holds the tools that a person allowed for the session.

        ``tools`` may be more than are on ``offer``; one that is called joins it.
        """
        self._tools = tools
        self._withheld = withheld
        self._policy = policy
        self._asker = asker
        self._journal = journal
        self._clock = clock
        self._denials = denials
        self._shelf = shelf
        self._offer = offer
        self._heard = 0
        self._allowed = set[str]() if allowed is None else allowed

    def hear(self, messages: Sequence[Message]) -> None:
        """Look at what has joined the conversation: ``read_result`` is offered from a handle on.

        It may stand in a result, in a task, in the report of a child, or in what a user says.
        """
        new, self._heard = messages[self._heard :], len(messages)
        if any(self._shelf.mentions(message.text) for message in new):
            self._offer.load((READ_RESULT,))

    def spec(self, name: str) -> ToolSpec | None:
        """Return how a tool is offered; None when the agent has no tool of this name."""
        tool = self._tools.get(name)
        return tool.spec if tool else None

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Take one call to its result; exactly one ``tool.result`` is noted for it.

        A cancelled call has no result here: whoever cancels settles the log.
        """
        started = self._clock.monotonic()
        self._journal.note(
            ev.ToolCallEvent(call_id=call.id, name=call.name, arguments=call.arguments)
        )
        try:
            tool = self._find(call)
            arguments = self._read(tool, call)
            shown = getattr(tool, "shown", dict)(arguments)
            await self._permit(tool.spec, call, shown)
            outcome = await self._reach(tool, call, arguments)
            outcome = await finished(outcome, tool, self._shelf, own=self._is_own(tool.spec))
        except Refused as refused:
            outcome = self._shelf.shape(refused.outcome, own=True)
        return self._note(call, outcome, self._clock.monotonic() - started)

    def settle(self, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """Note an outcome of our own making as the result of a call."""
        return self._note(call, self._shelf.shape(outcome, own=True), 0.0)

    def _note(self, call: ToolCall, outcome: ToolOutcome, elapsed: float) -> ToolOutcome:
        self._journal.note(result_event(call, outcome, duration_ms=round(elapsed * 1000)))
        if not outcome.is_error:
            self._denials.made_good(call.name)
        return outcome

    def _is_own(self, spec: ToolSpec) -> bool:
        """Say whether a tool came with the hub and bounds its results itself."""
        if spec.server:
            return spec.server in self._policy.bundled
        return spec.name not in HANDS_ON

    def _find(self, call: ToolCall) -> Tool:
        tool = self._tools.get(call.name)
        if tool is not None:
            self._offer.load((call.name,))
            return tool
        if call.name in self._withheld:
            ruling = Ruling("deny", f"the role's tools do not include {call.name}", "role")
            raise Refused(self._deny(call, ruling))
        near = get_close_matches(call.name, list(self._tools), n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        hint += " Look for others with tool_search." if TOOL_SEARCH in self._tools else ""
        text = f"There is no tool {call.name!r}.{hint}"
        raise Refused(ToolOutcome(text, is_error=True, kind="unknown_tool"))

    def _read(self, tool: Tool, call: ToolCall) -> dict[str, Any]:
        schema = getattr(tool, "validation_schema", None) or tool.spec.parameters
        complete = getattr(tool, "complete", None)
        try:
            arguments = parse_arguments(call.arguments)
            if complete is not None:
                arguments = complete(arguments)
            arguments = coerce(arguments, schema)
            validate(arguments, schema)
        except (BadArguments, ValueError) as error:
            outcome = ToolOutcome(str(error), is_error=True, kind="invalid_arguments")
            raise Refused(outcome) from None
        return arguments

    async def _permit(self, spec: ToolSpec, call: ToolCall, arguments: dict[str, Any]) -> None:
        ruling = self._policy.judge(spec)
        if ruling.effect == "ask" and spec.name in self._allowed:
            ruling = Ruling("allow", "allowed for the session", "answer")
        if ruling.effect == "ask":
            ruling = await self._ask(spec, call, arguments, ruling)
        if ruling.effect == "deny":
            raise Refused(self._deny(call, ruling))
        self._note_ruling(call, ruling)

    async def _ask(
        self, spec: ToolSpec, call: ToolCall, arguments: dict[str, Any], ruling: Ruling
    ) -> Ruling:
        self._note_ruling(call, ruling)
        question = Question(
            agent=self._journal.agent,
            call_id=call.id,
            tool=spec.name,
            arguments=json.dumps(arguments, ensure_ascii=False, sort_keys=True),
            reason=ruling.reason,
        )
        match await self._asker.ask(question):
            case "once":
                return Ruling("allow", "allowed once", "answer")
            case "session":
                self._allowed.add(spec.name)
                return Ruling("allow", "allowed for the session", "answer")
            case "deny":
                return Ruling("deny", "the user denied it", "answer")
            case "nobody":
                return Ruling("deny", f"{ruling.reason}, and nobody could be asked", ruling.origin)

    def _deny(self, call: ToolCall, ruling: Ruling) -> ToolOutcome:
        self._note_ruling(call, ruling)
        self._denials.add(DeniedCall(self._journal.agent, call.name, ruling.reason))
        text = f"Denied: {ruling.reason}. The call was not run; do not try it again unchanged."
        return ToolOutcome(text, is_error=True, kind="denied")

    def _note_ruling(self, call: ToolCall, ruling: Ruling) -> None:
        self._journal.note(
            ev.ToolRulingEvent(
                call_id=call.id,
                name=call.name,
                ruling=ruling.effect,
                reason=ruling.reason,
                origin=ruling.origin,
            )
        )

    async def _reach(self, tool: Tool, call: ToolCall, arguments: dict[str, Any]) -> ToolOutcome:
        def progress(message: str, done: float | None, total: float | None) -> None:
            self._journal.tell(
                ev.ToolProgress(
                    call_id=call.id, name=call.name, message=message, progress=done, total=total
                )
            )

        journal = self._journal
        context = CallContext(journal.session, journal.agent, call.id, progress, journal.note)
        try:
            return await tool.call(arguments, context)
        except Exception as error:  # noqa: BLE001 - one tool call: its fault is a result, not ours
            text = f"The tool failed: {type(error).__name__}: {error}"
            return ToolOutcome(text, is_error=True, kind="tool_failed")


def result_event(
    call: ToolCall, outcome: ToolOutcome, *, duration_ms: int = 0
) -> ev.ToolResultEvent:
    """Return an outcome, as a shelf shaped it, as the event that is stored for a call."""
    return ev.ToolResultEvent(
        call_id=call.id,
        name=call.name,
        text=outcome.text,
        is_error=outcome.is_error,
        kind=outcome.kind,
        structured=outcome.structured,
        blocks=list(outcome.blocks),
        warnings=list(outcome.warnings),
        kept=[ev.Kept(**asdict(part)) for part in outcome.kept],
        duration_ms=duration_ms,
        delivers=list(outcome.delivers),
    )
