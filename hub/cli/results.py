"""What a run leaves on stdout, and nothing else does: the answer as text, or JSON."""

import json
import re
from contextlib import suppress
from typing import Any, Literal

from pydantic_core import PydanticSerializationError

from hub.core.errors import HubError, ModelError
from hub.core.events import AnyEvent
from hub.core.jobs import Report, TurnResult
from hub.core.text import printable, without_surrogates

Format = Literal["text", "json", "stream-json"]

_UNSAFE = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class ResultWriter:
    """Words everything that a format puts on stdout; each method returns text, maybe empty."""

    def __init__(self, form: Format, *, deltas: bool = False) -> None:
        self._form = form
        self._deltas = deltas

    def opening(self, init: dict[str, Any]) -> str:
        """Return what comes before the first event."""
        return json_line({"type": "init", **init}) if self._form == "stream-json" else ""

    def event(self, event: AnyEvent) -> str:
        """Return an event's line in a stream; transient events only when asked for."""
        if self._form != "stream-json" or not (event.durable or self._deltas):
            return ""
        # A tool may have put more into it than the usual encoder takes.
        with suppress(PydanticSerializationError):
            return _safe(event.model_dump_json()) + "\n"
        return json_line(event.model_dump())

    def result(self, result: TurnResult, code: int) -> str:
        """Return what comes after the last event."""
        if self._form == "text":
            return answer(result)
        return self._last(result_dict(result, code))

    def fault(self, error: HubError) -> str:
        """Return what JSON readers get instead of a result when the run could not be made."""
        return "" if self._form == "text" else self._last(fault_dict(error))

    def _last(self, values: dict[str, Any]) -> str:
        typed = {"type": "result"} if self._form == "stream-json" else {}
        return json_line({**typed, **values})


def answer(result: TurnResult) -> str:
    """Return the answer, or the report, as printable text that ends with one newline."""
    text = report_text(result.report) if result.report is not None else result.text
    return printable(text).rstrip() + "\n" if text.strip() else ""


def report_text(report: Report) -> str:
    """Return a report in the order in which a person reads it."""
    parts = [report.summary if report.status == "success" else f"{report.status}: {report.summary}"]
    if report.details:
        parts.append(report.details)
    if report.data is not None:
        parts.append(json.dumps(report.data, ensure_ascii=False, indent=2))
    if report.files:
        parts.append("Files:\n" + "\n".join(f"- {path}" for path in report.files))
    if report.questions:
        parts.append("Questions:\n" + "\n".join(f"- {question}" for question in report.questions))
    return "\n\n".join(parts)


def result_dict(result: TurnResult, code: int) -> dict[str, Any]:
    """Return the result object of ``json`` and ``stream-json``."""
    return {
        "session_id": result.session_id,
        "outcome": result.outcome,
        "stop_reason": result.stop_reason,
        "text": result.text,
        "report": result.report.as_dict() if result.report else None,
        "usage": result.usage.as_dict(),
        "cost_usd": result.cost_usd,
        "steps": result.steps,
        "denied_calls": [denied.as_dict() for denied in result.denied_calls],
        "error": result.error.as_dict() if result.error else None,
        "duration_ms": result.duration_ms,
        "exit_code": code,
    }


def fault_dict(error: HubError) -> dict[str, Any]:
    """Return the result object of a run that could not be made; it has no outcome."""
    cause = {
        "kind": error.code,
        "message": error.message,
        "retryable": isinstance(error, ModelError) and error.retryable,
        "where": error.where,
        "remedy": error.remedy,
    }
    return {
        "session_id": "",
        "outcome": None,
        "stop_reason": None,
        "text": "",
        "report": None,
        "usage": None,
        "cost_usd": None,
        "steps": 0,
        "denied_calls": [],
        "error": cause,
        "duration_ms": 0,
        "exit_code": error.exit_code,
    }


def json_line(values: dict[str, Any]) -> str:
    """Return one line of JSON that is safe on a terminal and means the same."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str)
    return _safe(text) + "\n"


def _safe(line: str) -> str:
    """Escape what a terminal would obey; JSON itself escapes only the first 32 characters."""
    line = without_surrogates(line)
    return line if line.isascii() and "\x7f" not in line else _UNSAFE.sub(_escaped, line)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
