"""Write docs/reference/ from the code, or with ``--check`` say where the two differ.

The pages hold what the code says of itself: the texts under the fields of events and settings, the
tables of outcomes and errors, the help of every command.
"""

import ast
import inspect
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from hub.app.findings import Finding
from hub.app.inspect import Transcript
from hub.app.mcp.call import Called
from hub.app.mcp.checks import Check
from hub.app.mcp.explanation import Explanation
from hub.app.mcp.lock import CHECK_CODES
from hub.app.mcp.looks import Look
from hub.app.mcp.tools import ToolView
from hub.app.options import InitInfo
from hub.catalog.explain import Explained
from hub.cli.main import app
from hub.cli.results import result_dict
from hub.config.table import settings_table
from hub.core import errors, outcomes
from hub.core.events import EVENT_TYPES, Call, Event
from hub.core.jobs import TurnResult
from hub.core.messages import ToolOutcome
from hub.core.ports import RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.sessions.lines import Log
from hub.sessions.summary import SessionInfo

FOLDER = Path(__file__).parent / "reference"
REMEDY = "make docs"
NOTE = "<!-- Written by docs/generate_reference.py; edit the code instead. -->"
_SESSION = SessionInfo("", "", "", "", 0.0, 0.0)
_SAME: dict[str, str] = {}
_SERVER = ServerSpec("", "stdio")
_TOOL = Explained("", "", "", "generic", RemoteTool(""), "")
_EXPLANATION = Explanation(ToolView(_TOOL, "writes"), Look(_SERVER, "approved"), (), ())
_SHOWN_KEYS = ("version", "instructions", "offered", "prompts", "resources", "warnings")
SERVER_KEYS = {
    "name": "Name in the settings.",
    "approved": "Whether it may be started.",
    "approval": "Why it may or may not.",
    "transport": "`memory`, `stdio`, `http` or `sse`.",
    "command": "Program and arguments.",
    "url": "The address of a remote server.",
    "env": "The variables that it is given.",
    "headers": "The headers that it is sent.",
    "origin": "Where its entry stands.",
    "fingerprint": "What an approval is bound to.",
    "tools": "How many tools it listed the last time; null when it never did.",
    "quarantined": "Why each part is held back, by kind and name: `tool echo`.",
    "error": "What went wrong last.",
    "stderr": "Its last words on standard error.",
    "exit_code": "That of its last process.",
    "noise": "Lines of its standard output that were no messages.",
    "first_noise": "The first of them.",
    "protocol": "The version of MCP that was spoken the last time.",
    "started": "When it was started last.",
    "connected": "When it answered last.",
    "ended": "When it ended last.",
    "version": "The version that it gave itself.",
    "instructions": "What it says about its use.",
    "prompts": "Its prompts.",
    "offered": "Its tools, as `hub mcp tools` prints them.",
}
"""Keys of servers whose meaning stands under no field."""
TOOL_KEYS = {
    "server": "Name of its server in the settings.",
    "profile": "For the models of which servers it is shown.",
    "offered": "Whether models, and those of the role, are offered it.",
    "mark": "What the server says that calls do: `read-only`, `writes` or `destructive`.",
    "changed_for_models": "What was changed so that servers of the profile accept it.",
    "right": "What the role may do with it: `role`, `granted`, `effect`, `reason`, `origin`.",
    "rights": "What each role may do with it; the keys are those of `right`.",
    "difference": "What models see against what the server said, as lines of a diff.",
    "pinned_at": "When it was pinned or accepted last, in seconds since 1970; 0 for never.",
    "server_state": "The state of its server.",
    "server_origin": "Where the entry of its server stands.",
    "error": "What went wrong last with the server.",
    "stderr": "The server's last words on standard error.",
}
CALL_KEYS = {
    "tool": "The name that models see.",
    "ok": "Whether the tool answered without an error.",
    "permission": "What the settings say of such a call: `effect`, `reason`, `origin`.",
}
WIDTH = 88
"""Columns of the commands' help."""


def main(arguments: Sequence[str], folder: Path = FOLDER) -> int:
    """Write the pages, or compare them; return the exit code."""
    pages = {name: page() for name, page in PAGES.items()}
    if list(arguments) == ["--check"]:
        found = list(drift(pages, folder))
        print("\n".join(found) or f"{len(pages)} pages are up to date")
        if found:
            print(f"\nThe reference differs from the code; run `{REMEDY}` and look at the diff.")
        return 1 if found else 0
    if arguments:
        print("usage: python docs/generate_reference.py [--check]", file=sys.stderr)
        return 2
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    for stale in stale_pages(folder):
        stale.unlink()
    print(f"wrote {len(pages)} pages to {folder.name}/")
    return 0


def drift(pages: dict[str, str], folder: Path) -> Iterator[str]:
    """Return the lines of the difference between the stored pages and the code."""
    for name, text in pages.items():
        path = folder / name
        stored = path.read_text(encoding="utf-8") if path.is_file() else ""
        yield from unified_diff(
            stored.splitlines(), text.splitlines(), f"{name} as stored", f"{name} now", lineterm=""
        )
    for stale in stale_pages(folder):
        yield f"{stale.name} is no page any more"


def stale_pages(folder: Path) -> list[Path]:
    """Return pages that the generator once wrote and does not write any more."""
    return [
        path
        for path in sorted(folder.glob("*.md"))
        if path.name not in PAGES and NOTE in path.read_text(encoding="utf-8")
    ]


def events_page() -> str:
    """Describe every event and its fields."""
    kinds = "\n".join(
        f"| [`{_type_of(kind)}`](#{_anchor(_type_of(kind))}) "
        f"| {'stored' if kind.durable else 'passing'} | {_words(kind)} |"
        for kind in EVENT_TYPES
    )
    parts = [
        _head("Events", "What a run tells while it goes on, and what the log of a session holds."),
        "`hub run --output stream-json` prints one event a line; the store keeps those that are "
        "*stored*, in order, one line of JSON each. *Passing* events are only shown; a stored one "
        "that contains them follows.",
        f"| type | | what it says |\n|---|---|---|\n{kinds}",
        f"## Every event\n\n{_fields(Event)}",
    ]
    for kind in EVENT_TYPES:
        parts.append(f"## {_type_of(kind)}\n\n{_words(kind)}")
        if table := _fields(kind, without={"type", *Event.model_fields}):
            parts.append(table)
    parts.append(f"## A call in an assistant message\n\n{_words(Call)}\n\n{_fields(Call)}")
    return "\n\n".join(parts) + "\n"


def errors_page() -> str:
    """Describe every error that hub raises on purpose."""
    tree = (errors.__doc__ or "").split("\n\n", 1)[1].strip()
    parts = [
        _head("Errors", "What hub raises on purpose, for those who use it as a library."),
        "Every error has a message, the place that it speaks of (`where`) and what to do about it "
        "(`remedy`). The command line prints the three and exits with the code below.",
        f"```text\n{tree}\n```",
        "| error | code | exit | meaning |\n|---|---|---|---|\n"
        + "\n".join(
            f"| `{kind.__name__}` | `{kind.code}` | {kind.exit_code} | {_words(kind)} |"
            for kind in _tree(errors.HubError)
        ),
    ]
    for kind in _tree(errors.HubError):
        if attributes := _attributes(kind):
            rows = "\n".join(f"| `{name}` | {_cell(text)} |" for name, text in attributes)
            parts.append(f"## {kind.__name__}\n\n| attribute | meaning |\n|---|---|\n{rows}")
    kinds = ", ".join(f"`{kind}`" for kind in typing.get_args(errors.ModelErrorKind))
    parts.append(f"The `kind` of a `ModelError` is one of {kinds}.")
    return "\n\n".join(parts) + "\n"


def exit_codes_page() -> str:
    """Describe how a run ends and which exit code says so."""
    constants = _documented(outcomes)
    rows = [
        (outcomes.EXIT_CODES[outcome], f"`{outcome}`", outcomes.OUTCOME_MEANING[outcome])
        for outcome in typing.get_args(outcomes.Outcome)
    ]
    rows += [(getattr(outcomes, name), "", text) for name, text in constants.items()]
    table = "\n".join(
        f"| {code} | {outcome} | {_cell(meaning)} |"
        for code, outcome, meaning in sorted(rows, key=lambda row: row[0])
    )
    reasons = "\n".join(f"- `{reason}`" for reason in typing.get_args(outcomes.StopReason))
    return (
        "\n\n".join([
            _head("Outcomes and exit codes", "How a turn, a job or a run can end."),
            "One closed list, the same in reports, in JSON output, in the log and in the exit "
            "code. A limit is never success.",
            f"| exit code | outcome | when |\n|---|---|---|\n{table}",
            "## Stop reasons\n\nThe `stop_reason` beside an outcome carries the detail:",
            reasons,
            "## hub mcp lock\n\nThis command has codes of its own, also with `--check`; the first "
            "that applies of 3, 5, 4, 1 is taken:",
            "| exit code | when |\n|---|---|\n"
            + "\n".join(f"| {code} | {_cell(text)} |" for code, text in CHECK_CODES.items()),
        ])
        + "\n"
    )


def settings_page() -> str:
    """Describe every key of the settings."""
    rows = "\n".join(
        f"| `{row.key}` | {_cell(row.type)} | {_code(row.default)} | {_cell(row.doc)} |"
        for row in settings_table()
    )
    return (
        "\n\n".join([
            _head("Settings", "Every key of `config.yaml`."),
            "Keys are dotted here and nested in a file; `NAME` stands for a name of your choice. "
            "The guide to [settings](../settings-guide.md) says where files lie and which one "
            "wins.",
            f"| key | type | default | meaning |\n|---|---|---|---|\n{rows}",
        ])
        + "\n"
    )


def commands_page() -> str:
    """Show the help of every command."""
    parts = [_head("Commands", "What `--help` says of each command.")]
    for path, text in command_helps():
        level = "#" * min(1 + len(path), 4)
        parts.append(f"{level} {' '.join(path)}\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def command_helps() -> Iterator[tuple[tuple[str, ...], str]]:
    """Return each command as the words that call it, with its help."""
    root: Any = typer.main.get_command(app)

    def walk(command: Any, words: tuple[str, ...], above: Any) -> Iterator[tuple[Any, str]]:
        settings = {**command.context_settings, "terminal_width": WIDTH}
        context = root.context_class(command, info_name=words[-1], parent=above, **settings)
        help_lines = [line.rstrip() for line in command.get_help(context).splitlines()]
        yield words, "\n".join(help_lines).strip()
        if hasattr(command, "list_commands"):
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*words, name), context)

    return walk(root, ("hub",), None)


def json_page() -> str:
    """Describe what commands print as JSON."""
    shown = Transcript(_SESSION, Log((), (), 0)).as_dict()
    more = {
        "events": "Its stored [events](events.md), in order.",
        "skipped": "Lines of the log that cannot be read, each with `seq` and `why`.",
        "children": "The sessions that it dispatched, in the same form.",
        "exit_code": "What the command exits with.",
    }
    session = {"session_id": "id", "parent_session_id": "parent"}
    return (
        "\n\n".join([
            _head("JSON output", "What commands print for programs."),
            "The id of a session is `session_id` everywhere but in [events](events.md), which are "
            "a file format of their own and call it `session`.",
            "## hub run --output json\n\nOne object. Where the run could not be made, `outcome` is "
            "null and `error` also has `where` and `remedy`.",
            _keys(result_dict(TurnResult("done", "completed"), 0), TurnResult, more),
            "## hub run --output stream-json\n\nOne object a line: first this one, of the type "
            "`init`, then the events, at last the object above with the type `result`.",
            _keys(InitInfo("", "", "", "", "default").as_dict(), InitInfo, more),
            "## hub sessions list --json\n\nOne object a line.",
            _keys(_SESSION.as_dict(), SessionInfo, more, session),
            "## hub sessions show --json\n\nOne object: the keys above, and",
            _keys({key: shown[key] for key in shown if key in more}, SessionInfo, more),
            "## hub doctor --json\n\nOne object: `ok`, and `findings`, a list of objects.",
            _keys(Finding("", "ok", "").as_dict(), Finding, more),
            "## hub mcp list --json, hub mcp status --json\n\nOne object a line. Times are seconds "
            "since 1970, 0 for never; secrets are left out.",
            _keys(Look(_SERVER, "approved").as_dict(), Look, SERVER_KEYS),
            "## hub mcp tools --json\n\nOne object a line; `right` only with `--role`.",
            _keys([*ToolView(_TOOL, "writes").as_dict(), "right"], Explained, TOOL_KEYS),
            "## hub mcp explain --json\n\nOne object.",
            _keys(_EXPLANATION.as_dict(), Explained, TOOL_KEYS),
            "## hub mcp show --json\n\nOf a server one object: the keys of `hub mcp list`, and",
            _keys(_SHOWN_KEYS, ServerListing, SERVER_KEYS),
            "Of a tool, what `hub mcp explain` prints.",
            "## hub mcp test --json\n\nOne object: `ok`, and `checks`, a list of objects.",
            _keys(Check("", "ok", "").as_dict(), Check, more),
            "## hub mcp call --json\n\nOne object.",
            _keys(Called("", ToolOutcome("")).as_dict(), ToolOutcome, CALL_KEYS),
        ])
        + "\n"
    )


def _keys(
    values: Iterable[str], kind: type[Any], more: dict[str, str], names: dict[str, str] = _SAME
) -> str:
    """Return a table of keys; a key is described by the field of its name, or of ``names``."""
    docs = _documented(kind) | more
    rows = [f"| `{key}` | {_cell(docs[names.get(key, key)])} |" for key in values]
    return "| key | meaning |\n|---|---|\n" + "\n".join(rows)


def _head(title: str, sentence: str) -> str:
    return f"{NOTE}\n\n# {title}\n\n{sentence}"


def _type_of(kind: type[Event]) -> str:
    return str(kind.model_fields["type"].default)


def _anchor(heading: str) -> str:
    return heading.replace(".", "")


def _tree(root: type[errors.HubError]) -> Iterator[type[errors.HubError]]:
    yield root
    for below in root.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below)


def _words(thing: Any) -> str:
    """Return the first paragraph of a docstring as one table cell."""
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return _cell(paragraph)


def _cell(text: str) -> str:
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _fields(model: type[Any], without: frozenset[str] | set[str] = frozenset()) -> str:
    docs = _documented(model)
    rows = []
    for name, field in model.model_fields.items():
        if name in without:
            continue
        default = "required"
        if not field.is_required():
            default = _code(repr(field.get_default(call_default_factory=True)))
        kind = _cell(_kind(field.annotation))
        rows.append(f"| `{name}` | {kind} | {default} | {_cell(docs.get(name, ''))} |")
    if not rows:
        return ""
    return "| field | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)


def _kind(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(_kind(choice) for choice in arguments)
    if origin is list:
        return f"list of {_kind(arguments[0])}"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any"}
    if annotation in names:
        return names[annotation]
    if annotation is types.NoneType:
        return "null"
    return "object" if origin is dict else str(annotation.__name__).lower()


def _documented(thing: Any) -> dict[str, str]:
    """Return the texts directly under the fields of a class or the constants of a module."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else tree.body
    found = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str(words))):
                    found[field.target.id] = " ".join(words.split())
    return found


def _attributes(kind: type[errors.HubError]) -> list[tuple[str, str]]:
    """Return the attributes that a docstring lists."""
    text = inspect.getdoc(kind) or ""
    _, _, listed = text.partition("Attributes:\n")
    lines = textwrap.dedent(listed).splitlines()
    pairs = (line.partition(": ") for line in lines)
    return [(name.strip(), words) for name, _, words in pairs if words]


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "exit-codes.md": exit_codes_page,
    "json.md": json_page,
    "settings.md": settings_page,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
