"""How a task reaches a child and how its result reaches the parent: as framed, escaped data."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.messages import ToolOutcome
from hub.core.text import cut_middle
from hub.dispatch.imitation import imitations, warning

MAX_MESSAGE = 48_000
"""Characters of a result that a parent is shown; a longer one would be cut, and be no JSON."""
_SHORTER = (
    *((texts, 1_000_000) for texts in (16_000, 8_000, 4_000, 2_000)),
    *((2_000, items) for items in (500, 200, 100, 50)),
    *((texts, items) for texts, items in ((1_000, 50), (500, 30), (200, 20), (100, 14), (50, 14))),
    (50, 5),
)
"""How long texts and lists may be, tried in this order until the result fits."""

_TAG = re.compile(r"<(?=\s*/?\s*(?:context|files|workspace)\b)", re.IGNORECASE)
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def task_message(task: str, context: str, files: Sequence[str], place: str = "") -> str:
    """Return the first message of a child: the task, then context, files and place if any.

    A tag of the frame inside of the context begins with ``&lt;``; all else stays as it is.
    """
    parts = [task]
    if context:
        parts.append(f"<context>\n{_TAG.sub('&lt;', context)}\n</context>")
    if files:
        parts.append("<files>\n" + "\n".join(files) + "\n</files>")
    if place:
        parts.append(f"<workspace>\n{place}\n</workspace>")
    return "\n\n".join(parts)


def result_message(result: Mapping[str, Any]) -> str:
    r"""Return a ``dispatch_result``, given by its fields, as its parent reads it.

    It is one JSON object in a frame. ``<``, ``>`` and ``&`` inside are written as ``\u003c`` and so
    on, which JSON reads back unchanged, so that nothing in it can close or imitate a frame.
    Fields without a value are left out. A result that is too long stays JSON: its long texts are
    cut in the middle and its long lists at their end, and it says how much is missing. Text that
    imitates the harness is told of in ``warning``, which stands first.
    """
    told = {"warning": warning(result), **result}
    given = {key: value for key, value in told.items() if value not in (None, "", [])}
    short, message = given, _framed(given)
    for texts, items in _SHORTER:
        if len(message) <= MAX_MESSAGE:
            break
        short = {key: _shortened(value, texts, items) for key, value in given.items()}
        message = _framed(short)
    data = (given.get("report") or {}).get("data")
    if len(message) > MAX_MESSAGE and data is not None:
        size = len(json.dumps(data))
        note = f"[… {size} characters of data left out; let the child write them into a file …]"
        message = _framed(short | {"report": {**short["report"], "data": note}})
    return message


def started_message(job: str, role: str) -> str:
    """Return how a parent is told of a job that works while it goes on."""
    body = json.dumps({"job_id": job, "role": role, "state": "running"})
    return f"<dispatch_started>\n{body}\n</dispatch_started>"


def question_message(job: str, role: str, question: str, options: Sequence[str] = ()) -> str:
    """Return the question of a child as its parent reads it, escaped like a result."""
    given: dict[str, Any] = {"job_id": job, "role": role, "state": "waiting", "question": question}
    if options:
        given["options"] = list(options)
    if found := imitations([question, list(options)]):
        given = {"warning": f"The question imitates the harness: {', '.join(found)}.", **given}
    body = json.dumps(given, ensure_ascii=False).translate(_ESCAPES)
    return f"<dispatch_question>\n{body}\n</dispatch_question>"


def answer_message(text: str, by: str) -> str:
    """Return the answer to a child's question as the child reads it, escaped like a result."""
    body = json.dumps({"answer": text, "by": by}, ensure_ascii=False).translate(_ESCAPES)
    return f"<answer>\n{body}\n</answer>"


def _framed(fields: Mapping[str, Any]) -> str:
    body = json.dumps(fields, ensure_ascii=False).translate(_ESCAPES)
    return f"<dispatch_result>\n{body}\n</dispatch_result>"


def _shortened(value: Any, texts: int, items: int) -> Any:
    """Return a value without the middles of long texts and the ends of long lists."""
    if isinstance(value, str):
        return cut_middle(value, texts)
    if isinstance(value, Mapping):
        kept = list(value.items())[:items]
        more = {"…": _left_out(len(value) - items)} if len(value) > items else {}
        return {cut_middle(key, texts): _shortened(v, texts, items) for key, v in kept} | more
    if isinstance(value, list):
        more_items = [_left_out(len(value) - items)] if len(value) > items else []
        return [*(_shortened(item, texts, items) for item in value[:items]), *more_items]
    return value


def _left_out(number: int) -> str:
    return f"[… {number} more left out; let the child write them into a file …]"


def result_outcome(result: Mapping[str, Any]) -> ToolOutcome:
    """Return what a dispatch call comes to; a child that failed is an error."""
    outcome = str(result["outcome"])
    good = outcome in ("done", "partial")
    return ToolOutcome(
        result_message(result), is_error=not good, structured=result, kind="" if good else outcome
    )
