"""``hub jobs``: what children were given to do, and what they changed in their work trees."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from hub.app.jobs import (
    StoredJob,
    apply_changes,
    drop_changes,
    find_job,
    list_jobs,
    patch_of,
)
from hub.cli.examples import examples
from hub.cli.figures import plural
from hub.cli.layout import columns, facts, show
from hub.cli.options import AsJson
from hub.cli.results import json_line
from hub.cli.transcript import moment
from hub.core.errors import HubError, UsageError
from hub.core.text import one_line, printable

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

JobId = Annotated[str, typer.Argument(help="The job's id, or its beginning.", metavar="JOB")]
Elsewhere = Annotated[
    Path | None,
    typer.Option("-C", "--dir", help="Apply it to this folder instead.", metavar="DIR"),
]


@app.callback(epilog=examples("hub jobs list", "hub jobs diff j-01k3", "hub jobs apply j-01k3"))
def jobs() -> None:
    """Look at jobs, and apply what they changed."""


@app.command("list", epilog=examples("hub jobs list", "hub jobs list -C . --changes --json"))
def list_stored(
    *,
    directory: Annotated[
        Path | None, typer.Option("-C", "--dir", help="Only runs on this folder.", metavar="DIR")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Of how many runs, latest first.")
    ] = 20,
    changes: Annotated[
        bool, typer.Option("--changes", help="Only jobs whose changes are kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the jobs of the latest runs, and all whose changes are kept."""
    found = anyio.run(partial(list_jobs, limit, workspace=directory, changed_only=changes))
    if as_json:
        show(json_line(job.as_dict()).rstrip() for job in found)
        return
    header = ("JOB", "STARTED", "ROLE", "OUTCOME", "CHANGES", "TASK")
    rows = [
        (
            job.id,
            moment(job.started) if job.started else "",
            job.role,
            job.outcome or "not ended",
            _changes(job),
            job.task,
        )
        for job in found
    ]
    show(columns([header, *rows]) if rows else ["No job is stored yet."])


@app.command("show", epilog=examples("hub jobs show j-01k3", "hub jobs show j-01k3 --json"))
def show_one(job: JobId, *, as_json: AsJson = False) -> None:
    """Show what a job was given to do, how it ended, and which files it changed."""
    found = anyio.run(partial(find_job, job))
    show([json_line(found.as_dict()).rstrip()] if as_json else _told(found))


@app.command(epilog=examples("hub jobs diff j-01k3", "hub jobs diff j-01k3 -o fix.patch"))
def diff(
    job: JobId,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the exact patch to a file.", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the patch with what a job changed, in printable form."""
    record, path = anyio.run(partial(patch_of, job))
    content = path.read_bytes()
    _warn(record.missing)
    if output is not None:
        try:
            output.write_bytes(content)
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}") from None
        show([f"Wrote the changes of {record.job} to {printable(str(output))}."])
        return
    text = content.decode("utf-8", "replace")
    if as_json:
        show([json_line({"job": record.job, "patch": text}).rstrip()])
        return
    shown = printable(text)
    sys.stdout.write(shown)
    if shown.encode() != content:
        print("note: parts are shown as escapes; -o FILE writes the exact patch", file=sys.stderr)


@app.command(epilog=examples("hub jobs apply j-01k3", "hub jobs apply j-01k3 -C ../clone"))
def apply(job: JobId, *, directory: Elsewhere = None, as_json: AsJson = False) -> None:
    """Merge what a job changed into the workspace, whole or not at all.

    Exit code 1: it conflicts with what is there, and nothing was changed.
    """
    try:
        record, applied = anyio.run(partial(apply_changes, job, directory))
    except HubError as error:
        if as_json and (conflicts := getattr(error, "files", None)) is not None:
            show([
                json_line({"job": job, "applied": False, "conflicts": conflicts}).rstrip()
            ])  # fmt: skip
        raise
    _warn(record.missing)
    if as_json:
        done = {"job": record.job, "applied": True, "files": applied.files, "top": applied.top}
        show([json_line(done).rstrip()])
        return
    if not applied.files:
        show([f"{printable(applied.top)} has all changes of {record.job} already."])
        return
    files = plural(len(applied.files), "file")
    show([f"Applied {record.job} to {printable(applied.top)}: {files}", *_names(applied.files)])


@app.command(epilog=examples("hub jobs drop j-01k3"))
def drop(
    jobs: Annotated[
        list[str], typer.Argument(help="Ids of jobs, or their beginnings.", metavar="JOB")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Delete what is kept of jobs' changes, work trees that were kept included."""
    for job in jobs:
        record = anyio.run(partial(drop_changes, job))
        if as_json:
            show([json_line({"job": record.job, "dropped": True}).rstrip()])
        else:
            show([f"Dropped the changes of {record.job}: {plural(len(record.files), 'file')}."])


def _warn(missing: str) -> None:
    """Say on stderr that a patch does not hold everything."""
    if missing:
        print(f"warning: {one_line(missing, 1000)}", file=sys.stderr)


def _changes(job: StoredJob) -> str:
    if job.record is None:
        return ""
    changes = job.record.changes
    if not changes.files:
        return job.state
    number = plural(len(changes.files), "file")
    return f"{number} +{changes.insertions} -{changes.deletions}, {job.state}"


def _told(job: StoredJob) -> list[str]:
    record = job.record
    pairs = [
        ("job", job.id),
        ("role", job.role),
        ("agent", one_line(job.agent, 200)),
        ("task", job.task),
        ("outcome", f"{job.outcome} ({job.stop_reason})" if job.outcome else "not ended"),
        ("summary", job.summary),
        ("session", job.session),
        ("changes", _changes(job)),
    ]
    if record is None:
        return facts(pairs)
    pairs.append(("workspace", record.workspace))
    if record.incomplete:
        pairs += [("incomplete", record.incomplete), ("work tree", record.tree)]
    lines = [
        f"{file.path}  {'binary' if file.binary else f'+{file.insertions} -{file.deletions}'}"
        for file in record.files
    ]
    return [*facts(pairs), *_names(lines)]


def _names(names: Sequence[str]) -> list[str]:
    return [f"  {one_line(name, 500)}" for name in names]
