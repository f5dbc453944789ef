"""Adds a server to a settings file, replaces or removes one, and touches nothing else of it.

What was changed is compared with what was meant before anything is written. Where the form of the
file stands in the way, it is left as it is and the lines to paste are shown.
"""

import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hub.config.documents import parse_yaml, read_text
from hub.config.paths import PRIVATE_FILE_MODE, make_private_dir
from hub.config.problems import BadFile, fault
from hub.config.yaml_edit import SECTION, CannotEdit, lines_for, with_server, without_server
from hub.core.errors import ConfigError

_BOM = "\ufeff"
_SHARED_FILE_MODE = 0o644


def server_entries(path: Path) -> dict[str, Any]:
    """Return the servers of a settings file by name; none when there is no file.

    Raises:
        ConfigError: it cannot be read.
    """
    return _servers(_data(_read(path), path))


def put_servers(path: Path, entries: Mapping[str, Mapping[str, Any]], *, private: bool) -> None:
    """Add servers to a settings file; one of the same name is replaced.

    The file and its folder are created when need be; ``private`` makes them the owner's alone.

    Raises:
        ConfigError: the file cannot be read, written, or changed without touching more of it.
    """
    text = before = _read(path)
    for name, entry in entries.items():
        text = _with(text, path, name, entry)
    if text != before:
        _write(path, text, private=private)


def remove_server(path: Path, name: str) -> None:
    """Take a server out of a settings file; the file has to hold it.

    Raises:
        ConfigError: the file cannot be read, written, or changed without touching more of it.
    """
    before = _read(path)
    expected = _data(before, path)
    _servers(expected).pop(name, None)
    try:
        after = without_server(before, name)
        _check(after, expected, path)
    except CannotEdit as error:
        raise ConfigError(
            f"the server {name!r} cannot be taken out without touching more of the file: {error}",
            where=str(path),
            remedy=f"Remove it from there yourself, below {SECTION!r}.",
        ) from None
    _write(path, after, private=False)


def _with(before: str, path: Path, name: str, entry: Mapping[str, Any]) -> str:
    expected = _data(before, path)
    expected[SECTION] = {**_servers(expected), name: entry}
    try:
        after = with_server(before, name, entry)
        _check(after, expected, path)
    except CannotEdit as error:
        raise ConfigError(
            f"the server {name!r} cannot be put in without touching more of the file: {error}",
            where=str(path),
            remedy=f"Put these lines into it yourself:\n{lines_for(name, entry)}".rstrip(),
        ) from None
    return after


def _check(after: str, expected: Mapping[str, Any], path: Path) -> None:
    """Compare the outcome with what was meant.

    Raises:
        CannotEdit: they differ.
    """
    document = parse_yaml(after.removeprefix(_BOM), str(path))
    if document.problems:
        raise CannotEdit("the outcome could not be read")
    if _canonical(document.data) != _canonical(expected):
        raise CannotEdit("more than that would change")


def _canonical(data: Any) -> str:
    given = data if isinstance(data, Mapping) else {}
    plain = {**given, SECTION: given.get(SECTION) or {}}
    return json.dumps(plain, sort_keys=True, default=list)


def _data(text: str, path: Path) -> dict[str, Any]:
    """Return what a settings file holds.

    Raises:
        ConfigError: it is broken.
    """
    document = parse_yaml(text.removeprefix(_BOM), str(path))
    if document.problems:
        raise fault(ConfigError, document.problems)
    if document.data is None:
        return {}
    if not isinstance(document.data, dict):
        raise ConfigError("a settings file holds 'key: value' lines", where=f"{path}:1")
    return document.data


def _servers(data: Mapping[str, Any]) -> dict[str, Any]:
    found = data.get(SECTION)
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> str:
    """Return a file's text with its own line ends; empty when there is none.

    Raises:
        ConfigError: it cannot be read.
    """
    if not path.exists():
        return ""
    try:
        read_text(path)
        return path.read_bytes().decode("utf-8")
    except BadFile as error:
        raise fault(ConfigError, [error.problem]) from None
    except OSError as error:
        raise ConfigError(f"cannot read the file: {error.strerror}", where=str(path)) from None


def _write(path: Path, text: str, *, private: bool) -> None:
    """Replace a file in one step; a link to a file elsewhere stays one.

    Raises:
        ConfigError: it cannot be written.
    """
    target = path.resolve()
    try:
        mode = PRIVATE_FILE_MODE if private else _SHARED_FILE_MODE
        if target.exists():
            kept = stat.S_IMODE(target.stat().st_mode)
            mode = kept & PRIVATE_FILE_MODE if private else kept
        elif private:
            make_private_dir(target.parent)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, text.encode(), mode)
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "it would hold text that is not Unicode"
        raise ConfigError(f"cannot write the file: {reason}", where=str(path)) from None


def _replace(target: Path, content: bytes, mode: int) -> None:
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(draft, flags, PRIVATE_FILE_MODE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
