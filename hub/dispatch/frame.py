"""How a task reaches a child and how its result reaches the parent: as framed, escaped data."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.messages import ToolOutcome

_TAG = re.compile(r"<(?=\s*/?\s*(?:context|files)\b)", re.IGNORECASE)
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def task_message(task: str, context: str, files: Sequence[str]) -> str:
    """Return the first message of a child: the task, then context and files when there are any.

    A tag of the frame inside of the context begins with ``&lt;``; all else stays as it is.
    """
    parts = [task]
    if context:
        parts.append(f"<context>\n{_TAG.sub('&lt;', context)}\n</context>")
    if files:
        parts.append("<files>\n" + "\n".join(files) + "\n</files>")
    return "\n\n".join(parts)


def result_message(result: Mapping[str, Any]) -> str:
    r"""Return a ``dispatch_result``, given by its fields, as its parent reads it.

    It is one JSON object in a frame. ``<``, ``>`` and ``&`` inside are written as ``\u003c`` and so
    on, which JSON reads back unchanged, so that nothing in it can close or imitate a frame.
    Fields without a value are left out.
    """
    given = {key: value for key, value in result.items() if value not in (None, "", [])}
    body = json.dumps(given, ensure_ascii=False).translate(_ESCAPES)
    return f"<dispatch_result>\n{body}\n</dispatch_result>"


def result_outcome(result: Mapping[str, Any]) -> ToolOutcome:
    """Return what a dispatch call comes to; a child that failed is an error."""
    outcome = str(result["outcome"])
    good = outcome in ("done", "partial")
    return ToolOutcome(
        result_message(result), is_error=not good, structured=result, kind="" if good else outcome
    )
