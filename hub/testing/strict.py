"""The strict validator: refuses what the strictest model servers refuse (S7 of the field cases)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<lone>u[dD][89a-fA-F]\w\w)|.)")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def violations(body: Mapping[str, Any]) -> list[str]:
    """Return what is illegal in the body of a chat-completions request, as sentences.

    Every call needs exactly one result, directly behind its message; no result may lack its call;
    no assistant message may be empty or hold reasoning alone; content may not be "" beside calls;
    ids may not repeat; arguments must be JSON; no text may hold a lone surrogate; tools need legal
    names and object schemas, and the tool choice must name one of them.
    """
    history = History()
    messages = body.get("messages")
    history.add(messages if isinstance(messages, list) else [])
    return [*history.problems(), *tool_problems(body), *surrogate_problems(body)]


class History:
    """The messages of a request, checked one after the other; more may be added."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._count = 0
        self._open: list[str] = []
        self._seen: set[str] = set()

    def add(self, messages: Iterable[Any]) -> None:
        """Check the messages that follow."""
        for message in messages:
            self._found += self._message(self._count, message)
            self._count += 1

    def problems(self) -> list[str]:
        """Return what is illegal, if nothing follows."""
        if not self._count:
            return ["messages must be a list that is not empty"]
        return [*self._found, *([f"calls {self._open} have no result"] if self._open else [])]

    def _message(self, at: int, message: Any) -> Iterator[str]:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "tool":
            yield from self._result(at, message)
            return
        if not isinstance(role, str) or role not in _ROLES:
            yield f"message {at} has no known role"
            return
        if self._open:
            yield f"message {at} comes before the results of calls {self._open}"
            self._open = []
        if role == "assistant":
            yield from self._assistant(at, message)
        elif not _says_something(message.get("content")):
            yield f"message {at} ({role}) is empty"

    def _result(self, at: int, message: Mapping[str, Any]) -> Iterator[str]:
        call_id = message.get("tool_call_id")
        if call_id in self._open:
            self._open.remove(str(call_id))
        else:
            yield f"message {at} is a result without a call before it: {call_id!r}"
        if not isinstance(message.get("content"), str | list):
            yield f"message {at}, a result, has no content"

    def _assistant(self, at: int, message: Mapping[str, Any]) -> Iterator[str]:
        calls, content = message.get("tool_calls"), message.get("content")
        if calls is not None and not _is_list_of_mappings(calls):
            yield f"message {at} has tool_calls that are no list of objects"
            return
        if calls is not None and not calls:
            yield f"message {at} has an empty list of calls"
        if calls and content in ("", []):
            yield f"message {at} has empty content beside its calls"
        if not calls and not _says_something(content):
            yield f"message {at} (assistant) has neither content nor calls"
        for call in calls or ():
            yield from self._call(at, call)
        self._open = [str(call.get("id")) for call in calls or ()]

    def _call(self, at: int, call: Mapping[str, Any]) -> Iterator[str]:
        id_, function = call.get("id"), call.get("function")
        if not isinstance(id_, str) or not id_ or id_ in self._seen:
            yield f"message {at} has a call with an id that is missing or used before"
        self._seen.add(str(id_))
        if not isinstance(function, dict):
            yield f"message {at} has a call without a function"
            return
        if not _is_name(function.get("name")):
            yield f"message {at} has a call with an illegal name {function.get('name')!r}"
        arguments = function.get("arguments")
        if not isinstance(arguments, str) or not _is_object(arguments):
            yield f"message {at} has a call whose arguments are no JSON object"
        elif any(escape["lone"] for escape in _ESCAPE.finditer(arguments)):
            yield f"message {at} has a call with a lone surrogate in its arguments"


def tool_problems(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is illegal in the tools and the tool choice of a request."""
    tools = body.get("tools")
    if tools is not None and not _is_list_of_mappings(tools):
        yield "tools is no list of objects"
        return
    if tools is not None and not tools:
        yield "tools is an empty list"
    names: list[Any] = []
    for tool in tools or ():
        function = tool.get("function")
        if not isinstance(function, dict) or not _is_name(function.get("name")):
            named = function.get("name") if isinstance(function, dict) else None
            yield f"the tool name {named!r} is illegal"
            continue
        names.append(function["name"])
        parameters = function.get("parameters")
        if not isinstance(parameters, dict) or parameters.get("type") != "object":
            yield f"the parameters of {function['name']} are not of type object"
    if len(set(names)) != len(names):
        yield "a tool name is used twice"
    yield from _choice(body.get("tool_choice"), names)


def _choice(choice: Any, names: list[Any]) -> Iterator[str]:
    if isinstance(choice, dict):
        function = choice.get("function")
        wanted = function.get("name") if isinstance(function, dict) else None
        if wanted not in names:
            yield f"tool_choice names {wanted!r}, which is not among the tools"
    elif choice not in (None, "auto", "none", "required"):
        yield f"tool_choice {choice!r} is unknown"
    elif choice is not None and not names:
        yield "tool_choice is given without tools"


def _says_something(content: Any) -> bool:
    if isinstance(content, list):
        return any(isinstance(part, dict) and part.get("text", True) for part in content)
    return isinstance(content, str) and bool(content)


def _is_list_of_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def surrogate_problems(value: Any, raw: bytes | None = None) -> Iterator[str]:
    """Yield where texts hold a lone surrogate; ``raw`` is the JSON text, which saves the search."""
    if raw is None or _may_hold_surrogates(raw):
        yield from (f"a lone surrogate in {place}" for place in _surrogates(value, "body"))


def _may_hold_surrogates(raw: bytes) -> bool:
    return _ESCAPED_SURROGATE.search(raw) is not None or (
        not raw.isascii() and _ENCODED_SURROGATE.search(raw) is not None
    )


def _surrogates(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            yield place
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _surrogates(key, f"a key of {place}")
            yield from _surrogates(item, f"{place}.{key}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _surrogates(item, f"{place}[{at}]")
