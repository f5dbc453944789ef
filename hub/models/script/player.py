"""Plays a script over a conversation: which turn is next, and what it says.

The player holds no position. It finds it by replaying the script over the assistant messages that
the conversation already has, so that the same script works in memory, over HTTP, after a resume
and after a crash. A memo of positions keeps long conversations cheap; it changes no answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.errors import ModelError
from hub.core.messages import Message, ToolCall
from hub.core.text import one_line
from hub.models.script.file import CallLine, Script, Turn
from hub.models.script.templates import evaluate, render
from hub.models.script.values import TemplateFault, as_json, as_text, short
from hub.models.script.view import Marks, Seen

MEMO_SIZE = 20_000
"""How many positions are kept."""
MAX_ROUNDS = 10_000
"""How often one turn is played at most, and how many turns may pass without a word."""

_K = TypeVar("_K")
_V = TypeVar("_V")


class ScriptError(ModelError):
    """The script and the conversation do not fit."""

    code = "script_error"

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(message, kind="script", where=where)


class Played(Struct, frozen=True):
    """What the script says next."""

    turn: Turn
    number: int
    """Number of the answer in the conversation, from 0."""
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    place: int
    """A mark of the conversation before it, equal for equal conversations."""


class _Position(Struct, frozen=True):
    """Where a script is: the next turn, how often it was played, and the variables."""

    index: int = 0
    round: int = 0
    rounds: int = 0
    """How often the turn is to be played; 0 until it has begun."""
    vars: Mapping[str, Any] = field(default_factory=dict)


class _Memo(dict[_K, _V]):
    """What was found out before; the oldest is forgotten."""

    def keep(self, key: _K, value: _V) -> None:
        self[key] = value
        if len(self) > MEMO_SIZE:
            del self[next(iter(self))]


class Player:
    """Plays one agent's script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._memo = _Memo[tuple[int, int], _Position]()
        self._offers = _Memo[int, tuple[str, ...]]()

    def play(
        self, messages: Sequence[Message], *, instructions: str = "", tools: Sequence[str] = ()
    ) -> Played:
        """Return the next answer of the script.

        Raises:
            ScriptError: no turn is left, an expectation does not hold, or a template fails.
        """
        seen, passed = Seen(messages, instructions, tuple(tools)), Marks(messages)
        position, turn = self._next(self._position(seen, passed), seen)
        if turn is None:
            raise self._over(messages)
        self._offers.keep(passed.whole, seen.tools)
        try:
            context = seen.context(position.vars, position.round)
            self._check(turn, seen, context)
            calls = tuple(self._calls(turn, seen, context))
            text = as_text(render(turn.text, context)).removesuffix("\n")
            reasoning = as_text(render(turn.reasoning, context)).removesuffix("\n")
        except TemplateFault as error:
            raise self._fault(str(error), turn.line) from None
        return Played(turn, seen.answers, text, reasoning, calls, passed.whole)

    def leftover(self, messages: Sequence[Message]) -> list[Turn]:
        """Return the turns that this conversation has not played and that it should have.

        A turn with a condition counts when the condition held before the last answer and still
        does, so that of several branches only the one that was taken is asked for.
        """
        passed = Marks(messages)
        now = before = Seen(messages, "", ())
        if passed.spoken:
            latest = passed.spoken[-1]
            offered = self._offers.get(latest.before, ())
            before, now = Seen(messages[: latest.at], "", offered), Seen(messages, "", offered)
        try:
            position = self._position(now, passed)
        except ScriptError:
            return []
        left = []
        for index in range(position.index, len(self.script.turns)):
            turn = self.script.turns[index]
            if turn.optional or turn.silent:
                continue
            if index == position.index and position.round:
                due = _goes_on(turn, position, now)
            else:
                due = _due(turn, position, before) and _due(turn, position, now)
            if due:
                left.append(turn)
        return left

    def _position(self, seen: Seen, passed: Marks) -> _Position:
        """Replay the script over the assistant messages that there are."""
        offer, spoken = hash(seen.tools), passed.spoken
        position, start = _Position(vars=self.script.vars), 0
        for number in range(len(spoken) - 1, -1, -1):
            known = self._memo.get((offer, spoken[number].after))
            if known is not None:
                position, start = known, number + 1
                break
        for mark in spoken[start:]:
            position, turn = self._next(position, Seen(seen.messages[: mark.at], "", seen.tools))
            if turn is not None:
                position = replace(position, round=position.round + 1)
            self._memo.keep((offer, mark.after), position)
        return position

    def _next(self, position: _Position, seen: Seen) -> tuple[_Position, Turn | None]:
        """Find the turn to play; the position returned is the one in which it is played."""
        for _ in range(MAX_ROUNDS):
            if position.index >= len(self.script.turns):
                return position, None
            turn = self.script.turns[position.index]
            try:
                position, plays = _entered(turn, position, seen)
            except TemplateFault as error:
                raise self._fault(str(error), turn.line) from None
            if plays and not turn.silent:
                return position, turn
            if not plays:
                position = _Position(position.index + 1, vars=position.vars)
            else:
                position = replace(position, round=position.round + 1)
        turn = self.script.turns[position.index]
        raise self._fault("the script goes on without ever saying anything", turn.line)

    def _calls(self, turn: Turn, seen: Seen, context: Mapping[str, Any]) -> Iterator[ToolCall]:
        number = 0
        for line in turn.calls:
            try:
                for here in _each(line, context):
                    if line.when is not None and not evaluate(line.when, here):
                        continue
                    given = "" if line.id is None else as_text(render(line.id, here))
                    id_ = given or f"call_{seen.answers}_{number}"
                    yield ToolCall(id_, as_text(render(line.tool, here)), _arguments(line, here))
                    number += 1
            except TemplateFault as error:
                raise self._fault(str(error), line.line) from None

    def _check(self, turn: Turn, seen: Seen, context: Mapping[str, Any]) -> None:
        for kind, wanted in turn.expect.items():
            if problem := _unmet(kind, wanted, seen, context):
                raise self._fault(f"expectation {kind}: {problem}", turn.line)

    def _over(self, messages: Sequence[Message]) -> ScriptError:
        turns, said = self.script.turns, messages[-1].text if messages else ""
        return self._fault(
            f"all {len(turns)} turns of the script are played, and the agent was asked once more; "
            f"the last message is: {one_line(said, 120)!r}",
            turns[-1].line,
        )

    def _fault(self, message: str, line: int) -> ScriptError:
        name = f"agent {self.script.name!r}: " if self.script.name else ""
        return ScriptError(name + message, where=self.script.place(line))


def _entered(turn: Turn, position: _Position, seen: Seen) -> tuple[_Position, bool]:
    """Settle how often a turn is played and what it sets; say whether it is played now."""
    if turn.when is None and turn.until is None and not turn.set:
        if position.round == 0:
            position = replace(position, rounds=_rounds(turn, position, seen))
        return position, position.round < position.rounds
    context = seen.context(position.vars, position.round)
    if position.round == 0:
        if turn.when is not None and not evaluate(turn.when, context):
            return position, False
        position = replace(position, rounds=_rounds(turn, position, seen))
    elif turn.until is not None and evaluate(turn.until, context):
        return position, False
    if position.round >= position.rounds:
        return position, False
    variables = dict(position.vars)
    for name, template in turn.set.items():
        variables[name] = render(template, seen.context(variables, position.round))
    return replace(position, vars=variables), True


def _rounds(turn: Turn, position: _Position, seen: Seen) -> int:
    if turn.repeat is None:
        return 1 if turn.until is None else MAX_ROUNDS
    if isinstance(turn.repeat, int):
        return turn.repeat
    found = evaluate(turn.repeat, seen.context(position.vars, position.round))
    try:
        return int(found)
    except (TypeError, ValueError):
        problem = f"repeat must come out as a number, not {as_json(found)[:80]}"
        raise TemplateFault(f"{problem}, in {short(turn.repeat)}") from None


def _goes_on(turn: Turn, position: _Position, now: Seen) -> bool:
    """Say whether a turn that was played has to be played again."""
    if position.round >= position.rounds or turn.until is None:
        return position.round < position.rounds
    try:
        return not evaluate(turn.until, now.context(position.vars, position.round))
    except TemplateFault:
        return True


def _due(turn: Turn, position: _Position, seen: Seen) -> bool:
    """Say whether a turn that was not played had to be."""
    if turn.repeat == 0:
        return False
    try:
        return turn.when is None or bool(evaluate(turn.when, seen.context(position.vars, 0)))
    except TemplateFault:
        return False


def _each(line: CallLine, context: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if line.for_each is None:
        yield context
        return
    if isinstance(line.for_each, str):
        items = evaluate(line.for_each, context)
        if not isinstance(items, list | tuple):
            wrong = f"for_each must come out as a list, not {as_json(items)[:80]}"
            raise TemplateFault(f"{wrong}, in {short(line.for_each)}")
    else:
        items = render(line.for_each, context)
    for index, item in enumerate(items):
        yield {**context, line.name: item, "item": item, "index": index}


def _arguments(line: CallLine, context: Mapping[str, Any]) -> str:
    if line.raw_args is not None:
        return line.raw_args
    given = render(line.args, context)
    if not isinstance(given, Mapping):
        raise TemplateFault(f"args must come out as a mapping, not {as_json(given)[:80]}")
    return as_json(given)


def _unmet(kind: str, wanted: Any, seen: Seen, context: Mapping[str, Any]) -> str:
    """Say in which way an expectation does not hold; empty when it does."""
    if kind == "that":
        return "" if evaluate(wanted, context) else f"{wanted!r} is false"
    needles = [as_text(render(needle, context)) for needle in wanted]
    if kind == "tools_include":
        missing = [name for name in needles if name not in seen.tools]
        return f"no tool {missing} among {list(seen.tools)}" if missing else ""
    texts = {
        "system_contains": seen.instructions,
        "prompt_contains": context["prompt"],
        "last_result_contains": "\n".join(result.text for result in seen.last),
    }
    missing = [needle for needle in needles if needle not in texts[kind]]
    return f"{missing[0]!r} is not in {one_line(texts[kind], 200)!r}" if missing else ""
