"""The tool with which a child ends: checked, accepted once, then closed."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from hub.core import events as ev
from hub.core.acceptance import UNCHECKED, Checked, Duty, FileVersion, Verdict
from hub.core.jobs import Report
from hub.core.messages import ToolOutcome, ToolSpec
from hub.core.ports import CallContext, Journal
from hub.core.text import one_line
from hub.dispatch.claims import looked_up

REPORT = "report"

CheckSchema = Callable[[Any, Mapping[str, Any]], list[str]]
"""Checks a value against a JSON Schema and returns every fault as a sentence."""

_PLACE = "#/properties/data"
_LITERAL = ("const", "enum", "default", "examples")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_TEXTS = {"type": "array", "items": {"type": "string"}}
_CHECK = {"type": "string", "minLength": 1}
_CHECKS = {
    "type": "array",
    "description": "what you checked, how, and what came of it",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"what": _CHECK, "how": _CHECK, "result": _CHECK},
        "required": ["what", "how", "result"],
        "additionalProperties": False,
    },
}
_NAMED_FILES = 20
_GOOD = ("success", "partial")
"""What a command decides over; work that is reported as failed or blocked needs no check."""


def report_parameters(
    data_schema: Mapping[str, Any] | None, *, attested: bool = False
) -> dict[str, Any]:
    """Return the JSON Schema of a report whose ``data`` follows the role's schema.

    One that is ``attested`` has to say what was checked.
    """
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
    if attested:
        properties["checks"] = _CHECKS
        required.append("checks")
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
        duty: Duty,
        journal: Journal,
        check: CheckSchema,
        open_jobs: Callable[[], str] = lambda: "",
    ) -> None:
        """Make the tool; ``open_jobs`` says which jobs of the child are not settled, if any."""
        attested = duty.acceptance.kind == "attested"
        self._schema = report_parameters(data_schema, attested=attested)
        self._duty = duty
        self._journal = journal
        self._check = check
        self._open_jobs = open_jobs
        self._accepted: Report | None = None
        self._refused: Report | None = None
        self._late = False
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

    def refused(self) -> Report | None:
        """Return the latest report that was valid and not accepted; None while there is none."""
        return self._refused

    def hurry(self) -> None:
        """Take what comes now as it is: the child is at its limit, and no command is run."""
        self._late = True

    async def call(self, arguments: dict[str, Any], _context: CallContext) -> ToolOutcome:
        """Accept the first report that is valid and passes what the role asks for."""
        if self._accepted is not None:
            return ToolOutcome(
                "Your report was accepted already.", is_error=True, kind="report_closed"
            )
        if jobs := self._open_jobs():
            return ToolOutcome(jobs, is_error=True, kind="open_jobs")
        errors = self._check(arguments, self._schema)
        report = None if errors else report_of(arguments)
        checked = UNCHECKED if report is None else await self._looked_at(report)
        self._journal.note(_submitted(arguments, errors, checked))
        if report is None:
            faults = "\n".join(f"- {error}" for error in errors)
            text = f"The report was not accepted:\n{faults}\nCorrect it and call report again."
            return ToolOutcome(text, is_error=True, kind="invalid_report")
        report = replace(report, checked=checked)
        if not checked.accepted:
            self._refused = report
            return ToolOutcome(_refusal(self._duty, checked), is_error=True, kind="not_accepted")
        self._accepted = report
        return ToolOutcome(f"Report accepted.{_missing(checked)}")

    async def _looked_at(self, report: Report) -> Checked:
        verdict = await self._verdict(report)
        files, missing = await looked_up(self._duty.workspace, report.files)
        return Checked(verdict, files, missing)

    async def _verdict(self, report: Report) -> Verdict | None:
        acceptance, run = self._duty.acceptance, self._duty.run
        if acceptance.kind == "none":
            return None
        if acceptance.kind == "attested":
            return Verdict("attested", passed=True)
        if why := self._unchecked(report):
            return Verdict("command", reason=f"not run: {why}")
        if run is None:
            return Verdict("command", reason="not run: the mode plan runs no commands")
        return await run(acceptance, self._duty.workspace)

    def _unchecked(self, report: Report) -> str:
        """Say why the command of this report is not run; empty when it is."""
        if report.status not in _GOOD:
            return f"the report says {report.status}"
        if not self._duty.acceptance.command:
            return "it is withheld until the workspace is trusted"
        if self._late:
            before = "; it had failed before" if self._refused is not None else ""
            return f"the limit of the child was reached{before}"
        return ""


def report_of(arguments: Mapping[str, Any], checked: Checked = UNCHECKED) -> Report:
    """Return a report from the arguments of a call, which fit its schema."""
    return Report(
        status=arguments["status"],
        summary=arguments["summary"],
        details=arguments.get("details", ""),
        files=tuple(arguments.get("files", ())),
        data=arguments.get("data"),
        questions=tuple(arguments.get("questions", ())),
        checks=tuple(arguments.get("checks", ())),
        checked=checked,
    )


def stored_report(event: ev.ReportSubmitted) -> Report:
    """Return a valid report from its event, with what the host had found."""
    verdict = None if event.acceptance is None else Verdict(**event.acceptance)
    files = tuple(FileVersion(**file) for file in event.files)
    return report_of(event.report, Checked(verdict, files, tuple(event.files_missing)))


def _submitted(
    arguments: dict[str, Any], errors: list[str], checked: Checked
) -> ev.ReportSubmitted:
    return ev.ReportSubmitted(
        valid=not errors,
        errors=errors,
        report=arguments,
        accepted=checked.accepted,
        acceptance=checked.verdict.as_dict() if checked.verdict else None,
        files=[file.as_dict() for file in checked.files],
        files_missing=list(checked.missing),
    )


def _missing(checked: Checked) -> str:
    if not checked.missing:
        return ""
    names = ", ".join(one_line(repr(name), 200) for name in checked.missing[:_NAMED_FILES])
    more = len(checked.missing) - _NAMED_FILES
    others = f" and {more} more" if more > 0 else ""
    return f" Your parent is told that these files are not there: {names}{others}."


def _refusal(duty: Duty, checked: Checked) -> str:
    verdict = checked.verdict
    if verdict is None:
        return "The report was not accepted."
    how = verdict.reason or f"it ended with exit code {verdict.exit_code}"
    said = f" Its output ends with:\n{verdict.output_tail}" if verdict.output_tail else ""
    return (
        f"Your work was not accepted. The host ran `{duty.acceptance.command}` in the workspace, "
        f"and {how}. Go on until it succeeds and report again, or report failed and say why."
        f"{said}"
    )
