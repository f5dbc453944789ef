"""Plays a script over a conversation: which turn is next, and what it says.

The player holds no position. It finds it by replaying the script over the assistant messages that
the conversation already has, so that the same script works in memory, over HTTP, after a resume
and after a crash. A memo of positions keeps long conversations cheap.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hub.core.errors import ModelError
from hub.core.messages import Message, ToolCall
from hub.core.text import one_line
from hub.models.script_file import CallLine, Script, Turn
from hub.models.script_templates import TemplateFault, evaluate, render
from hub.models.script_view import Seen, marks

MEMO_SIZE = 20_000
MAX_SILENT = 10_000


class ScriptError(ModelError):
    """The script and the conversation do not fit."""

    code = "script_error"

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(message, kind="script", where=where)


@dataclass(frozen=True, slots=True)
class Played:
    """What the script says next."""

    turn: Turn
    number: int
    """Number of the answer in the conversation, from 0."""
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a script is: the next turn, how often it was played, and the variables."""

    index: int = 0
    round: int = 0
    rounds: int | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


class Player:
    """Plays one agent's script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._memo: OrderedDict[int, _Position] = OrderedDict()

    def play(
        self, messages: Sequence[Message], *, instructions: str = "", tools: Sequence[str] = ()
    ) -> Played:
        """Return the next answer of the script.

        Raises:
            ScriptError: no turn is left, an expectation does not hold, or a template fails.
        """
        before = self._position(messages)
        seen = Seen(messages, instructions, tools)
        position, turn = self._next(before, seen)
        if turn is None:
            last = self.script.turns[-1]
            raise self._fault(
                f"all {len(self.script.turns)} turns of the script are played, and the agent was "
                f"asked once more; the last message is: {one_line(_last_text(messages), 120)!r}",
                last.line,
            )
        try:
            context = seen.context(position.vars, position.round)
            self._check(turn, seen, context)
            calls = tuple(self._calls(turn, seen, context))
            text = str(render(turn.text, context))
            reasoning = str(render(turn.reasoning, context))
        except TemplateFault as error:
            raise self._fault(str(error), turn.line) from None
        return Played(turn, seen.answers, text, reasoning, calls)

    def leftover(self, messages: Sequence[Message]) -> list[Turn]:
        """Return the turns that this conversation has not played and that it should have."""
        position, seen = self._position(messages), Seen(messages, "", ())
        left = []
        for index in range(position.index, len(self.script.turns)):
            turn = self.script.turns[index]
            started = index == position.index and position.round > 0
            if (
                not turn.optional
                and not turn.silent
                and not started
                and self._due(turn, seen, position)
            ):
                left.append(turn)
        return left

    def _due(self, turn: Turn, seen: Seen, position: _Position) -> bool:
        try:
            return turn.when is None or bool(
                evaluate(turn.when, seen.context(position.vars, position.round))
            )
        except TemplateFault:
            return True

    def _position(self, messages: Sequence[Message]) -> _Position:
        """Replay the script over the assistant messages that there are."""
        spoken = list(marks(messages))
        position, start = _Position(vars=self.script.vars), 0
        for number in range(len(spoken) - 1, -1, -1):
            known = self._memo.get(spoken[number][1])
            if known is not None:
                position, start = known, number + 1
                break
        for at, mark in spoken[start:]:
            seen = Seen(messages[:at], "", ())
            position, turn = self._next(position, seen)
            if turn is not None:
                position = replace(position, round=position.round + 1)
            self._memo[mark] = position
            if len(self._memo) > MEMO_SIZE:
                self._memo.popitem(last=False)
        return position

    def _next(self, position: _Position, seen: Seen) -> tuple[_Position, Turn | None]:
        """Find the turn to play; the position returned is the one in which it is played."""
        for _ in range(MAX_SILENT):
            if position.index >= len(self.script.turns):
                return position, None
            turn = self.script.turns[position.index]
            try:
                position, plays = self._enter(turn, position, seen)
            except TemplateFault as error:
                raise self._fault(str(error), turn.line) from None
            if plays and not turn.silent:
                return position, turn
            if not plays:
                position = _Position(position.index + 1, vars=position.vars)
            else:
                position = replace(position, round=position.round + 1)
        raise self._fault(
            "the script goes on without ever saying anything", self.script.turns[0].line
        )

    def _enter(self, turn: Turn, position: _Position, seen: Seen) -> tuple[_Position, bool]:
        """Settle how often a turn is played and what it sets; say whether it is played now."""
        position = replace(position, rounds=_rounds(turn, position, seen))
        if position.round >= (position.rounds or 0):
            return position, False
        if turn.when is None and turn.until is None and not turn.set:
            return position, True
        context = seen.context(position.vars, position.round)
        if turn.when is not None and position.round == 0 and not evaluate(turn.when, context):
            return position, False
        if turn.until is not None and position.round and evaluate(turn.until, context):
            return position, False
        variables = dict(position.vars)
        for name, template in turn.set.items():
            variables[name] = render(template, seen.context(variables, position.round))
        return replace(position, vars=variables), True

    def _calls(self, turn: Turn, seen: Seen, context: Mapping[str, Any]) -> Iterator[ToolCall]:
        number = 0
        for line in turn.calls:
            for here in _each(line, context):
                if line.when is not None and not evaluate(line.when, here):
                    continue
                given = line.id and str(render(line.id, here))
                yield ToolCall(
                    given or f"call_{seen.answers}_{number}",
                    str(render(line.tool, here)),
                    _arguments(line, here),
                )
                number += 1

    def _check(self, turn: Turn, seen: Seen, context: Mapping[str, Any]) -> None:
        for kind, wanted in turn.expect.items():
            if problem := _unmet(kind, wanted, seen, context):
                raise self._fault(f"expectation {kind}: {problem}", turn.line)

    def _fault(self, message: str, line: int) -> ScriptError:
        name = f"agent {self.script.name!r}: " if self.script.name else ""
        return ScriptError(name + message, where=self.script.place(line))


def _rounds(turn: Turn, position: _Position, seen: Seen) -> int:
    if position.rounds is not None:
        return position.rounds
    if turn.until is not None and turn.repeat == 1:
        return MAX_SILENT
    if isinstance(turn.repeat, int):
        return turn.repeat
    return int(render(turn.repeat, seen.context(position.vars, position.round)))


def _each(line: CallLine, context: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if line.for_each is None:
        yield context
        return
    items = line.for_each
    if isinstance(items, str):
        items = evaluate(items, context)
    for index, item in enumerate(items):
        yield {**context, line.name: item, "item": item, "index": index}


def _arguments(line: CallLine, context: Mapping[str, Any]) -> str:
    if line.raw_args is not None:
        return line.raw_args
    return json.dumps(render(line.args, context), ensure_ascii=False)


def _unmet(kind: str, wanted: Any, seen: Seen, context: Mapping[str, Any]) -> str:
    if kind == "that":
        return "" if evaluate(str(wanted), context) else f"{wanted!r} is false"
    if kind == "tools_include":
        missing = [name for name in wanted if name not in seen.tools]
        return f"no tool {missing} among {list(seen.tools)}" if missing else ""
    texts = {
        "system_contains": seen.instructions,
        "prompt_contains": context["prompt"],
        "last_result_contains": "\n".join(result.text for result in seen.last),
    }
    needle = str(render(wanted, context))
    text = texts[kind]
    return "" if needle in text else f"{needle!r} is not in {one_line(text, 200)!r}"


def _last_text(messages: Sequence[Message]) -> str:
    return messages[-1].text if messages else ""
