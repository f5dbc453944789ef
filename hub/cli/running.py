"""One watched run: the hub's events go to the view and the result to stdout, until it ends."""

import json
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anyio
from msgspec import Struct

from hub.app.options import InitInfo, RunOptions
from hub.cli.changes import KeptChanges
from hub.cli.failures import GOOD, FailedChildren, ending
from hub.cli.garbage import keep_imports
from hub.cli.outlet import Outlet
from hub.cli.results import ResultWriter
from hub.cli.stopping import Stopper
from hub.cli.views import View
from hub.core.cancel import CancelReason
from hub.core.errors import HubError
from hub.core.events import AnyEvent
from hub.core.jobs import TurnResult
from hub.core.outcomes import exit_code


class Stream(Protocol):
    """What is used of the events of a turn."""

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        """Iterate over the events until the turn has ended."""
        ...

    @property
    def result(self) -> TurnResult:
        """How the turn ended."""
        ...


class OpenHub(Protocol):
    """What is used of a hub."""

    init: InitInfo

    def ask(self, prompt: str, *, final: bool = False) -> AbstractAsyncContextManager[Any]:
        """Run one turn; the context's value is a ``Stream``."""
        ...

    def cancel(self, reason: CancelReason = "user") -> None:
        """Stop the turn."""
        ...


Opener = Callable[[RunOptions], AbstractAsyncContextManager[OpenHub]]


class Faces(Struct, frozen=True):
    """Where a run shows itself."""

    view: View
    writer: ResultWriter
    outlet: Outlet
    """Stdout."""


async def run_task(opener: Opener, options: RunOptions, task: str, faces: Faces) -> int:
    """Run a task to its end, or to the user's patience, and return the exit code.

    Raises:
        HubError: the run could not be made; readers of JSON have been told.
    """
    stopper = Stopper(faces.view.say)
    code = stopper.exit_code
    fault: HubError | None = None
    async with anyio.create_task_group() as beside:
        beside.start_soon(faces.view.run)
        beside.start_soon(faces.outlet.pump)
        await beside.start(stopper.watch)
        try:
            with stopper.scope:
                try:
                    code = await _run(opener, options, task, faces, stopper)
                except HubError as error:
                    fault = error
                    faces.outlet.put(faces.writer.fault(error))
                    await faces.outlet.drained()
            if stopper.scope.cancelled_caught:
                code = stopper.exit_code
                faces.view.say("left before the run had ended")
        finally:
            faces.view.finish()
            await faces.view.drained()
            stopper.end()
            beside.cancel_scope.cancel()
    if fault is not None:
        raise fault
    return code


async def _run(
    opener: Opener, options: RunOptions, task: str, faces: Faces, stopper: Stopper
) -> int:
    children, changes = FailedChildren(), KeptChanges()
    async with opener(options) as hub:
        _announce(hub.init, faces)
        stopper.cancel_run = hub.cancel
        faces.outlet.on_broken = partial(hub.cancel, "user")
        try:
            async with hub.ask(task, final=True) as events:
                await _follow(events, faces, children.note, changes.note)
            result: TurnResult = events.result
        finally:
            stopper.cancel_run = faces.outlet.on_broken = None
        retryable = result.error is not None and result.error.retryable
        code = exit_code(result.outcome, retryable=retryable, sigterm=stopper.terminated)
        faces.view.finish()
        faces.outlet.put(faces.writer.result(result, code))
        await faces.outlet.drained()
        if words := last_words(result, hub.init.workspace, options, children):
            faces.view.say(words)
        if words := changes.text():
            faces.view.say(words)
        if faces.outlet.fault:
            faces.view.say(
                f"error: the result could not be written: {faces.outlet.fault}\n"
                f"  it is stored; see it with: hub sessions show {result.session_id}"
            )
            code = code or 1
    return code


async def _follow(events: Stream, faces: Faces, *hearers: Callable[[AnyEvent], None]) -> None:
    connected = False
    async for event in events:
        if event.type == "server.connected" and not connected:
            connected = True
            keep_imports()
        faces.view.show(event)
        for hear in hearers:
            hear(event)
        if line := faces.writer.event(event):
            faces.outlet.put(line)
        if faces.outlet.full:
            await faces.outlet.room()


def _announce(init: InitInfo, faces: Faces) -> None:
    """Say what a run starts without, before its first event."""
    faces.outlet.put(faces.writer.opening(init.as_dict()))
    for problem in init.problems:
        faces.view.say(f"warning: {problem}")
    for withheld in init.withheld:
        faces.view.say(f"withheld: {withheld}")
    if init.withheld:
        faces.view.say("this workspace is not trusted; look at what it asks for with: hub trust")


def last_words(
    result: TurnResult,
    workspace: str,
    options: RunOptions | None = None,
    children: FailedChildren | None = None,
) -> str:
    """Return what a person must know of a run that did not end well, and how to go on."""
    if result.outcome in GOOD:
        return ""
    session = result.session_id
    if result.outcome == "cancelled":
        folder = "" if Path(workspace) == Path.cwd() else f" -C {shlex.quote(workspace)}"
        return f'cancelled; go on with: hub run --resume {session}{folder}{_again(options)} "…"'
    cause = f": {result.error.message}" if result.error else ""
    lines = [f"error: {ending(result.outcome, result.stop_reason)}{cause}"]
    lines += [f"  {line}" for line in children.lines()] if children else []
    lines += [
        f"  denied: {denied.tool} for {denied.agent}: {denied.reason}"
        for denied in result.denied_calls
    ]
    if result.denied_calls:
        tools = sorted({denied.tool for denied in result.denied_calls})
        lines.append(
            f"  to allow it: --set 'permissions.allow={json.dumps(tools)}', or a wider --mode"
        )
    return "\n".join([*lines, f"  what happened: hub sessions show {session}"])


def _again(options: RunOptions | None) -> str:
    """Return the flags of a run that its session does not keep."""
    if options is None:
        return ""
    given = {
        "--model": options.model,
        "--team": options.team,
        "--mode": options.mode,
        "--strict-mcp-config": options.strict_mcp_config,
    }
    return "".join(f" {flag} {shlex.quote(str(value))}" for flag, value in given.items() if value)
