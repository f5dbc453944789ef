"""A conversation as the templates of a script see it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hub.core.messages import AssistantMessage, Message, ToolMessage, UserMessage

_CONTEXT = re.compile(r"\n\n<context>\n(?P<context>.*?)\n</context>", re.DOTALL)
_FILES = re.compile(r"\n\n<files>\n(?P<files>.*?)\n</files>", re.DOTALL)
_FRAMED = re.compile(r"<dispatch_result>\n(.*?)\n</dispatch_result>", re.DOTALL)


@dataclass(frozen=True)
class Result:
    """One tool result, as templates see it."""

    tool: str
    args: Any
    text: str
    is_error: bool

    @cached_property
    def json(self) -> Any:
        """The JSON value in the text; None when there is none."""
        framed = _FRAMED.search(self.text)
        text = framed[1] if framed else self.text
        start = re.search(r"[\[{]", text)
        for candidate in (text, text[start.start() :] if start else ""):
            try:
                return json.JSONDecoder().raw_decode(candidate.lstrip())[0]
            except ValueError:
                continue
        return None


class Seen:
    """A conversation as templates see it; computed when it is first asked for."""

    def __init__(
        self, messages: Sequence[Message], instructions: str, tools: Sequence[str]
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
        calls = {
            call.id: call
            for message in self.messages
            if isinstance(message, AssistantMessage)
            for call in message.calls
        }
        return [
            Result(calls[m.call_id].name, _loads(calls[m.call_id].arguments), m.text, m.is_error)
            for m in self.messages
            if isinstance(m, ToolMessage) and m.call_id in calls
        ]

    @cached_property
    def last(self) -> list[Result]:
        """The results of the latest calls."""
        latest = next((m for m in reversed(self.messages) if isinstance(m, AssistantMessage)), None)
        count = len(latest.calls) if latest else 0
        return self.results[-count:] if count else []

    def context(self, variables: Mapping[str, Any], turn_index: int) -> dict[str, Any]:
        """Return what templates may use."""
        first = self.prompts[0] if self.prompts else ""
        context, files = _CONTEXT.search(first), _FILES.search(first)
        return {
            "context": context["context"] if context else "",
            "files": files["files"].splitlines() if files else [],
            "task": _FILES.sub("", _CONTEXT.sub("", first)).strip(),
            "prompt": self.prompts[-1] if self.prompts else "",
            "results": self.results,
            "last": self.last,
            "tools": list(self.tools),
            "turn_index": turn_index,
            "vars": variables,
            **variables,
        }


def marks(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield the place of each assistant message and a mark of all up to and including it."""
    mark = 0
    for at, message in enumerate(messages):
        match message:
            case AssistantMessage():
                said = tuple((call.id, call.name, call.arguments) for call in message.calls)
                mark = hash((mark, "a", message.text, said))
                yield at, mark
            case ToolMessage():
                mark = hash((mark, "t", message.call_id, message.text))
            case _:
                mark = hash((mark, "u", message.text))


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
