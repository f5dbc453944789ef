"""What a child owes its parent: the tool that takes its report, and the duty to use it."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hub.config.beside import is_secret_name
from hub.core.acceptance import Duty, RunCommand
from hub.core.jobs import Job
from hub.core.ports import Journal
from hub.core.team import Role
from hub.dispatch.board import JobBoard
from hub.dispatch.commands import Commands
from hub.dispatch.job_tools import open_jobs
from hub.dispatch.report import REPORT, CheckSchema, ReportTool
from hub.engine.agent import ReportDuty

SHORTEST = 6
"""Characters from which on a secret is hidden; shorter ones are parts of ordinary words."""


class Reporting(Struct, frozen=True):
    """What all children of a tree report with."""

    check_schema: CheckSchema
    run_command: RunCommand
    """Runs the commands that decide whether a child's work is accepted."""

    def tool(
        self, role: Role, job: Job | None, workspace: Path, journal: Journal, board: JobBoard
    ) -> ReportTool | None:
        """Return the tool of a child; None for an agent that answers to a user."""
        if job is None:
            return None
        run = None if job.grant.plan else self.run_command
        return ReportTool(
            role.report_schema,
            duty=Duty(workspace, job.acceptance, run),
            journal=journal,
            check=self.check_schema,
            open_jobs=lambda: open_jobs(board),
        )


def report_duty(tool: ReportTool | None) -> ReportDuty | None:
    """Return the duty that goes with a report tool."""
    if tool is None:
        return None
    return ReportDuty(REPORT, tool.accepted, tool.refused, tool.hurry)


def acceptance_commands(environ: Mapping[str, str]) -> Commands:
    """Return what runs acceptance commands; secrets of the environment are never told."""
    hidden = {
        value: f"${{env:{name}}}"
        for name, value in sorted(environ.items(), key=lambda item: -len(item[1]))
        if len(value) >= SHORTEST and is_secret_name(name)
    }
    return Commands(environ, hidden)
