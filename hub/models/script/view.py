"""A conversation as the templates of a script see it."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import Struct

from hub.core.messages import AssistantMessage, Message, ToolMessage, UserMessage

RESERVED = frozenset({
    *("results", "last", "tools", "turn_index", "vars", "item", "index", "loop", "self"),
    *("and", "or", "not", "in", "is", "if", "else"),
    *("true", "false", "none", "True", "False", "None"),
})
"""Names that no variable may have."""

_FRAMES = re.compile(
    r"(?:\n\n<context>\n(?P<context>.*)\n</context>)?(?:\n\n<files>\n(?P<files>.*)\n</files>)?\s*\Z",
    re.DOTALL,
)
_FRAMED = re.compile(r"<dispatch_result>\n(.*?)\n</dispatch_result>", re.DOTALL)
_TRIES = 64
"""Brackets at which the JSON in a text may begin."""


class Result(Struct, dict=True):
    """One tool result, as templates see it."""

    tool: str
    arguments: str
    """JSON text of the call's arguments."""
    text: str
    is_error: bool

    @cached_property
    def args(self) -> Any:
        """The call's arguments; None when they are no JSON."""
        try:
            return json.loads(self.arguments)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def json(self) -> Any:
        """The JSON value in the text, or the object or array within it; None when there is none."""
        framed = _FRAMED.search(self.text)
        text = framed[1] if framed else self.text
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return _inside(text)


def _inside(text: str) -> Any:
    decoder = json.JSONDecoder()
    for number, bracket in enumerate(re.finditer(r"[\[{]", text)):
        try:
            return decoder.raw_decode(text, bracket.start())[0]
        except (ValueError, RecursionError):
            if number >= _TRIES:
                return None
    return None


class Seen:
    """A conversation as templates see it; computed when it is first asked for."""

    def __init__(
        self, messages: Sequence[Message], instructions: str, tools: tuple[str, ...]
    ) -> None:
        self.messages = messages
        self.instructions = instructions
        self.tools = tools

    @cached_property
    def answers(self) -> int:
        """How many assistant messages there are."""
        return sum(isinstance(message, AssistantMessage) for message in self.messages)

    @cached_property
    def prompts(self) -> list[str]:
        """What the user said."""
        return [message.text for message in self.messages if isinstance(message, UserMessage)]

    @cached_property
    def results(self) -> list[Result]:
        """All tool results."""
        calls = {}
        found = []
        for message in self.messages:
            if isinstance(message, AssistantMessage):
                for call in message.calls:
                    calls[call.id] = call
            elif isinstance(message, ToolMessage) and message.call_id in calls:
                call = calls[message.call_id]
                found.append(Result(call.name, call.arguments, message.text, message.is_error))
        return found

    @cached_property
    def last(self) -> list[Result]:
        """The results of the latest calls, in call order."""
        results: dict[str, ToolMessage] = {}
        for message in reversed(self.messages):
            if isinstance(message, ToolMessage):
                results[message.call_id] = message
            elif isinstance(message, AssistantMessage) and message.calls:
                return [
                    Result(call.name, call.arguments, given.text, given.is_error)
                    for call in message.calls
                    if (given := results.get(call.id)) is not None
                ]
        return []

    @cached_property
    def _first(self) -> dict[str, Any]:
        first = self.prompts[0] if self.prompts else ""
        start = min((at for at in map(first.find, _OPENINGS) if at >= 0), default=len(first))
        frames = _FRAMES.match(first, start)
        if frames is None:
            return {"task": first.strip(), "context": "", "files": []}
        files = frames["files"]
        return {
            "task": first[:start].strip(),
            "context": frames["context"] or "",
            "files": files.splitlines() if files else [],
        }

    def context(self, variables: Mapping[str, Any], turn_index: int) -> dict[str, Any]:
        """Return what templates may use."""
        return {
            **self._first,
            "prompt": self.prompts[-1] if self.prompts else "",
            "results": self.results,
            "last": self.last,
            "tools": list(self.tools),
            "turn_index": turn_index,
            "vars": variables,
            **variables,
        }


_OPENINGS = ("\n\n<context>\n", "\n\n<files>\n")


class Mark(NamedTuple):
    """One assistant message of a conversation; equal conversations have equal marks."""

    at: int
    """Its place among the messages."""
    before: int
    """Stands for everything before it."""
    after: int
    """Stands for everything up to and including it."""


class Marks:
    """What a conversation is known by."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.spoken: list[Mark] = []
        """The assistant messages."""
        mark = 0
        for at, message in enumerate(messages):
            if isinstance(message, ToolMessage):
                mark = hash((mark, "t", message.call_id, message.text, message.is_error))
            elif isinstance(message, UserMessage):
                mark = hash((mark, "u", message.text))
            else:
                said = [hash((call.id, call.name, call.arguments)) for call in message.calls]
                before, mark = mark, hash((mark, "a", message.text, *said))
                self.spoken.append(Mark(at, before, mark))
        self.whole = mark
        """Stands for the whole conversation."""
