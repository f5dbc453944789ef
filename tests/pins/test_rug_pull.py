"""A server that is another one after it was approved: each change is seen and held back (H50)."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hub.app.guarding import require_prompt
from hub.app.mcp.approve import candidate, chosen, look, pin
from hub.app.mcp.compare import open_bench
from hub.connections.pool import ServerPool
from hub.core import events as ev
from hub.core.clock import SystemClock
from hub.core.errors import ServerError
from hub.core.ports import Quarantine
from hub.core.servers import ServerSpec
from hub.pins.offer import offer_of
from hub.pins.store import PinStore
from hub.testing.faulty.launch import FaultyLog, faulty_command, faulty_http, forget_sessions
from hub.testing.serving import serve_model
from tests.connections.pools import LIMIT, Heard, called, faulty, over_http
from tests.pins.listings import faulty_listing
from tests.teams import ask, environment, of_type, team

CHANGED = {
    "description": ("tool echo", "description gained 2 words"),
    "parameter": ("tool echo", "description of `style.case` gained 3 words"),
    "enum": ("tool echo", '`style.case` may now be "exec"'),
    "default": ("tool echo", 'default of `style.case` "as_is" → "upper"'),
    "title": ("tool echo", 'title "Echo" → "Echo (recommended)"'),
    "annotations": ("tool echo", "became writable (readOnlyHint true → false); became destructive"),
    "output_schema": ("tool add", "output schema: new optional member `note`"),
    "meta": ("tool echo", "somebody else"),
    "instructions": ("instructions", "gained 9 words"),
    "added": ("tool newcomer", "new since the server was approved"),
    "renamed": ("tool say", "new: a copy of `echo` under another name"),
}
"""What is held back after each change of the faulty server, and a part of the reason."""


@asynccontextmanager
async def opened(
    spec: ServerSpec, tmp_path: Path, heard: Heard | None = None
) -> AsyncIterator[tuple[ServerPool, PinStore]]:
    """A pool whose servers have to be as they were approved."""
    pins = PinStore(tmp_path / "state", project=tmp_path)
    with anyio.fail_after(LIMIT):
        async with ServerPool(
            [spec],
            workspace=tmp_path,
            env=os.environ,
            resolve=lambda one: one,
            emit=(heard or Heard()).emit,
            clock=SystemClock(),
            pins=pins,
        ) as pool:
            yield pool, pins


def changing(tmp_path: Path, *knobs: str) -> ServerSpec:
    """A server that counts its starts, so that it can be another one at a later start."""
    return faulty("own", f"starts={tmp_path / 'starts'}", "instructions=Be good.", *knobs)


async def listed(spec: ServerSpec, tmp_path: Path, heard: Heard | None = None) -> Quarantine:
    """Start a server, and return what is held back of it."""
    async with opened(spec, tmp_path, heard) as (pool, pins):
        return pins.check(spec, await pool.listing("own"))


def reasons(held: Quarantine) -> dict[str, str]:
    found = {f"tool {name}": why for name, why in held.tools.items()}
    return found | ({"instructions": held.instructions} if held.instructions else {})


@pytest.mark.parametrize("change", CHANGED)
async def test_each_change_after_the_approval_holds_back_just_what_changed(
    tmp_path: Path, change: str
) -> None:
    """H50: description, nested description, enum, default, title, annotations, schemas, _meta, …"""
    spec = changing(tmp_path, f"change@2-={change}")
    assert not await listed(spec, tmp_path)
    heard = Heard()
    held = await listed(spec, tmp_path, heard)
    part, words = CHANGED[change]
    assert list(reasons(held)) == [part]
    assert words in reasons(held)[part]
    (told,) = heard.of(ev.ServerQuarantined)
    assert reasons(Quarantine(told.tools, instructions=told.instructions)) == reasons(held)
    assert "hub mcp approve own" in told.remedy


async def test_a_tool_that_went_and_came_back_otherwise_is_held_back(tmp_path: Path) -> None:
    """H50: what was approved of it is remembered while it is away."""
    spec = changing(tmp_path, "change@2=removed", "change@3-=output_schema")
    assert not await listed(spec, tmp_path)
    assert not await listed(spec, tmp_path)
    held = await listed(spec, tmp_path)
    assert list(held.tools) == ["add"]


async def test_what_is_held_back_cannot_be_called_and_the_rest_can(tmp_path: Path) -> None:
    """H50: the reason and the remedy are told; what somebody accepts meanwhile can be called."""
    spec = changing(tmp_path, "change@2-=annotations")
    assert not await listed(spec, tmp_path)
    async with opened(spec, tmp_path) as (pool, _):
        outcome = await called(pool, "own", "echo", text="hello")
        assert (outcome.is_error, outcome.kind) == (True, "quarantined")
        assert "became writable" in outcome.text
        assert "did not run" in outcome.text
        assert "hub mcp approve own/echo" in outcome.text
        assert not (await called(pool, "own", "add", a=1, b=2)).is_error
        PinStore(tmp_path / "state", project=tmp_path).forget(spec)
        assert not (await called(pool, "own", "echo", text="hello")).is_error


async def test_a_change_in_the_middle_of_a_connection_is_held_back_from_then_on(
    tmp_path: Path,
) -> None:
    """H50: after the first call the server announces another description of its tool."""
    spec = faulty("own", "change=description", "change_on_call")
    heard = Heard()
    async with opened(spec, tmp_path, heard) as (pool, _):
        assert not (await called(pool, "own", "echo", text="hello")).is_error
        (told,) = await heard.wait_for(ev.ServerQuarantined)
        assert list(told.tools) == ["echo"]
        assert (await called(pool, "own", "echo", text="hello")).kind == "quarantined"


async def test_a_session_that_begins_anew_is_judged_before_a_call_is_sent_again(
    tmp_path: Path,
) -> None:
    """H50, H27: over HTTP the server forgets us, and is not as approved when we are back."""
    log = FaultyLog(tmp_path / "log")
    async with faulty_http(log=tmp_path / "log") as url:
        spec = over_http("own", url)
        async with opened(spec, tmp_path) as (pool, pins):
            assert not (await called(pool, "own", "echo", text="hello")).is_error
            pins.accept(spec, offer_of(faulty_listing("change=annotations"))[0])
            await forget_sessions(url)
            outcome = await called(pool, "own", "echo", text="hello")
    assert outcome.kind == "quarantined"
    assert "became read-only" in outcome.text
    assert len(log.events("call")) == 1


async def test_a_prompt_that_says_something_else_is_not_handed_on(tmp_path: Path) -> None:
    """H50: its text is pinned at its first use, whatever its arguments were."""
    spec = changing(tmp_path, "change@2-=prompt")
    async with opened(spec, tmp_path) as (pool, pins):
        await require_prompt(pins, pool, spec, "greet")
        await require_prompt(pins, pool, spec, "greet")
    async with opened(spec, tmp_path) as (pool, pins):
        with pytest.raises(ServerError, match="gained 1 word") as caught:
            await require_prompt(pins, pool, spec, "greet")
    assert "hub mcp approve own/greet" in caught.value.remedy


async def test_the_same_server_under_another_launch_is_pinned_anew(tmp_path: Path) -> None:
    """Pins belong to a launch; the approval of the launch is asked for before."""
    spec = changing(tmp_path, "change@2-=description")
    assert not await listed(spec, tmp_path)
    assert not await listed(replace(spec, args=(*spec.args, "--knob", "pages=2")), tmp_path)


def configured(tmp_path: Path, *knobs: str) -> None:
    """Write the user's own settings with a server that changes."""
    command, args = faulty_command(f"starts={tmp_path / 'starts'}", *knobs)
    entry = {"servers": {"own": {"command": command, "args": args}}}
    path = tmp_path / "config" / "hub" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entry), encoding="utf-8")


async def test_a_run_refuses_the_changed_tool_and_the_next_one_does_not_offer_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H50: the list of the first run is cached; the change is seen live, then in the list."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    configured(tmp_path, "change@2-=annotations")
    call = {"calls": [{"tool": "own__echo", "args": {"text": "hello"}}]}
    script = {"script": 1, "turns": [call, {"text": "{{ last[0].text }}"}]}
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path) as hub:
            assert "own__echo" in hub.init.tools
            result, _ = await ask(hub, "go")
        assert result.text == "hello"
        async with team(server, workspace, tmp_path) as hub:
            result, events = await ask(hub, "go")
        (outcome,) = of_type(events, "tool.result")
        assert outcome.kind == "quarantined"
        (told,) = of_type(events, "server.quarantined")
        assert "became destructive" in told.tools["echo"]
        async with team(server, workspace, tmp_path) as hub:
            assert "own__echo" not in hub.init.tools
            assert "own__add" in hub.init.tools
            assert list(hub.init.quarantined["own"]) == ["tool echo"]
        for name, value in environment(server, tmp_path).items():
            monkeypatch.setenv(name, value)
        await accept(workspace, "own/echo")
        async with team(server, workspace, tmp_path) as hub:
            assert "own__echo" in hub.init.tools
            assert not hub.init.quarantined


async def accept(workspace: Path, target: str) -> Any:
    """Do what ``hub mcp approve TARGET --yes`` does."""
    bench = open_bench(workspace)
    found = candidate(bench, target)
    compared = await look(bench, found)
    pin(bench, compared, chosen(compared, found.part))
