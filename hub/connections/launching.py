"""How the command of a server becomes what the system starts, on Windows as well.

Elsewhere the arguments reach the program as they are. Windows looks for programs by the endings
in ``PATHEXT``, hands on one line instead of a list, and runs ``.cmd`` and ``.bat`` files, such as
those of npm, only through ``cmd.exe``, which reads that line in its own way.
"""

import ntpath
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from hub_servers.processes import LaunchError

ENDINGS = ".COM;.EXE;.BAT;.CMD"
"""What Windows tries where ``PATHEXT`` is not set."""
BATCH = (".bat", ".cmd")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#$*+-./:?@\\_")
"""Characters that ``cmd.exe`` leaves alone outside of quotes."""


def launch_line(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    platform: str = sys.platform,
    exists: Callable[[str], bool] = os.path.isfile,
) -> list[str] | str:
    """Return what starts a command: its arguments, or for batch files of Windows one line.

    Raises:
        LaunchError: an argument cannot be handed to a batch file whole.
    """
    if platform != "win32":
        return list(argv)
    found = _found(argv[0], env, exists) or argv[0]
    if not found.lower().endswith(BATCH):
        return [found, *argv[1:]]
    return _batch_line(found, argv[1:])


def _found(program: str, env: Mapping[str, str], exists: Callable[[str], bool]) -> str:
    """Return the file that a name means, as ``CreateProcess`` and ``cmd.exe`` would find it."""
    upper = {name.upper(): value for name, value in env.items()}
    endings = [ending for ending in upper.get("PATHEXT", ENDINGS).split(";") if ending]
    has_ending = program.upper().endswith(tuple(ending.upper() for ending in endings))
    names = [program] if has_ending else [program + ending.lower() for ending in endings]
    folders = [""] if ntpath.dirname(program) else upper.get("PATH", "").split(";")
    places = (ntpath.join(folder.strip('"'), name) for folder in folders for name in names)
    return next((place for place in places if exists(place)), "")


def _batch_line(program: str, arguments: Sequence[str]) -> str:
    for argument in (program, *arguments):
        if any(character in argument for character in "\r\n\0"):
            raise LaunchError(program, "a batch file cannot be given an argument with a line break")
    return " ".join([f'"{program}"', *map(_quoted, arguments)])


def _quoted(argument: str) -> str:
    """Quote one argument for ``cmd.exe`` and, behind it, for the program that gets it."""
    if argument and all(character in _PLAIN for character in argument):
        return argument
    inner = subprocess.list2cmdline([f"{argument} "])[1:-2].replace('\\"', '""')
    # Inside of quotes cmd.exe still replaces %NAME%; an empty slice of a variable breaks the name.
    inner = inner.replace("%", "%%cd:~,%")
    trailing = len(argument) - len(argument.rstrip("\\"))
    return f'"{inner}{chr(92) * trailing}"'
