"""One client's session with the faulty MCP server: what it answers to which request."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from hub.testing.faulty.asking import Questions, ask_by_reply, send_away
from hub.testing.faulty.calls import Call
from hub.testing.faulty.extras import CHANGED, prompts_page, resources_page, templates_page
from hub.testing.faulty.handshake import discover, initialize
from hub.testing.faulty.offer import Offer
from hub.testing.faulty.pages import page_of
from hub.testing.faulty.process import Process
from hub.testing.faulty.rpc import (
    METHOD_NOT_FOUND,
    SERVER_KEY,
    SUBSCRIPTION_KEY,
    VERSION_KEY,
    Message,
    Outlet,
    RpcError,
    notification,
    refusal,
    reply,
    server_info,
)

LIST_CHANGED = "notifications/tools/list_changed"
STREAMED = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
"""The changes that a 2026 stream of notifications can tell."""


class _Stream(NamedTuple):
    """A place where this client listens for notifications."""

    outlet: Outlet
    subscription: object = None
    """The id of the 2026 request that opened it; None in the handshake era."""

    def send(self, method: str) -> None:
        """Send a notification without parameters."""
        if self.subscription is None:
            self.outlet.send(notification(method))
        else:
            self.outlet.send(notification(method, _meta={SUBSCRIPTION_KEY: self.subscription}))


class Session:
    """Everything that one client has said so far, and the answers to what it says next."""

    def __init__(self, process: Process, name: str) -> None:
        self.process = process
        self.name = name
        self.offer = Offer(process.knobs)
        self.user: str | None = None
        self.modern = False
        """Whether the client speaks without a handshake."""
        self.calls_taken = 0
        self._knobs = process.knobs
        self._streams: list[_Stream] = []
        self._calls: dict[object, Call] = {}
        self._questions = Questions()
        self._methods: dict[str, Callable[[Message, Outlet], Message | None]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": self._ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "prompts/list": partial(self._list_extras, prompts_page),
            "prompts/get": self._get_prompt,
            "resources/list": partial(self._list_extras, resources_page),
            "resources/templates/list": partial(self._list_extras, templates_page),
            "resources/read": self._read_resource,
            "logging/setLevel": lambda _request, _outlet: {},
            "subscriptions/listen": self._listen,
        }

    def notice(self, message: Message) -> None:
        """Take a notification or the answer to a question of ours."""
        log = self.process.log
        if "method" not in message:
            known = self._questions.settle(message)
            log.write("answer", id=message.get("id"), known=known, error="error" in message)
            return
        params = message.get("params") or {}
        log.write("notification", method=message["method"], session=self.name)
        if message["method"] == "notifications/cancelled":
            self._cancel(params.get("requestId"), params.get("reason"))

    def take(self, request: Message, outlet: Outlet) -> Callable[[], None]:
        """Note a request, so that it can be cancelled; the value answers it when it is called."""
        self._recognise(request)
        method = request["method"]
        self.process.log.write("request", method=method, id=request["id"], session=self.name)
        if method == "tools/call":
            self.calls_taken += 1
            self._calls[request["id"]] = Call(self, request, outlet)
        return partial(self._answer, request, outlet)

    def open_stream(self, outlet: Outlet, subscription: object = None) -> None:
        """Send notifications to this outlet as well from now on."""
        self._streams.append(_Stream(outlet, subscription))

    @property
    def outlet(self) -> Outlet:
        """The outlet that has listened longest."""
        return self._streams[0].outlet

    def close_stream(self, outlet: Outlet) -> None:
        """Send no more notifications to this outlet."""
        self._streams = [stream for stream in self._streams if stream.outlet is not outlet]

    def close(self) -> None:
        """Cancel the calls under way, because the client has left."""
        for call in list(self._calls.values()):
            call.cancelled.set()

    def announce(self, method: str, outlet: Outlet) -> None:
        """Send a notification wherever this client listens, or else beside the reply."""
        streams = self._listening()
        if not streams and not self.modern:
            outlet.send(notification(method))
        for stream in streams:
            stream.send(method)

    def alter(self, outlet: Outlet) -> None:
        """Make the changes of the knob `change`, if that has not been done, and announce them."""
        if not self.offer.changed:
            self.offer.changed = True
            self.announce(LIST_CHANGED, outlet)

    def ask(self, call: Call) -> Message | None:
        """Ask the client what the knob `ask` says, in the way of its era."""
        kind = self._knobs.text("ask")
        if kind == "away":
            raise send_away()
        return ask_by_reply(call, kind) if self.modern else self._questions.put(call, kind)

    def _listening(self) -> list[_Stream]:
        """The streams of the era that the client speaks."""
        return [item for item in self._streams if (item.subscription is not None) == self.modern]

    def _cancel(self, identity: object, reason: object) -> None:
        call = self._calls.get(identity)
        running = call is not None
        self.process.log.write("cancel", id=identity, reason=reason, running=running)
        if call is not None:
            call.cancelled.set()
        self._streams = [
            item
            for item in self._streams
            if item.subscription is None or item.subscription != identity
        ]

    def _answer(self, request: Message, outlet: Outlet) -> None:
        """Answer one request, wrongly or never where a knob says so."""
        if self._knobs.on("mute"):
            outlet.withhold()
            return
        try:
            handler = self._methods.get(request["method"])
            if handler is None:
                raise RpcError(METHOD_NOT_FOUND, f"Method not found: {request['method']}")
            result = handler(request, outlet)
        except RpcError as error:
            outlet.send(refusal(request, error))
        else:
            self._deliver(request, result, outlet)
        self._exit_after(request["method"])

    def _recognise(self, request: Message) -> None:
        """Note the era that the client speaks, and refuse nothing yet."""
        meta = (request.get("params") or {}).get("_meta") or {}
        if request["method"] == "initialize":
            self.modern = False
        elif VERSION_KEY in meta and self._knobs.text("era") in {"both", "modern"}:
            self.modern = True

    def _deliver(self, request: Message, result: Message | None, outlet: Outlet) -> None:
        if result is None:
            outlet.withhold()
            return
        message = reply(request, self._stamp(request["method"], result))
        if request["method"] == "tools/call" and self._knobs.on("torn_reply"):
            outlet.tear(message)
            self.process.exit(9, "torn reply")
        if request["method"] == "tools/call" and self._knobs.on("drop_connection"):
            outlet.drop()
            return
        outlet.send(message)

    def _stamp(self, method: str, result: Message) -> Message:
        """The result with the members that the 2026 wire requires."""
        if not self.modern:
            return result
        stamped = {
            "resultType": "complete",
            **result,
            "_meta": {SERVER_KEY: server_info(self._knobs)},
        }
        if method.endswith("/list") or method == "server/discover":
            stamped |= {"ttlMs": 0, "cacheScope": "private"}
        return stamped

    def _exit_after(self, method: str) -> None:
        for knob, last in (
            ("exit_after_initialize", "initialize"),
            ("exit_after_list", "tools/list"),
        ):
            if method == last and self._knobs.on(knob):
                self.process.exit(self._knobs.count(knob), f"after {last}")

    def _initialize(self, _request: Message, _outlet: Outlet) -> Message | None:
        result = initialize(self.process, self.offer)
        self._schedule_late_tool()
        return result

    def _discover(self, _request: Message, _outlet: Outlet) -> Message | None:
        result = discover(self.process, self.offer, modern=self.modern)
        self._schedule_late_tool()
        return result

    def _ping(self, _request: Message, _outlet: Outlet) -> Message | None:
        if self._knobs.on("ping_unsupported"):
            raise RpcError(METHOD_NOT_FOUND, "Method not found: ping")
        return None if self._knobs.on("ping_never") else {}

    def _list_tools(self, request: Message, outlet: Outlet) -> Message | None:
        knobs = self._knobs
        if knobs.on("list_error"):
            raise RpcError(knobs.count("list_error"), "The tools cannot be listed")
        if knobs.on("list_never"):
            return None
        time.sleep(knobs.number("list_delay"))
        if knobs.on("list_changed_on_list"):
            self.announce(LIST_CHANGED, outlet)
        return page_of(knobs, self.offer.tools(), (request.get("params") or {}).get("cursor"))

    def _list_extras(
        self,
        page: Callable[[Process, Offer, str | None], Message | None],
        request: Message,
        _outlet: Outlet,
    ) -> Message | None:
        return page(self.process, self.offer, (request.get("params") or {}).get("cursor"))

    def _read_resource(self, request: Message, _outlet: Outlet) -> Message:
        uri = (request.get("params") or {}).get("uri", "")
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"The text of {uri}."}]}

    def _call_tool(self, request: Message, outlet: Outlet) -> Message | None:
        for _ in range(self._knobs.count("extras_changed")):
            self.offer.more = 1
            for method in CHANGED:
                self.announce(method, outlet)
        call = self._calls[request["id"]]
        self.process.log.write("call", id=call.id, name=call.name, arguments=call.arguments)
        if self._knobs.on("call_never"):
            return None
        try:
            result = call.run()
        finally:
            self._calls.pop(call.id, None)
        self.process.log.write("called", id=call.id, name=call.name, answered=result is not None)
        return result

    def _get_prompt(self, request: Message, _outlet: Outlet) -> Message:
        params: dict[str, Any] = request.get("params") or {}
        name = str((params.get("arguments") or {}).get("name", "you"))
        text = self.offer.prompt_text(name)
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def _listen(self, request: Message, outlet: Outlet) -> Message | None:
        wanted = (request.get("params") or {}).get("notifications") or {}
        honoured = {key: wanted[key] for key in STREAMED if wanted.get(key)}
        meta = {SUBSCRIPTION_KEY: request["id"]}
        acknowledged = "notifications/subscriptions/acknowledged"
        outlet.send(notification(acknowledged, _meta=meta, notifications=honoured))
        self.open_stream(outlet, request["id"])
        return None

    def _schedule_late_tool(self) -> None:
        if not self._knobs.on("late_tools"):
            return

        def arrive() -> None:
            self.offer.late = True
            for stream in self._listening():
                stream.send(LIST_CHANGED)

        timer = threading.Timer(self._knobs.number("late_tools"), arrive)
        timer.daemon = True
        timer.start()
