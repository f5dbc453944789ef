"""What one connected server asks of us: answered under the settings, or refused at once.

In the handshake protocol a server sends a request of its own in the middle of a call; in the newer
one it answers the call with what it needs, and gets the call again with the answers. Both come
here. While somebody else has to answer, the clock of the call stands still.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import MCPError, types
from mcp.client.session import ClientRequestContext
from pydantic import ValidationError

from hub.connections.eliciting import judged, question_of, site_of
from hub.connections.forms import UnreadableForm
from hub.connections.gate import gated
from hub.connections.pending import Pending, Requests
from hub.connections.sampling import Refused, answered, request_of
from hub.connections.watch import Watch
from hub.core.asking import Answers
from hub.core.events import Event, ServerAsked
from hub.core.servers import Ask, ServerSpec
from hub.core.text import without_surrogates

MAX_ROUNDS = 10
"""How often one call may be answered with further questions."""
MOST_TOLD = 100
"""Refusals without a call that are told of one connection; a flood is told no further."""
MESSAGE_LENGTH = 500
"""Characters of a server's question that the log keeps."""
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 0.5
"""Seconds between rounds in which a server wants to be asked again without an answer of ours."""
_REJECTED = -1
"""The error with which the protocol lets a client refuse an answer of its model."""

_Found = TypeVar("_Found")
_Reply = types.ElicitResult | types.CreateMessageResult | types.ListRootsResult
Send = Callable[
    [types.InputResponses | None, str | None], Awaitable[_Found | types.InputRequiredResult]
]
"""Sends a request, with answers and the server's note of where it was."""


class Asking:
    """The questions of one connection."""

    def __init__(
        self,
        spec: ServerSpec,
        *,
        workspace: Path,
        answers: Answers,
        emit: Callable[[Event], None],
        watch: Watch,
    ) -> None:
        self.requests = Requests()
        self._spec = spec
        self._workspace = workspace
        self._answers = answers
        self._emit = emit
        self._watch = watch
        self._told = 0

    def guarded(self, transport: Any) -> Any:
        """Return a transport through which nothing comes that the server may not ask."""
        if self._spec.transport == "memory":
            return transport
        return gated(transport, frozenset(self._spec.may_ask), self.turned_away)

    def callbacks(self) -> dict[str, Any]:
        """Return what an MCP client is to be given; it declares just what the settings allow."""
        allowed = self._spec.may_ask
        found: dict[str, Any] = {}
        if "elicitation" in allowed:
            found["elicitation_callback"] = self._elicitation
        if "roots" in allowed:
            found["list_roots_callback"] = self._roots
        if "sampling" in allowed:
            found["sampling_callback"] = self._sampling
        return found

    def turned_away(self, asked: Ask) -> str:
        """Note that something was asked which may not be, and return why."""
        reason = self._forbidden(asked)
        concerned = self.requests.concerned()
        if concerned or self._told < MOST_TOLD:
            self._told += not concerned
            self._note(concerned, asked=asked, outcome="refused", reason=reason)
        return reason

    async def resolve(self, pending: Pending, send: Send[_Found]) -> _Found:
        """Send a request, and again with answers as long as the server asks for something.

        Raises:
            Refused: the server does not get what it asks for, and why.
        """
        responses: types.InputResponses | None = None
        state, pause = None, FIRST_PAUSE
        for _ in range(MAX_ROUNDS):
            reply = await send(responses, state)
            if not isinstance(reply, types.InputRequiredResult):
                return reply
            state, responses = reply.request_state, None
            if reply.input_requests:
                responses = {
                    key: await self._response(request, pending)
                    for key, request in reply.input_requests.items()
                }
            else:
                await anyio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        raise Refused(f"it asked for something {MAX_ROUNDS} times in one call")

    async def sent_away(self, error: MCPError, pending: Pending) -> str:
        """Show the user the addresses without which a call is refused; return what came of it."""
        try:
            found = types.ElicitationRequiredErrorData.model_validate(error.data)
        except ValidationError:
            return "it wants the user to open an address, and does not say which"
        for params in found.elicitations[:MAX_ROUNDS]:
            if "elicitation" not in self._spec.may_ask:
                return self.turned_away("elicitation")
            result = await self._elicited(params, (pending,))
            if result.action != "accept":
                return "it wants the user to open an address, which the user does not do"
        return (
            "the user was shown an address to open and agreed. Call again once that is done; ask "
            "the user when in doubt"
        )

    async def _response(self, request: types.InputRequest, pending: Pending) -> _Reply:
        """Answer one question of the newer protocol.

        Raises:
            Refused: there is no answer to give.
        """
        match request:
            case types.ElicitRequest(params=params):
                if "elicitation" in self._spec.may_ask:
                    return await self._elicited(params, (pending,))
                self.turned_away("elicitation")
                return types.ElicitResult(action="decline")
            case types.CreateMessageRequest(params=params):
                if "sampling" not in self._spec.may_ask:
                    raise Refused(self.turned_away("sampling"))
                return await self._sampled(params, (pending,))
            case types.ListRootsRequest():
                if "roots" not in self._spec.may_ask:
                    raise Refused(self.turned_away("roots"))
                return self._rooted((pending,))

    async def _elicitation(
        self, _context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        return await self._elicited(params, self.requests.concerned())

    async def _sampling(
        self, _context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        try:
            return await self._sampled(params, self.requests.concerned())
        except Refused as refused:
            return types.ErrorData(code=_REJECTED, message=str(refused))

    async def _roots(self, _context: ClientRequestContext) -> types.ListRootsResult:
        return self._rooted(self.requests.concerned())

    async def _elicited(
        self, params: types.ElicitRequestParams, concerned: Sequence[Pending]
    ) -> types.ElicitResult:
        url = params.url if isinstance(params, types.ElicitRequestURLParams) else ""
        told: dict[str, Any] = {"asked": "elicitation", "message": self._cut(params.message)}
        try:
            if url:
                told["site"] = site_of(url)
            question = question_of(self._spec.name, params, concerned)
        except UnreadableForm as error:
            self._note(concerned, **told, outcome="refused", reason=str(error))
            return types.ElicitResult(action="decline")
        told["fields"] = [field.name for field in question.fields]
        done = await self._while_open(concerned, lambda: self._answers.elicit(question))
        action, outcome, reason = judged(done, question)
        self._note(concerned, **told, outcome=outcome, reason=reason)
        content = dict(done.content) if done and action == "accept" and not url else None
        return types.ElicitResult(action=action, content=content)

    async def _sampled(
        self, params: types.CreateMessageRequestParams, concerned: Sequence[Pending]
    ) -> types.CreateMessageResult:
        """Let the model of the calling agent answer.

        Raises:
            Refused: it does not, and why.
        """
        told: dict[str, Any] = {"asked": "sampling"}
        try:
            request, context = request_of(self._spec.name, params, concerned)
        except Refused as refused:
            self._note(concerned, **told, outcome="refused", reason=str(refused))
            raise
        told["message"] = self._cut(request.messages[-1].text)
        sample = self._answers.sample
        done = await self._while_open(concerned, lambda: sample(request, context))
        if done is None or done.refused:
            reason = done.refused if done else "the call has ended"
            outcome = "cancelled" if done is None else "failed" if done.failed else "refused"
            self._note(concerned, **told, outcome=outcome, reason=reason)
            raise Refused(reason)
        self._note(concerned, **told, outcome="answered")
        return answered(done)

    def _rooted(self, concerned: Sequence[Pending]) -> types.ListRootsResult:
        self._note(concerned, asked="roots", outcome="answered")
        uri: Any = self._workspace.absolute().as_uri()
        return types.ListRootsResult(roots=[types.Root(uri=uri, name=self._workspace.name)])

    async def _while_open(
        self, concerned: Sequence[Pending], ask: Callable[[], Awaitable[_Found]]
    ) -> _Found | None:
        """Wait for an answer with the clocks of the requests stopped; None when all have ended."""
        found: _Found | None = None
        async with anyio.create_task_group() as group:

            async def leave() -> None:
                for pending in concerned:
                    await pending.over.wait()
                group.cancel_scope.cancel()

            group.start_soon(leave)
            with ExitStack() as stack:
                for pending in concerned:
                    stack.enter_context(pending.waiting())
                found = await ask()
            group.cancel_scope.cancel()
        return found

    def _forbidden(self, asked: Ask) -> str:
        return f"hub does not answer {asked} for this server: servers.{self._spec.name}.may_ask"

    def _cut(self, text: str) -> str:
        return self._watch.told(without_surrogates(text))[:MESSAGE_LENGTH]

    def _note(self, concerned: Sequence[Pending], **fields: Any) -> None:
        """Put into the log that something was asked, in the session of the call if it is known."""
        context = concerned[0].context if len(concerned) == 1 else None
        call_id = context.call_id if context is not None else ""
        event = ServerAsked(server=self._spec.name, call_id=call_id, **fields)
        emit = context.note if context is not None and context.note is not None else self._emit
        emit(event)
