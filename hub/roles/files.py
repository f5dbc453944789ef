"""One role file, from bytes to a Role."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.config.documents import Document, parse_yaml, read_text
from hub.config.keys import KeyPath
from hub.config.paths import tidied
from hub.config.patterns import pattern_problem
from hub.config.problems import BadFile, Problem, place, validated
from hub.core.acceptance import Acceptance
from hub.core.limits import Limits
from hub.core.team import Edge, Origin, Role
from hub.roles import claude
from hub.roles.schema import EdgeEntry, RoleFile

CLAUDE_LAYER = "claude_agents"
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)(?:^(?:---|\.\.\.)[ \t]*(?:\n|\Z))", re.S | re.M)
_MAPPINGS = ("permissions", "limits")
_LISTS = ("tools", "disallowed_tools", "dispatch")
_RULES = ("allow", "ask", "deny")


class Defaults(Struct, frozen=True):
    """What the settings say about roles."""

    limits: Limits = field(default_factory=Limits)
    """Bounds for roles that set none of their own."""
    chosen: frozenset[str] = frozenset()
    """Names of the bounds that the user chose; a role can only tighten those."""
    models: Collection[str] = ()
    """Names of the model entries."""


class ReadRole(Struct, frozen=True):
    """One role file as it was understood."""

    role: Role
    lines: Mapping[KeyPath, int]
    """Line of each key and list item of its front matter."""
    notes: tuple[str, ...] = ()
    """What has no effect here."""


def read_role(path: Path, layer: str, defaults: Defaults) -> ReadRole | list[Problem]:
    """Read a role file; what is wrong comes back as problems.

    Files of the Claude Code layer are read leniently: they belong to another program.
    """
    try:
        document, body = _document(path, lenient=layer == CLAUDE_LAYER)
    except BadFile as error:
        return [error.problem]
    problems = list(document.problems)
    if not problems and not isinstance(document.data, dict):
        problems.append(Problem("a role file begins with 'key: value' lines", f"{path}:1"))
    if problems:
        return problems
    reader = _Reader(path, layer, dict(document.lines))
    data = reader.translated(document.data)
    if body is not None:
        data.setdefault("instructions", body)
    return reader.role(data, defaults)


def _document(path: Path, *, lenient: bool) -> tuple[Document, str | None]:
    text = read_text(path)
    if path.suffix != ".md":
        return parse_yaml(text, str(path)), None
    match = _FRONT_MATTER.match(text)
    if match is None:
        remedy = "Begin the file with a line '---', the keys, and another line '---'."
        raise BadFile(Problem("the role file has no front matter", f"{path}:1", remedy))
    document = parse_yaml(match[1], str(path), first_line=2)
    if document.problems and lenient:
        document = parse_yaml(claude.mended(match[1]), str(path), first_line=2)
    data = {} if document.data is None else document.data
    if isinstance(data, dict) and "instructions" in data:
        where = f"{path}:{document.lines.get(('instructions',), 1)}"
        remedy = "Write them below the front matter."
        raise BadFile(Problem("'instructions' is for .yaml role files", where, remedy))
    return replace(document, data=data), text[match.end() :].strip()


class _Reader:
    """Turns the data of one file into a Role."""

    def __init__(self, path: Path, layer: str, lines: dict[KeyPath, int]) -> None:
        self.path = path
        self.layer = layer
        self.lines = lines
        self.notes: list[str] = []

    def origin(self, key: KeyPath) -> Origin:
        """Return the place of a value, or of the nearest thing around it."""
        while key and key not in self.lines:
            key = key[:-1]
        return Origin(self.layer, str(self.path), self.lines.get(key, 1))

    def translated(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data in our own words."""
        data: dict[str, Any] = {}
        for key, value in raw.items():
            if key in claude.SILENT:
                continue
            if key in claude.WITHOUT_EFFECT:
                self.note((key,), f"{key!r} has no effect here")
            elif key in claude.RENAMED:
                self._rename(data, key, value)
            elif self.layer == CLAUDE_LAYER and (why := claude.unknown(key, value)):
                self.note((key,), why)
            elif key in _MAPPINGS:
                data[key] = {**({} if value is None else value)} if _is_open(value) else value
            elif key == "acceptance" and isinstance(value, str):
                data[key] = {"kind": value}
            elif value is not None or key == "model":
                data[key] = claude.listed(value) if key in _LISTS else value
        self._list_tools(data)
        if isinstance(edges := data.get("dispatch"), list):
            data["dispatch"] = [{"role": e} if isinstance(e, str) else e for e in edges]
        return data

    def role(self, data: dict[str, Any], defaults: Defaults) -> ReadRole | list[Problem]:
        """Check the data and build the role."""
        problems: list[Problem] = []
        if isinstance(schema := data.get("report_schema"), str):
            loaded = self._schema(schema)
            if isinstance(loaded, Problem):
                problems.append(loaded)
            data["report_schema"] = {} if isinstance(loaded, Problem) else loaded
        file, found = validated(RoleFile, data, self.origin)
        problems += found
        if file is None:
            return problems
        problems += self._bad_patterns(file) + self._bad_edges(file) + self._bad_acceptance(file)
        if problems:
            return problems
        name = file.name or self.path.stem
        role = Role(
            name=name,
            description=" ".join(file.description.split()),
            instructions=file.instructions.strip(),
            model=self._model(file, defaults),
            tools=file.tools,
            disallowed_tools=file.disallowed_tools,
            dispatch=tuple(_edge(entry) for entry in file.dispatch),
            user_facing=file.user_facing,
            mode=file.permissions.mode,
            allow=file.permissions.allow,
            ask=file.permissions.ask,
            deny=file.permissions.deny,
            limits=_limits(file, defaults),
            report_schema=file.report_schema,
            acceptance=_acceptance(file),
            isolated=file.isolation is not None,
            origin=self.origin(("name",)),
        )
        return ReadRole(role, self.lines, tuple(self.notes))

    def note(self, key: KeyPath, text: str) -> None:
        """Remember something that has no effect."""
        self.notes.append(f"{self.origin(key)}: {text}")

    def _rename(self, data: dict[str, Any], key: str, value: Any) -> None:
        path = claude.RENAMED[key]
        self.lines.setdefault(path, self.lines.get((key,), 1))
        if path == ("permissions", "mode"):
            if value not in claude.MODES:
                self.note((key,), f"the permission mode {value!r} is not known here")
                return
            value = claude.MODES[value]
        if len(path) == 1:
            data.setdefault(path[0], claude.listed(value))
        else:
            data.setdefault(path[0], {}).setdefault(path[1], value)

    def _list_tools(self, data: dict[str, Any]) -> None:
        for key in ("tools", "disallowed_tools"):
            if not isinstance(names := data.get(key), list):
                continue
            kept = []
            for index, name in enumerate(names):
                if isinstance(name, str) and claude.is_dispatch(name):
                    self.note((key, index), f"{name!r} has no effect: edges stand under 'dispatch'")
                else:
                    kept.append(claude.tool_pattern(name) if isinstance(name, str) else name)
            data[key] = kept

    def _model(self, file: RoleFile, defaults: Defaults) -> str:
        model = claude.own_model(file.model or "", defaults.models)
        if self.layer == CLAUDE_LAYER and model and model not in defaults.models:
            self.note(
                ("model",), f"no entry of 'models' is called {model!r}; the run's model works"
            )
            return ""
        if not model.startswith("script:"):
            return model
        script = Path(model.removeprefix("script:")).expanduser()
        return f"script:{tidied(self.path.parent / script)}"

    def _schema(self, name: str) -> dict[str, Any] | Problem:
        where = place(self.origin(("report_schema",)), ("report_schema",))
        folder = self.path.parent.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            return Problem(f"the schema file {name!r} has to be beside the role file", where)
        try:
            text = read_text(path)
        except BadFile as error:
            return Problem(f"{error.problem.where}: {error.problem.message}", where)
        try:
            data = json.loads(text) if path.suffix == ".json" else parse_yaml(text, name).data
        except ValueError as error:
            return Problem(f"the schema file {name!r} is not valid JSON: {error}", where)
        if not isinstance(data, dict):
            return Problem(f"the schema file {name!r} does not hold a JSON Schema", where)
        return data

    def _bad_patterns(self, file: RoleFile) -> list[Problem]:
        lists: list[tuple[KeyPath, tuple[str, ...]]] = [
            ((key,), getattr(file, key)) for key in ("tools", "disallowed_tools")
        ]
        if self.layer == CLAUDE_LAYER:
            lists.clear()
        lists += [(("permissions", key), getattr(file.permissions, key)) for key in _RULES]
        lists += [(("dispatch", i, "tools"), e.tools) for i, e in enumerate(file.dispatch)]
        checked = (
            pattern_problem(pattern, place(self.origin((*key, index)), (*key, index)))
            for key, patterns in lists
            for index, pattern in enumerate(patterns)
        )
        return [problem for problem in checked if problem]

    def _bad_acceptance(self, file: RoleFile) -> list[Problem]:
        given = file.acceptance
        where = place(self.origin(("acceptance", "command")), ("acceptance",))
        if given.kind == "command" and not given.command.strip():
            remedy = 'Write acceptance: {command: "make test"}, or acceptance: attested.'
            return [Problem("the acceptance has no command", where, remedy)]
        if given.kind != "command" and given.command:
            text = f"an acceptance that is {given.kind!r} runs no command"
            return [Problem(text, where, "Leave 'kind' away, or 'command'.")]
        return []

    def _bad_edges(self, file: RoleFile) -> list[Problem]:
        problems = []
        seen: set[str] = set()
        for index, edge in enumerate(file.dispatch):
            where = place(self.origin(("dispatch", index)), ("dispatch", index))
            if edge.role == "*":
                problems.append(Problem("'*' is no role", where, "Name each role of the edge."))
            elif edge.role in seen:
                problems.append(Problem(f"the role {edge.role!r} is named twice", where))
            seen.add(edge.role)
        return problems


def _is_open(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _edge(entry: EdgeEntry) -> Edge:
    return Edge(
        entry.role,
        entry.max_parallel,
        entry.tools,
        entry.tokens,
        entry.usd,
        isolated=entry.isolation is not None,
    )


def _acceptance(file: RoleFile) -> Acceptance:
    given = file.acceptance
    if given.kind != "command":
        return Acceptance(given.kind)
    return Acceptance("command", given.command.strip(), given.timeout)


def _limits(file: RoleFile, defaults: Defaults) -> Limits:
    own = {name: getattr(file.limits, name) for name in file.limits.model_fields_set}
    limits = replace(defaults.limits, **own)
    tight = limits.narrowed(defaults.limits)
    return replace(limits, **{name: getattr(tight, name) for name in defaults.chosen})
