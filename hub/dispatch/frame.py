"""How a task reaches a child and how its result reaches the parent: as framed, escaped data."""

import json
from collections.abc import Sequence

from hub.core.jobs import JobResult

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def task_message(task: str, context: str, files: Sequence[str]) -> str:
    """Return the first message of a child: the task, then context and files when there are any."""
    parts = [task]
    if context:
        parts.append(f"<context>\n{context}\n</context>")
    if files:
        parts.append("<files>\n" + "\n".join(files) + "\n</files>")
    return "\n\n".join(parts)


def result_message(result: JobResult) -> str:
    r"""Return a ``dispatch_result`` as its parent reads it.

    It is one JSON object in a frame. ``<``, ``>`` and ``&`` inside are written as ``\u003c`` and so
    on, which JSON reads back unchanged, so that nothing in it can close or imitate a frame.
    Fields without a value are left out.
    """
    given = {key: value for key, value in result.as_dict().items() if value not in (None, "", [])}
    body = json.dumps(given, ensure_ascii=False).translate(_ESCAPES)
    return f"<dispatch_result>\n{body}\n</dispatch_result>"
