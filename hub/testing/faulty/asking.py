"""What the faulty MCP server asks its client in the middle of a call, in the way of either era."""

import itertools
import json
import queue

from hub.testing.faulty.calls import Call
from hub.testing.faulty.results import text_result
from hub.testing.faulty.rpc import Message, RpcError

_SCHEMA: Message = {"type": "object", "properties": {"colour": {"type": "string"}}}

_FORM: Message = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "age": {"type": "integer", "minimum": 0},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
        "toppings": {
            "type": "array",
            "items": {"anyOf": [{"const": "c", "title": "Cheese"}, {"const": "o"}]},
        },
        "news": {"type": "boolean", "default": False},
    },
    "required": ["name", "size"],
}

_QUESTIONS: dict[str, Message] = {
    "form": {
        "method": "elicitation/create",
        "params": {"message": "Your order, please.", "requestedSchema": _FORM},
    },
    "elicitation": {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Which colour?", "requestedSchema": _SCHEMA},
    },
    "url": {
        "method": "elicitation/create",
        "params": {
            "mode": "url",
            "message": "Please sign in.",
            "url": "http://127.0.0.1:9/sign-in",
            "elicitationId": "sign-in-1",
        },
    },
    "roots": {"method": "roots/list"},
    "sampling": {
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello."}}],
            "maxTokens": 16,
        },
    },
}

_AWAY = -32042
"""The error by which a server wants an address opened before it takes a call."""
_PATIENCE = 0.05
"""Seconds between two looks whether the call was cancelled."""


class Questions:
    """The requests that the server has sent to its client and that are not answered yet."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._open: dict[object, queue.SimpleQueue[Message]] = {}

    def settle(self, answer: Message) -> bool:
        """Hand over the client's answer; False when nothing was asked under its id."""
        waiting = self._open.pop(answer.get("id"), None)
        if waiting is None:
            return False
        waiting.put(answer)
        return True

    def put(self, call: Call, kind: str) -> Message | None:
        """Ask over the back channel and wait; None when the call is cancelled meanwhile.

        With the kind ``again``, ask for an answer of the model six times.
        """
        if kind == "again":
            answers = [self._asked(call, "sampling") for _ in range(6)]
            return None if None in answers else answers[-1]
        return self._asked(call, kind)

    def _asked(self, call: Call, kind: str) -> Message | None:
        key = f"server-{next(self._ids)}"
        answers = self._open[key] = queue.SimpleQueue()
        call.outlet.send({"jsonrpc": "2.0", "id": key, **_QUESTIONS[kind]})
        while call.wait(0) and not call.cancelled.is_set() and not call.outlet.gone():
            try:
                answer = answers.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            shown = {name: answer[name] for name in ("result", "error") if name in answer}
            return text_result(json.dumps(shown))
        return None


def send_away() -> RpcError:
    """The error that sends the user to an address, in the way of either era."""
    question = {**_QUESTIONS["url"]["params"]}
    return RpcError(_AWAY, "Sign in first", {"elicitations": [question]})


def ask_by_reply(call: Call, kind: str) -> Message:
    """Ask by an `input_required` result; the repeated call brings the answers."""
    answers = call.params.get("inputResponses")
    if kind == "again":
        kind, answers = "sampling", None
    if answers is not None:
        return text_result(json.dumps({"result": answers.get(kind)}))
    question = {kind: _QUESTIONS[kind]}
    return {"resultType": "input_required", "inputRequests": question, "requestState": "asked"}
