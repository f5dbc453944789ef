"""Opens real hubs over scripted model servers, for tests that go through the whole house."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from hub.app.hub import Hub
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.core.events import AnyEvent
from hub.core.jobs import TurnResult
from hub.sessions.store import SqliteStore
from hub.testing.serving import ModelServer

LIMIT = 30
"""Seconds that any single wait of these tests may take on a busy machine."""


def environment(server: ModelServer | str, state: Path) -> dict[str, str]:
    """Return an environment in which hub talks to a scripted server and keeps its state apart."""
    url = server if isinstance(server, str) else server.base_url
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(state),
        "HUB_STATE_DIR": str(state / "state"),
        "XDG_CONFIG_HOME": str(state / "config"),
        "XDG_CACHE_HOME": str(state / "cache"),
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "test-key",
        "HUB_MODEL": "scripted",
        "HUB_CATALOG__PATIENCE": "5",  # on a busy machine a good server may be late, too
    }


def store(state: Path) -> SqliteStore:
    """Open the session store of such an environment."""
    return SqliteStore(state / "state" / "hub.db")


def team_folder(root: Path, **roles: dict[str, Any]) -> Path:
    """Write a team folder with these roles; the instructions of each begin with who it is."""
    folder = root / "team" / "roles"
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in roles.items():
        fields = {"name": name, "instructions": f"I am {name}.", **given}
        (folder / f"{name}.yaml").write_text(json.dumps(fields), encoding="utf-8")
    return folder.parent


def agents(**turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a script for the roles of ``team_folder``, each with its turns."""
    return {
        "script": 1,
        "agents": {
            name: {"match": {"system_contains": f"I am {name}."}, "turns": said}
            for name, said in turns.items()
        },
    }


def lead_to(*edges: Any, **fields: Any) -> dict[str, Any]:
    """Return the fields of a lead that may dispatch over these edges."""
    return {"user_facing": True, "dispatch": list(edges), **fields}


def dispatch(role: str, task: str = "do it", **more: Any) -> dict[str, Any]:
    """Return the call with which a scripted parent dispatches."""
    return {"tool": "dispatch", "args": {"role": role, "task": task, **more}}


def report(summary: str = "did it", status: str = "success", **more: Any) -> dict[str, Any]:
    """Return the call with which a scripted child ends."""
    return {"tool": "report", "args": {"status": status, "summary": summary, **more}}


@asynccontextmanager
async def team(
    server: ModelServer, workspace: Path, state: Path, **options: Any
) -> AsyncIterator[Hub]:
    """Open a hub that talks to the server; the mode allows everything unless it is given."""
    options.setdefault("mode", "bypass")
    chosen = RunOptions(workspace=workspace, env=environment(server, state), **options)
    with anyio.fail_after(LIMIT):
        async with open_hub(chosen) as hub:
            yield hub


async def ask(hub: Hub, prompt: str, **options: Any) -> tuple[TurnResult, list[AnyEvent]]:
    """Run one turn to its end."""
    async with hub.ask(prompt, **options) as stream:
        events = [event async for event in stream]
    return stream.result, events


async def cancel_when(
    hub: Hub, prompt: str, condition: Callable[[AnyEvent], bool]
) -> tuple[TurnResult, list[AnyEvent]]:
    """Run one turn and cancel it at the first event that fulfils a condition."""
    seen: list[AnyEvent] = []
    async with hub.ask(prompt) as stream:
        async for event in stream:
            seen.append(event)
            if condition(event):
                hub.cancel("user")
    return stream.result, seen


def of_type(events: Iterable[AnyEvent], kind: str, agent: str = "") -> list[Any]:
    """Return the events of one type, of one agent if it is named."""
    return [e for e in events if e.type == kind and (not agent or e.agent == agent)]


def imbalance(events: Iterable[AnyEvent]) -> dict[str, Any]:
    """Return what starts and ends of jobs, turns, calls and sessions do not balance."""
    starts: dict[str, list[Any]] = {"turn": [], "job": [], "call": [], "child": []}
    ends: dict[str, list[Any]] = {"turn": [], "job": [], "call": [], "child": []}
    for event in events:
        match event.type:
            case "turn.started":
                starts["turn"].append((event.session, event.turn))
            case "turn.done":
                ends["turn"].append((event.session, event.turn))
            case "job.started":
                starts["job"].append(event.job)
            case "job.done":
                ends["job"].append(event.job)
            case "assistant.message":
                starts["call"] += [(event.session, call.id) for call in event.calls]
            case "tool.result":
                ends["call"].append((event.session, event.call_id))
            case "session.started" if event.parent:
                starts["child"].append(event.session)
            case "session.done":
                ends["child"].append(event.session)
    return {k: (starts[k], ends[k]) for k in starts if sorted(starts[k]) != sorted(ends[k])}


def whole_log(state: Path, root: str) -> list[AnyEvent]:
    """Return the stored events of a session and of everything below it."""
    archive = store(state)
    events = list(archive.events(root))
    for child in archive.children(root):
        events += whole_log(state, child.id)
    archive.close()
    return events
