"""The script format: a YAML file of turns, read with the line of each turn and call.

A file holds either ``turns`` or ``agents``, a mapping of names to an optional ``match`` and their
own ``turns``. `docs/scripts.md` describes the format for its users.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from hub.core.errors import ScriptFileError
from hub.models.script.entry import Entry
from hub.models.script.view import RESERVED
from hub.models.script.wire import Wire, wire_of
from hub.models.script.yaml_lines import parse_yaml

VERSION = 1
FILE_KEYS = ("script", "vars", "turns", "agents")
AGENT_KEYS = ("match", "vars", "turns")
MATCH_KEYS = ("system_contains", "task_contains", "model", "header")
TURN_KEYS = (
    *("when", "text", "reasoning", "calls", "repeat", "until", "expect"),
    *("usage", "finish", "set", "optional", "wire"),
)
CALL_KEYS = ("tool", "args", "raw_args", "id", "when", "for_each", "as")
EXPECT_KEYS = (
    *("tools_include", "system_contains", "prompt_contains", "last_result_contains"),
    "that",
)
USAGE_KEYS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
FINISHES = ("stop", "tool_calls", "length", "content_filter", "incomplete")


class CallLine(Struct, frozen=True):
    """One entry under ``calls``: a call, or one for each item of a list."""

    line: int
    tool: str
    args: Any = None
    """A mapping of templates, or one expression that gives a mapping."""
    raw_args: str | None = None
    """Text of the arguments as it is, valid JSON or not."""
    id: str | None = None
    when: str | None = None
    for_each: Any = None
    """A list of templates, or an expression that gives a list."""
    name: str = "item"
    """What the item of ``for_each`` is called."""


class Turn(Struct, frozen=True):
    """One answer of the scripted agent."""

    line: int
    when: str | None = None
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallLine, ...] = ()
    repeat: int | str | None = None
    """How often it is played: a number or an expression; None for once, or until ``until``."""
    until: str | None = None
    """An expression that ends the repetition when it becomes true."""
    expect: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, int] | None = None
    """Token counts; None when the script says nothing, empty when there are to be none."""
    finish: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False
    """It need not be played."""
    wire: Wire | None = None
    """How the model server misbehaves while it gives this answer; other players ignore it."""

    @property
    def silent(self) -> bool:
        """It only sets variables and says nothing."""
        return not (self.text or self.calls or self.reasoning or self.wire)


class Script(Struct, frozen=True):
    """The turns of one scripted agent."""

    path: str
    name: str
    turns: tuple[Turn, ...]
    vars: Mapping[str, Any] = field(default_factory=dict)
    match: Mapping[str, Any] = field(default_factory=dict)
    """Requests that are its own: ``system_contains`` and ``task_contains`` (texts), ``model``,
    ``header`` (values by name)."""

    def place(self, line: int) -> str:
        """Return ``file:line``."""
        return f"{self.path}:{line}"


def load_scripts(path: Path) -> list[Script]:
    """Read all agents of a script file.

    Raises:
        ScriptFileError: naming file and line of the first fault.
    """
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ScriptFileError(f"the script cannot be read: {reason}", where=where) from None
    except UnicodeDecodeError as error:
        raise ScriptFileError(f"the script is not UTF-8: {error.reason}", where=where) from None
    return parse_scripts(text, where)


def parse_scripts(text: str, path: str = "script") -> list[Script]:
    """Read all agents out of a script's text.

    Raises:
        ScriptFileError: naming file and line of the first fault.
    """
    return scripts_from(parse_yaml(text, path), path)


def scripts_from(data: Any, path: str = "script") -> list[Script]:
    """Read all agents out of a script's data, as YAML or a test has it.

    Raises:
        ScriptFileError: naming file and line of the first fault.
    """
    top = Entry(path, data, "a script", FILE_KEYS)
    version = top.get("script")
    if version != VERSION or isinstance(version, bool):
        raise top.fault(
            f"this is no script of version {VERSION}", "script", f"Write: script: {VERSION}"
        )
    if ("turns" in top) == ("agents" in top):
        raise top.fault("a script has either turns or agents", "turns")
    shared = _variables(top, "vars")
    if "turns" in top:
        return [Script(path, "", _turns(top), shared)]
    agents = top.entry("agents")
    if not agents.data:
        raise top.fault("agents must have at least one agent", "agents")
    return [_agent(agents, name, shared) for name in agents.data]


def _agent(agents: Entry, name: Any, shared: Mapping[str, Any]) -> Script:
    agent = agents.entry(name, AGENT_KEYS, f"agent {str(name)!r}")
    given = agent.entry("match", MATCH_KEYS)
    header = given.entry("header")
    match: dict[str, Any] = {key: given.texts(key) for key in MATCH_KEYS[:2] if key in given}
    if "model" in given:
        match |= {"model": given.text("model")}
    if "header" in given:
        match |= {"header": {str(key): header.text(key) or "" for key in header.data}}
    variables = {**shared, **_variables(agent, "vars")}
    return Script(agents.path, str(name), _turns(agent), variables, match)


def _turns(top: Entry) -> tuple[Turn, ...]:
    turns = tuple(_turn(entry) for entry in top.entries("turns", "a turn", TURN_KEYS))
    if not turns:
        raise top.fault("turns must be a list with at least one turn", "turns")
    return turns


def _turn(given: Entry) -> Turn:
    made = Turn(
        line=given.line(),
        when=given.expression("when"),
        text=given.text("text") or "",
        reasoning=given.text("reasoning") or "",
        calls=tuple(_call(entry) for entry in given.entries("calls", "a call", CALL_KEYS)),
        repeat=_repeat(given),
        until=given.expression("until"),
        expect=_expect(given.entry("expect", EXPECT_KEYS)),
        usage=_usage(given),
        finish=given.choice("finish", FINISHES),
        set=_variables(given, "set"),
        optional=given.flag("optional") or False,
        wire=wire_of(given),
    )
    if made.silent and not made.set:
        raise given.fault("a turn needs text, reasoning, calls, set or wire")
    return made


def _call(given: Entry) -> CallLine:
    tool = given.text("tool")
    if not tool:
        raise given.fault("a call needs the name of its tool", "tool", "Write: tool: NAME")
    args, each = given.get("args"), given.get("for_each")
    if "args" in given and "raw_args" in given:
        raise given.fault("a call has either args or raw_args", "raw_args")
    if args is not None and not isinstance(args, Mapping | str):
        raise given.wrong("args", "a mapping or an expression", "Use raw_args for anything else.")
    if each is not None and not isinstance(each, list | str):
        raise given.wrong("for_each", "a list or an expression")
    name = given.text("as") or "item"
    if name != "item" and (problem := _bad_name(name)):
        raise given.fault(f"the name {name!r} cannot be used: {problem}", "as")
    return CallLine(
        line=given.line(),
        tool=tool,
        args={} if args is None else args,
        raw_args=given.text("raw_args"),
        id=given.text("id"),
        when=given.expression("when"),
        for_each=each,
        name=name,
    )


def _repeat(given: Entry) -> int | str | None:
    value = given.get("repeat")
    if value is None or isinstance(value, str):
        return value
    return given.number("repeat")


def _usage(given: Entry) -> Mapping[str, int] | None:
    if given.get("usage") is None:
        return None
    counts = given.entry("usage", USAGE_KEYS)
    return {key: counts.number(key) or 0 for key in counts.data}


def _expect(given: Entry) -> Mapping[str, Any]:
    found: dict[str, Any] = {key: given.texts(key) for key in EXPECT_KEYS[:-1] if key in given}
    if "that" in given:
        found["that"] = given.expression("that") or ""
    return found


def _variables(given: Entry, key: str) -> dict[str, Any]:
    return given.entry(key).names(_bad_name)


def _bad_name(name: str) -> str:
    """Say why a variable cannot have a name; empty when it can."""
    if name in RESERVED:
        return "it has a meaning of its own"
    return (
        "" if name.isidentifier() and name.isascii() else "only letters, digits and _ are allowed"
    )
