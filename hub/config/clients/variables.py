"""What clients write for a variable, an input or a folder, and what we write for it.

References of editors are ``${env:NAME}``, ``${input:ID}`` and names of folders; a reference that
cannot be resolved without the editor makes the entry unusable, since its literal text would go to
the server.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hub.config.clients.dialect import Around, Unusable
from hub.config.references import from_shell_style
from hub.core.text import one_line

_EDITOR = re.compile(r"\$\{([^}]*)\}")
_ENV = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)(?::-?([^}]*))?")
_FOLDERS = "workspaceFolder|workspaceRoot|workspaceFolderBasename|userHome|pathSeparator|cwd"
_PLAIN = re.compile(rf"\$\{{(?!(?:{_FOLDERS})\}})([A-Za-z_]\w*)(:-[^}}]*)?\}}", re.ASCII)
_DOLLAR = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(:-[^}]*)?\})", re.ASCII)


def shell_style(text: str, around: Around) -> str:
    """Turn ``${NAME}`` and ``${NAME:-text}`` into our references."""
    return from_shell_style(text)


def dollar_style(text: str, around: Around) -> str:
    """Turn ``$NAME``, ``${NAME}`` and ``${NAME:-text}`` into our references."""
    return _DOLLAR.sub(lambda match: f"${{env:{match[1] or match[2]}{match[3] or ''}}}", text)


def editor_style(text: str, around: Around) -> str:
    """Turn the references of VS Code and its relatives into ours, and name the folders.

    Raises:
        Unusable: a reference can only be resolved by the editor.
    """
    return _EDITOR.sub(lambda match: _editor(match[1], around), text)


def any_style(text: str, around: Around) -> str:
    """Turn the references of editors and ``${NAME}`` into ours, where nobody says whose file it is.

    Raises:
        Unusable: a reference can only be resolved by an editor.
    """
    ours = _PLAIN.sub(lambda match: f"${{env:{match[1]}{match[2] or ''}}}", text)
    return editor_style(ours, around)


def _editor(inside: str, around: Around) -> str:
    folders = {
        "workspaceFolder": str(around.project),
        "workspaceRoot": str(around.project),
        "cwd": str(around.project),
        "workspaceFolderBasename": around.project.name,
        "userHome": str(around.home),
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    if inside in folders:
        return folders[inside]
    if match := _ENV.fullmatch(inside):
        return f"${{env:{match[1]}{':-' + match[2] if match[2] else ''}}}"
    if inside.startswith("input:"):
        return _input(inside.removeprefix("input:"), around)
    raise Unusable(f"only the editor knows what {one_line('${' + inside + '}')} is")


def _input(name: str, around: Around) -> str:
    """Return a reference to the variable in which an input of the editor is given to us."""
    variable = input_variable(name)
    asked = _described(name, around)
    default = asked.get("default")
    if isinstance(default, str) and default and "}" not in default:
        return f"${{env:{variable}:-{default}}}"
    words = str(asked.get("description") or "")
    said = re.sub(r"[${}]", "", one_line(f"the input {name!r} ({words})" if words else ""))
    return f"${{env:{variable}:?{said or f'the input {name!r}'} is missing}}"


def input_variable(name: str) -> str:
    """Return the variable for an input: ``api-key`` is asked for as ``API_KEY``."""
    variable = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()
    return variable if variable[:1].isalpha() else f"INPUT_{variable}"


def _described(name: str, around: Around) -> Mapping[str, Any]:
    inputs = around.document.get("inputs") if isinstance(around.document, dict) else None
    found: Iterable[Any] = inputs if isinstance(inputs, list) else ()
    for one in found:
        if isinstance(one, dict) and one.get("id") == name:
            return one
    return {}
