"""How a fault ends a command: one message on stderr, one exit code, no traceback unasked."""

import os
import sys
import traceback
from typing import Any

from hub.core.errors import HubError
from hub.core.text import one_line, printable

DEBUG_KEY = "hub.debug"
"""Where a command's ``--debug`` is kept in the context."""
DEBUG_VARIABLE = "HUB_DEBUG"


def remember_debug(ctx: Any, value: bool) -> bool:
    """Note ``--debug`` of a command, as the callback of that option."""
    ctx.meta[DEBUG_KEY] = value
    return value


def debugging(ctx: Any) -> bool:
    """Say whether tracebacks were asked for, by ``--debug`` or by ``HUB_DEBUG=1``."""
    if ctx.meta.get(DEBUG_KEY):
        return True
    return os.environ.get(DEBUG_VARIABLE, "").lower() not in {"", "0", "false", "no"}


def report(error: Exception, *, debug: bool) -> int:
    """Print what happened, where and what to do; return the exit code."""
    cause = unwrapped(error)
    if debug:
        print(printable("".join(traceback.format_exception(cause))), file=sys.stderr)
    print(message(cause), file=sys.stderr)
    return cause.exit_code if isinstance(cause, HubError) else 1


def message(error: Exception) -> str:
    """Return the printable lines that tell a user of a fault."""
    if isinstance(error, HubError):
        return f"error: {printable(str(error))}"
    cause = f"{type(error).__name__}: {one_line(str(error), 300)}".removesuffix(": ")
    return f"error: internal error: {cause}\n  run it again with {DEBUG_VARIABLE}=1 for a traceback"


def unwrapped(error: Exception) -> Exception:
    """Return the fault itself where groups wrap nothing else."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
