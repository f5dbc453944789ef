"""The task of a run: from the command line, from stdin, or from both."""

import os
import re
import select
import stat
import sys
from collections.abc import Callable

from hub.core.errors import UsageError

STDIN = "-"
"""What stands for stdin where a task is expected."""
PATIENCE = 0.3
"""Seconds that the first byte of a pipe beside a task may take."""
IDLE = 10.0
"""Seconds without a byte after which a pipe beside a task is not waited for any longer."""
MAX_BYTES = 1_000_000
"""Bytes of stdin that are taken."""
_TAG = re.compile(r"<(?=\s*/?\s*stdin\b)", re.IGNORECASE)


def given_task(task: str | None, warn: Callable[[str], None]) -> str:
    """Return the task; text that is piped to a command with a task of its own is added to it.

    ``-``, or no task at all, reads stdin to its end, however long that takes. Beside a task, an
    open pipe on which nothing comes is left alone, since nobody may ever close it; ``warn`` tells
    what was not waited for.

    Raises:
        UsageError: there is no task, or too much on stdin.
    """
    if task is None and _is_terminal():
        raise UsageError("There is no task.", remedy='Say what to do: hub run "…"')
    if task is None or task == STDIN:
        text = "" if sys.stdin is None else _decoded(sys.stdin.buffer.read(MAX_BYTES + 1))
        if not text.strip():
            remedy = 'Pipe the task into it, or say what to do: hub run "…"'
            raise UsageError("There is no task: stdin was empty.", remedy=remedy)
        return text
    if not task.strip():
        raise UsageError("The task is empty.", remedy='Say what to do: hub run "…"')
    text = _decoded(_piped(warn))
    if not text.strip():
        return task
    return f"{task}\n\n<stdin>\n{_TAG.sub('&lt;', text)}\n</stdin>"


def _is_terminal() -> bool:
    return sys.stdin is None or sys.stdin.isatty()


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise UsageError(
            f"stdin holds more than {MAX_BYTES:,} bytes",
            remedy="Put them into a file of the workspace and name it in the task.",
        )
    return content.decode("utf-8", "replace")


def _piped(warn: Callable[[str], None]) -> bytes:
    """Return what a file, pipe or socket on stdin holds, as far as it comes without a long wait."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return b""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return b""
    content, patience = b"", PATIENCE
    while len(content) <= MAX_BYTES:
        if not select.select([descriptor], [], [], patience)[0]:
            warn(_not_waited(content))
            break
        part = os.read(descriptor, 65_536)
        if not part:
            break
        content, patience = content + part, IDLE
    return content


def _not_waited(content: bytes) -> str:
    size = f"{len(content):,} bytes"
    what = (
        f"nothing more came on stdin for {IDLE:g} s, so only its first {size} are used"
        if content
        else f"nothing came on stdin within {PATIENCE:g} s, so it is not used"
    )
    return f"{what}; to wait for all of it, pipe the whole task: … | hub run -"
