"""Opens a session that a killed process left: ten thousand events, fifty children, all open.

Arguments: base URL, model, workspace. The store is written first, then the hub is opened over it
once to load its modules, and once to be measured.
"""

import json
import os
import time
from contextlib import closing

import anyio

from bench.programs.work import given
from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.app.setup import store_path
from hub.cli.garbage import put_off, settle
from hub.core import events as ev
from hub.sessions.store import SqliteStore

CHILDREN = 50
EVENTS = 10_000
ROUND = 5
"""Events of one step: what the model says, its usage, a call, its ruling, its result."""


def write(store: SqliteStore, root: str, workspace: str) -> int:
    """Write a session as a process leaves it that is killed while all its children work."""
    steps = (EVENTS // (CHILDREN + 1) - 4) // ROUND
    store.create(root, parent="", role="lead", workspace=workspace)
    log = [*_beginning("lead", workspace, "")]
    children = [(f"{root}-c{number}", f"c{number}") for number in range(CHILDREN)]
    calls = [ev.Call(id=f"d{name}", name="dispatch", arguments="{}") for _, name in children]
    log += [ev.AssistantMessageEvent(calls=calls, finish="tool_calls")]
    for child, name in children:
        log.append(ev.ToolCallEvent(call_id=f"d{name}", name="dispatch", arguments="{}"))
        log.append(
            ev.JobStarted(
                job=f"j-{root}-{name}",
                role="explorer",
                task="look",
                call_id=f"d{name}",
                child=child,
                child_agent=f"lead/explorer#{name}",
                depth=1,
            )
        )
    count = _append(store, root, "lead", log)
    for child, name in children:
        store.create(child, parent=root, role="explorer", workspace=workspace)
        log = [*_beginning("explorer", workspace, root)]
        for step in range(steps):
            log += _step(step)
        # The last call has no result: the process was killed in it.
        count += _append(store, child, f"lead/explorer#{name}", log[:-1])
    return count


def _beginning(role: str, workspace: str, parent: str) -> list[ev.Event]:
    return [
        ev.SessionStarted(role=role, model="scripted", workspace=workspace, parent=parent),
        ev.TurnStarted(),
        ev.UserMessageEvent(text="Look at everything."),
    ]


def _step(step: int) -> list[ev.Event]:
    call = ev.Call(id=f"c{step}", name="files__read", arguments='{"path": "small1.txt"}')
    return [
        ev.AssistantMessageEvent(text="I look.", calls=[call], finish="tool_calls"),
        ev.UsageEvent(input_tokens=1000, output_tokens=20),
        ev.ToolCallEvent(call_id=call.id, name=call.name, arguments=call.arguments),
        ev.ToolRulingEvent(call_id=call.id, name=call.name, ruling="allow", reason="it reads"),
        ev.ToolResultEvent(call_id=call.id, name=call.name, text="a line of a small file\n" * 20),
    ]


def _append(store: SqliteStore, session: str, agent: str, log: list[ev.Event]) -> int:
    for seq, event in enumerate(log, 1):
        stamp = {"session": session, "seq": seq, "at": time.time(), "agent": agent, "turn": 1}
        store.append(event.model_copy(update=stamp))
    return len(log)


async def main() -> None:
    base_url, model, folder = given()
    os.environ["OPENAI_BASE_URL"] = base_url
    with closing(SqliteStore(store_path())) as store:
        events = [write(store, root, str(folder)) for root in ("s-first", "s-second")][-1]
    took = 0.0
    settled = 0
    for root in ("s-first", "s-second"):
        settle()
        started = time.perf_counter()
        async with open_hub(RunOptions(workspace=folder, model=model, resume=root)) as hub:
            took = time.perf_counter() - started
            assert hub.session_id == root
        with closing(SqliteStore(store_path())) as store:
            settled = sum(isinstance(event, ev.JobDone) for event in store.events(root))
    print(json.dumps({"seconds": took, "events": events, "settled": settled}))


if __name__ == "__main__":
    put_off()
    anyio.run(main)
