"""The script format: a YAML file of turns, read with the line of each turn and call.

A file holds either ``turns`` or ``agents``, a mapping of names to an optional ``match`` and their
own ``turns``. `docs/scripts.md` describes the format for its users.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from hub.core.errors import ScriptFileError

VERSION = 1
_LINE = "__line__"
_FILE_KEYS = ("script", "vars", "turns", "agents")
_AGENT_KEYS = ("match", "vars", "turns")
_MATCH_KEYS = ("system_contains", "task_contains", "model", "header")
_TURN_KEYS = (
    *("when", "text", "reasoning", "calls", "repeat", "until", "expect"),
    *("usage", "finish", "set", "optional", "wire"),
)
_CALL_KEYS = ("tool", "args", "raw_args", "id", "when", "for_each", "as")
_EXPECT_KEYS = (
    *("tools_include", "system_contains", "prompt_contains", "last_result_contains"),
    "that",
)
_FINISHES = ("stop", "tool_calls", "length", "content_filter", "incomplete")


@dataclass(frozen=True, slots=True)
class CallLine:
    """One entry under ``calls``: a call, or one for each item of a list."""

    line: int
    tool: str
    args: Any = None
    raw_args: str | None = None
    """Text of the arguments as it is, valid JSON or not."""
    id: str | None = None
    when: str | None = None
    for_each: Any = None
    name: str = "item"
    """What the item of ``for_each`` is called."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the scripted agent."""

    line: int
    when: str | None = None
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallLine, ...] = ()
    repeat: Any = 1
    """How often it is played: a number or an expression."""
    until: str | None = None
    """An expression that ends the repetition when it becomes true."""
    expect: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, int] | None = None
    finish: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False
    """It need not be played."""
    wire: Mapping[str, Any] = field(default_factory=dict)
    """How the model server misbehaves while it gives this answer; other players ignore it."""

    @property
    def silent(self) -> bool:
        """It only sets variables and says nothing."""
        return not self.text and not self.calls and not self.reasoning and not self.wire


@dataclass(frozen=True, slots=True)
class Script:
    """The turns of one scripted agent."""

    path: str
    name: str
    turns: tuple[Turn, ...]
    vars: Mapping[str, Any] = field(default_factory=dict)
    match: Mapping[str, Any] = field(default_factory=dict)

    def place(self, line: int) -> str:
        """Return ``file:line``."""
        return f"{self.path}:{line}"


def load_scripts(path: Path) -> list[Script]:
    """Read all agents of a script file.

    Raises:
        ScriptFileError: naming file and line of the first fault.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScriptFileError(
            f"the script cannot be read: {error.strerror}", where=str(path)
        ) from None
    except UnicodeDecodeError as error:
        raise ScriptFileError(f"the script is not UTF-8: {error.reason}", where=str(path)) from None
    return parse_scripts(text, str(path))


def parse_scripts(text: str, path: str = "script") -> list[Script]:
    """Read all agents out of a script's text.

    Raises:
        ScriptFileError: naming file and line of the first fault.
    """
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        raise ScriptFileError(f"broken YAML: {error.problem}", where=where) from None
    except yaml.YAMLError as error:
        raise ScriptFileError(f"broken YAML: {error}", where=path) from None
    return scripts_from(data, path)


def scripts_from(data: Any, path: str = "script") -> list[Script]:
    """Read all agents out of a script's data, as YAML or a test has it.

    Raises:
        ScriptFileError: naming file and line of the first fault.
    """
    reader = _Reader(path)
    top = reader.mapping(data, "a script", _FILE_KEYS, 1)
    if top.get("script") != VERSION:
        raise reader.fault(
            f"this is no script of version {VERSION}", 1, f"Start the file with: script: {VERSION}"
        )
    if ("turns" in top) == ("agents" in top):
        raise reader.fault("a script has either turns or agents", 1, "")
    shared = dict(top.get("vars") or {})
    if "turns" in top:
        return [Script(path, "", reader.turns(top["turns"], 1), _plain(shared))]
    scripts = []
    for name, entry in _items(top["agents"]):
        line = _line(entry, 1)
        agent = reader.mapping(entry, f"agent {name!r}", _AGENT_KEYS, line)
        match = reader.mapping(agent.get("match") or {}, "match", _MATCH_KEYS, line)
        variables = _plain(shared | dict(agent.get("vars") or {}))
        turns = reader.turns(agent.get("turns"), line)
        scripts.append(Script(path, str(name), turns, variables, match))
    return scripts


class _Loader(yaml.SafeLoader):
    """A safe loader whose mappings know their line."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    mapping = loader.construct_mapping(node, deep=True)
    mapping[_LINE] = node.start_mark.line + 1
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class _Reader:
    """Turns data into turns, and faults into errors with a place."""

    def __init__(self, path: str) -> None:
        self._path = path

    def fault(self, message: str, line: int, remedy: str) -> ScriptFileError:
        return ScriptFileError(message, where=f"{self._path}:{line}", remedy=remedy)

    def mapping(self, data: Any, what: str, keys: tuple[str, ...], line: int) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise self.fault(f"{what} must be a mapping of keys, not {_kind(data)}", line, "")
        here = _line(data, line)
        for key in data:
            if key != _LINE and key not in keys:
                near = get_close_matches(str(key), keys, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(keys)}."
                raise self.fault(f"{what} has an unknown key {key!r}", here, hint)
        return {key: value for key, value in data.items() if key != _LINE}

    def turns(self, data: Any, line: int) -> tuple[Turn, ...]:
        if not isinstance(data, list) or not data:
            raise self.fault("turns must be a list with at least one turn", line, "")
        return tuple(self._turn(entry, line) for entry in data)

    def _turn(self, data: Any, above: int) -> Turn:
        line = _line(data, above)
        turn = self.mapping(data, "a turn", _TURN_KEYS, line)
        expect = self.mapping(turn.get("expect") or {}, "expect", _EXPECT_KEYS, line)
        finish = turn.get("finish")
        if finish is not None and finish not in _FINISHES:
            raise self.fault(f"finish {finish!r} is none of {', '.join(_FINISHES)}", line, "")
        calls = turn.get("calls") or []
        if not isinstance(calls, list):
            raise self.fault(f"calls must be a list, not {_kind(calls)}", line, "")
        made = Turn(
            line=line,
            when=_text(turn.get("when")),
            text=_text(turn.get("text")) or "",
            reasoning=_text(turn.get("reasoning")) or "",
            calls=tuple(self._call(call, line) for call in calls),
            repeat=turn.get("repeat", 1),
            until=_text(turn.get("until")),
            expect=_plain(expect),
            usage=_plain(turn["usage"]) if isinstance(turn.get("usage"), Mapping) else None,
            finish=finish,
            set=_plain(turn.get("set") or {}),
            optional=bool(turn.get("optional", False)),
            wire=_plain(turn.get("wire") or {}),
        )
        if made.silent and not made.set:
            raise self.fault("a turn needs text, calls, set or wire", line, "")
        return made

    def _call(self, data: Any, above: int) -> CallLine:
        line = _line(data, above)
        call = self.mapping(data, "a call", _CALL_KEYS, line)
        if not isinstance(call.get("tool"), str):
            raise self.fault("a call needs the name of its tool", line, "Write: tool: NAME")
        return CallLine(
            line=line,
            tool=call["tool"],
            args=_plain(call.get("args") or {}),
            raw_args=call.get("raw_args"),
            id=call.get("id"),
            when=_text(call.get("when")),
            for_each=_plain(call.get("for_each")),
            name=str(call.get("as", "item")),
        )


def _plain(data: Any) -> Any:
    """Return data without the lines of its mappings."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items() if key != _LINE}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return data


def _items(data: Any) -> list[tuple[Any, Any]]:
    if not isinstance(data, Mapping):
        return []
    return [(key, value) for key, value in data.items() if key != _LINE]


def _line(data: Any, above: int) -> int:
    return int(data.get(_LINE, above)) if isinstance(data, Mapping) else above


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(value), "a value")
