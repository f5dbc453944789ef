"""One tool call of the faulty MCP server: the tools themselves, and what the knobs do to a call."""

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from hub.testing.faulty.offer import Offer
from hub.testing.faulty.process import Process
from hub.testing.faulty.results import spoil, text_result, tool_error
from hub.testing.faulty.rpc import INVALID_PARAMS, Message, Outlet, RpcError, notification


class Peer(Protocol):
    """The session, as a call sees it."""

    process: Process
    offer: Offer
    user: str | None
    modern: bool

    def announce(self, method: str, outlet: Outlet) -> None:
        """Send a notification wherever this client listens for it."""

    def alter(self, outlet: Outlet) -> None:
        """Make the changes of the knob `change` now, and announce them."""

    def ask(self, call: "Call") -> Message | None:
        """Ask the client what the knob `ask` says; the result shows the client's answer."""


class ToolFaultError(Exception):
    """A tool that fails in the way that tools may: its result says so."""


class Call:
    """One tools/call under way."""

    def __init__(self, peer: Peer, request: Message, outlet: Outlet) -> None:
        self.peer = peer
        self.outlet = outlet
        self.id = request["id"]
        self.params: Message = request.get("params") or {}
        self.name = str(self.params.get("name"))
        self.arguments: dict[str, Any] = self.params.get("arguments") or {}
        self.cancelled = threading.Event()
        self._knobs = peer.process.knobs
        self._reported = 0

    def run(self) -> Message | None:
        """The result of the call, or None when it stays without an answer.

        Raises:
            RpcError: The call is answered with a JSON-RPC error.
        """
        self._disturb()
        if not self.peer.offer.has(self.name):
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {self.name}")
        if not self.wait(self._knobs.number("call_delay")):
            return None
        if self._knobs.on("call_error"):
            raise RpcError(self._knobs.count("call_error"), "The call failed inside the server")
        try:
            result = _TOOLS.get(self.name, _extra)(self)
        except ToolFaultError as fault:
            result = tool_error(str(fault))
        return None if result is None else spoil(self._knobs, self.name, result)

    def wait(self, seconds: float) -> bool:
        """Let so much time pass, with progress as asked for; False when the call was cancelled."""
        end = time.monotonic() + seconds
        step = self._knobs.number("progress_every") / 1000
        report = time.monotonic() + step
        while (left := end - time.monotonic()) > 0:
            pause = min(left, 0.05, max(report - time.monotonic(), 0) if step else left)
            if self._cancelled_within(pause):
                return False
            if step and time.monotonic() >= report:
                report += step
                self._report_progress()
        return True

    def _disturb(self) -> None:
        """Carry out what the knobs ask for before the tool runs."""
        process, knobs = self.peer.process, self._knobs
        if knobs.on("crash_on_call"):
            process.crash(knobs.count("crash_on_call"), f"lost its database during {self.name}")
        for index in range(knobs.count("log_messages")):
            message = notification("notifications/message", level="info", data=f"line {index}")
            self.outlet.send(message)
        for _ in range(knobs.count("list_changed_storm")):
            self.peer.announce("notifications/tools/list_changed", self.outlet)
        if knobs.on("change_on_call"):
            self.peer.alter(self.outlet)

    def _cancelled_within(self, seconds: float) -> bool:
        """Whether a cancel comes within the time; without a handshake, leaving is a cancel."""
        if self.peer.modern and not self.cancelled.is_set() and self.outlet.gone():
            self.peer.process.log.write("disconnect", id=self.id)
            self.cancelled.set()
        if self._knobs.on("ignore_cancel"):
            time.sleep(seconds)
            return False
        return self.cancelled.wait(seconds)

    def _report_progress(self) -> None:
        token = (self.params.get("_meta") or {}).get("progressToken")
        if token is None:
            return
        self._reported += 1
        self.outlet.send(
            notification(
                "notifications/progress",
                progressToken=token,
                progress=self._reported,
                message=f"step {self._reported}",
            )
        )


def _argument(call: Call, name: str, kind: type | tuple[type, ...]) -> Any:
    value = call.arguments.get(name)
    if not isinstance(value, kind):
        raise ToolFaultError(f"argument {name!r} of {call.name} is missing or of the wrong type")
    return value


def _echo(call: Call) -> Message | None:
    text = _argument(call, "text", str)
    if call.peer.process.knobs.on("ask"):
        return call.peer.ask(call)
    style = call.arguments.get("style") or {}
    return text_result(text.upper() if style.get("case") == "upper" else text)


def _add(call: Call) -> Message:
    total = _argument(call, "a", (int, float)) + _argument(call, "b", (int, float))
    return text_result(str(total), structuredContent={"sum": total})


def _slow(call: Call) -> Message | None:
    seconds = _argument(call, "seconds", (int, float))
    return text_result(f"waited {seconds} s") if call.wait(seconds) else None


def _crash(call: Call) -> NoReturn:
    call.peer.process.crash(int(call.arguments.get("code", 1)), "the tool crash was called")


def _env(_call: Call) -> Message:
    return text_result(json.dumps(dict(os.environ)))


def _spawn(call: Call) -> Message:
    how = str(call.arguments.get("how", "group"))
    return text_result(str(call.peer.process.spawn(how)))


def _login(call: Call) -> Message:
    call.peer.user = _argument(call, "user", str)
    return text_result(f"hello {call.peer.user}")


def _whoami(call: Call) -> Message:
    process = call.peer.process
    me = {"user": call.peer.user, "pid": os.getpid(), "start": process.knobs.start}
    return text_result(json.dumps(me))


def _extra(call: Call) -> Message:
    return text_result(f"{call.name} ran")


_TOOLS: dict[str, Callable[[Call], Message | None]] = {
    "echo": _echo,
    "add": _add,
    "slow": _slow,
    "crash": _crash,
    "env": _env,
    "spawn": _spawn,
    "login": _login,
    "whoami": _whoami,
}
