"""The tool with which a child ends: checked, accepted once, then closed."""

from collections.abc import Callable, Mapping
from typing import Any

from hub.core import events as ev
from hub.core.jobs import Report
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext, Journal

REPORT = "report"

CheckSchema = Callable[[Any, Mapping[str, Any]], list[str]]
"""Checks a value against a JSON Schema and returns every fault as a sentence."""

_PLACE = "#/properties/data"
_LITERAL = ("const", "enum", "default", "examples")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_TEXTS = {"type": "array", "items": {"type": "string"}}


def report_parameters(data_schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the JSON Schema of a report whose ``data`` follows the role's schema."""
    properties: dict[str, Any] = {
        "status": {"enum": ["success", "partial", "failed", "blocked"]},
        "summary": {"type": "string", "minLength": 1},
        "details": {"type": "string"},
        "files": _TEXTS,
        "questions": _TEXTS,
    }
    required = ["status", "summary"]
    if data_schema is not None:
        properties["data"] = _nested(dict(data_schema))
        required.append("data")
    else:
        properties["data"] = {}
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _nested(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose references to itself hold where it stands in that of a report."""
    if "$id" in schema:
        return schema
    moved: dict[str, Any] = _moved(schema)
    return moved


def _moved(node: Any) -> Any:
    if isinstance(node, list):
        return [_moved(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    made = {key: _moved_member(key, value) for key, value in node.items()}
    target = made.get("$ref")
    if isinstance(target, str) and (target == "#" or target.startswith("#/")):
        made["$ref"] = _PLACE + target[1:]
    return made


def _moved_member(key: str, value: Any) -> Any:
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _moved(schema) for name, schema in value.items()}
    return value if key in _LITERAL else _moved(value)


class ReportTool:
    """Takes the report of one child."""

    def __init__(
        self,
        data_schema: Mapping[str, Any] | None,
        *,
        journal: Journal,
        check: CheckSchema,
        open_jobs: Callable[[], str] = lambda: "",
    ) -> None:
        """Make the tool; ``open_jobs`` says which jobs of the child are not settled, if any."""
        self._schema = report_parameters(data_schema)
        self._journal = journal
        self._check = check
        self._open_jobs = open_jobs
        self._accepted: Report | None = None
        self.validation_schema: dict[str, Any] = {"type": "object"}
        """The path checks nothing; the faults of a report are noted here."""
        self.spec = ToolSpec(
            REPORT,
            "End your work: hand your result to your parent, who sees nothing else of it. "
            "Say in summary what you found or did, and what is missing; list the files.",
            self._schema,
            terminal=True,
        )
        """How it is offered."""

    def accepted(self) -> Report | None:
        """Return the report that was accepted; None while there is none."""
        return self._accepted

    async def call(self, arguments: dict[str, Any], _context: CallContext) -> ToolOutcome:
        """Accept the first valid report."""
        if self._accepted is not None:
            return ToolOutcome(
                "Your report was accepted already.", is_error=True, kind="report_closed"
            )
        if jobs := self._open_jobs():
            return ToolOutcome(jobs, is_error=True, kind="open_jobs")
        errors = self._check(arguments, self._schema)
        self._journal.note(ev.ReportSubmitted(valid=not errors, errors=errors, report=arguments))
        if errors:
            faults = "\n".join(f"- {error}" for error in errors)
            text = f"The report was not accepted:\n{faults}\nCorrect it and call report again."
            return ToolOutcome(text, is_error=True, kind="invalid_report")
        self._accepted = Report(
            status=arguments["status"],
            summary=arguments["summary"],
            details=arguments.get("details", ""),
            files=tuple(arguments.get("files", ())),
            data=arguments.get("data"),
            questions=tuple(arguments.get("questions", ())),
        )
        return ToolOutcome("Report accepted.")
