"""How the words of Claude Code's sub-agent files are read here."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from hub.roles.schema import RoleFile

TOOLS: Mapping[str, str] = {
    "Read": "files__read",
    "Write": "files__write",
    "Edit": "files__edit",
    "MultiEdit": "files__edit",
    "LS": "files__list",
    "Glob": "files__glob",
    "Grep": "files__grep",
    "Bash": "shell__run",
    "TodoRead": "notes__todo",
    "TodoWrite": "notes__todo",
}
"""Tools that have a counterpart among the bundled ones."""

DISPATCH_TOOLS = frozenset({"Task", "Agent"})
"""Tools whose work is done by edges here."""

MODES: Mapping[str, str] = {
    "default": "default",
    "manual": "default",
    "acceptEdits": "accept_edits",
    "plan": "plan",
    "dontAsk": "deny",
    "bypassPermissions": "bypass",
}
MODELS = frozenset({"inherit", "sonnet", "opus", "haiku"})
"""Names that mean the run's model here, unless the settings have an entry of that name."""

RENAMED: Mapping[str, tuple[str, ...]] = {
    "disallowedTools": ("disallowed_tools",),
    "permissionMode": ("permissions", "mode"),
    "maxTurns": ("limits", "steps"),
}
WITHOUT_EFFECT = frozenset({
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "effort",
    "initialPrompt",
})
"""Keys that are accepted, have no effect here, and are told to the user."""
SILENT = frozenset({"color"})
"""Keys that are accepted and would change nothing."""

_ITEM = re.compile(r"(?:[^,()]|\([^()]*\))+")
_NAMED = re.compile(r"([A-Za-z_-]+):(?:[ \t]+(.*)|[ \t]*)$")
_UNCLEAR = re.compile(r":(?:\s|$)|\s#|^[&*!|>%@`]")
_KNOWN = frozenset(RoleFile.model_fields) | RENAMED.keys() | WITHOUT_EFFECT | SILENT


def listed(value: Any) -> Any:
    """Return a comma-separated text as a list; anything else as it is."""
    if not isinstance(value, str):
        return value
    return [item.strip() for item in _ITEM.findall(value) if item.strip()]


def tool_pattern(name: str) -> str:
    """Return the pattern over our tool names that a tool's name stands for.

    ``mcp__server__tool`` is ``server__tool`` here, ``mcp__server`` all tools of the server; what is
    no name of Claude Code stays as it is.
    """
    if name in TOOLS:
        return TOOLS[name]
    if name.startswith("mcp__"):
        name = name.removeprefix("mcp__")
        return name if "__" in name else f"{name}__*"
    return name


def is_dispatch(name: str) -> bool:
    """Say whether a name stands for dispatching, as in ``Task`` or ``Agent(reviewer)``."""
    return name.partition("(")[0] in DISPATCH_TOOLS


def unknown(key: str, value: Any) -> str:
    """Say what of a key means nothing here, as a sentence; empty when it does mean something."""
    if key not in RoleFile.model_fields:
        return f"the key {key!r} is not known here"
    known = key != "isolation" or value in (None, "worktree")
    return "" if known else f"the isolation {value!r:.80} is not known here"


def own_model(name: str, entries: Collection[str]) -> str:
    """Return the model that a role asks for; empty when it is content with the run's."""
    return "" if name in MODELS and name not in entries else name


def mended(front_matter: str) -> str:
    """Make YAML of front matter whose description holds ``: `` or runs on without indentation.

    Claude Code reads such files; a line is taken to belong to the description unless it begins
    with a known key.
    """
    lines: list[str] = []
    inside = ""
    for line in front_matter.split("\n"):
        match = _NAMED.match(line)
        if match and (inside != "description" or match[1] in _KNOWN):
            inside = match[1]
            lines.append(line)
        elif inside == "description":
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(_quoted(line) for line in lines)


def _quoted(line: str) -> str:
    match = _NAMED.match(line)
    if match is None or not match[2] or match[2].startswith(("'", '"')):
        return line
    if not _UNCLEAR.search(match[2]):
        return line
    text = match[2].strip().replace("'", "''")
    return f"{match[1]}: '{text}'"
