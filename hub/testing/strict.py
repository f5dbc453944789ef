"""The strict validator: refuses what the strictest model servers refuse (S7 of the field cases)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ROLES = ("system", "developer", "user", "assistant", "tool")


def violations(body: Mapping[str, Any]) -> list[str]:
    """Return what is illegal in the body of a chat-completions request, as sentences.

    Every call needs exactly one result, directly behind its message; no result may lack its call;
    no assistant message may be empty or hold reasoning alone; content may not be "" beside calls;
    ids may not repeat; arguments must be JSON; no text may hold a lone surrogate; tools need legal
    names and object schemas, and the tool choice must name one of them.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages must be a list that is not empty"]
    return [
        *_history(messages),
        *_tools(body),
        *(f"a lone surrogate in {place}" for place in _surrogates(body, "body")),
    ]


def _history(messages: list[Any]) -> Iterator[str]:
    open_calls: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            yield f"message {at} has no known role"
            continue
        if message["role"] == "tool":
            yield from _result(at, message, open_calls)
            continue
        if open_calls:
            yield f"message {at} comes before the results of calls {open_calls}"
            open_calls = []
        if message["role"] == "assistant":
            yield from _assistant(at, message, seen)
            open_calls = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        elif not _has_text(message):
            yield f"message {at} ({message['role']}) is empty"
    if open_calls:
        yield f"calls {open_calls} have no result"


def _result(at: int, message: Mapping[str, Any], open_calls: list[str]) -> Iterator[str]:
    call_id = message.get("tool_call_id")
    if call_id not in open_calls:
        yield f"message {at} is a result without a call before it: {call_id!r}"
    else:
        open_calls.remove(str(call_id))
    if not isinstance(message.get("content"), str | list):
        yield f"message {at}, a result, has no content"


def _assistant(at: int, message: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        yield f"message {at} has an empty list of calls"
    if calls and message.get("content") == "":
        yield f'message {at} has content "" beside its calls'
    if not calls and not _has_text(message):
        yield f"message {at} (assistant) has neither content nor calls"
    for call in calls or ():
        function = call.get("function") or {}
        if not call.get("id") or call["id"] in seen:
            yield f"message {at} has a call with an id that is missing or used before"
        seen.add(str(call.get("id")))
        if not _NAME.fullmatch(str(function.get("name", ""))):
            yield f"message {at} has a call with an illegal name {function.get('name')!r}"
        try:
            legal = isinstance(json.loads(function.get("arguments", "")), dict)
        except (ValueError, TypeError):
            legal = False
        if not legal:
            yield f"message {at} has a call whose arguments are no JSON object"


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    if tools is not None and not tools:
        yield "tools is an empty list"
    names = []
    for tool in tools or ():
        function = tool.get("function") or {}
        names.append(function.get("name"))
        if not _NAME.fullmatch(str(function.get("name", ""))):
            yield f"the tool name {function.get('name')!r} is illegal"
        parameters = function.get("parameters")
        if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
            yield f"the parameters of {function.get('name')} are not of type object"
    if len(set(names)) != len(names):
        yield "a tool name is used twice"
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping):
        wanted = (choice.get("function") or {}).get("name")
        if wanted not in names:
            yield f"tool_choice names {wanted!r}, which is not among the tools"
    elif choice not in (None, "auto", "none", "required"):
        yield f"tool_choice {choice!r} is unknown"
    elif choice is not None and not names:
        yield "tool_choice is given without tools"


def _has_text(message: Mapping[str, Any]) -> bool:
    return bool(message.get("content"))


def _surrogates(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            yield place
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _surrogates(item, f"{place}.{key}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _surrogates(item, f"{place}[{at}]")
