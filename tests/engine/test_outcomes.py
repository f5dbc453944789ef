"""Each way in which a turn ends, with its outcome, stop reason and exit code (design section 5)."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hub.core.errors import UsageError
from hub.core.outcomes import exit_code
from hub.testing.serving import serve_model
from tests.teams import LIMIT, ask, cancel_when, imbalance, of_type, team, whole_log

READ = {"tool": "files__list", "args": {"depth": "{{ turn_index + 1 }}"}}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def script(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"script": 1, "turns": list(turns)}


ENDS = {
    "done": (script({"text": "hi"}), [], ("done", "completed", 0)),
    "steps": (
        script({"calls": [READ], "repeat": 9}),
        ["limits.steps=3"],
        ("limit", "max_turns", 53),
    ),
    "tool calls": (
        script({"calls": [READ, READ], "repeat": 9}),
        ["limits.tool_calls=3"],
        ("limit", "max_tool_calls", 53),
    ),
    "tokens": (
        script({"calls": [READ], "usage": {"input_tokens": 600}, "repeat": 9}),
        ["limits.tokens=1000"],
        ("budget", "max_tokens", 54),
    ),
    "deadline": (
        script({"text": "x", "wire": {"stall": {"after": 1}}}),
        ["limits.seconds=0.3"],
        ("limit", "deadline", 53),
    ),
    "loop": (
        script({"calls": [{"tool": "files__list"}], "repeat": 30}),
        [],
        ("loop", "loop_detected", 55),
    ),
    "content filter": (
        script({"text": "x", "finish": "content_filter"}),
        [],
        ("model_error", "model_error", 5),
    ),
    "refused key": (
        script({"wire": {"fault": {"status": 401}}}),
        [],
        ("model_error", "model_error", 5),
    ),
    "too long": (
        script({
            "wire": {
                "fault": {
                    "status": 400,
                    "body": {"error": {"code": "context_length_exceeded", "message": "no"}},
                }
            }
        }),
        [],
        ("context_overflow", "prompt_too_long", 57),
    ),
}


@pytest.mark.parametrize("name", ENDS)
async def test_a_turn_ends_with_the_outcome_that_its_cause_has(tmp_path, workspace, name):
    """One closed list; whatever the end, the log balances."""
    source, assignments, (outcome, reason, code) = ENDS[name]
    async with serve_model(source) as server:
        async with team(server, workspace, tmp_path, assignments=assignments) as hub:
            result, events = await ask(hub, "go")
    assert (result.outcome, result.stop_reason) == (outcome, reason)
    assert exit_code(result.outcome) == code
    [done] = of_type(events, "turn.done")
    assert (done.outcome, done.stop_reason) == (outcome, reason)
    assert (result.error is None) is (outcome == "done")
    assert not imbalance(whole_log(tmp_path, hub.session_id))


async def test_a_limit_of_tool_calls_runs_those_within_it_and_answers_the_others(
    tmp_path, workspace
):
    """Three of four calls are run; the fourth has an error result."""
    source, assignments, _ = ENDS["tool calls"]
    async with serve_model(source) as server:
        async with team(server, workspace, tmp_path, assignments=assignments) as hub:
            _, events = await ask(hub, "go")
    results = of_type(events, "tool.result")
    assert [r.kind for r in results] == ["", "", "", "limit"]


async def test_a_model_that_is_overloaded_for_ever_ends_retryable(tmp_path, workspace):
    """Retries are visible; exit 75 says that it may work later."""
    source = script({"wire": {"fault": {"status": 503, "headers": {"Retry-After": 0}}}})
    async with serve_model(source) as server, team(server, workspace, tmp_path) as hub:
        result, events = await ask(hub, "go")
    assert result.outcome == "model_error"
    assert result.error is not None
    assert result.error.retryable
    assert exit_code(result.outcome, retryable=True) == 75
    assert len(of_type(events, "model.retry")) == len(server.requests) - 1 > 0


async def test_an_empty_answer_is_a_failure(tmp_path, workspace):
    """Neither text nor calls, twice: no success."""
    empty = {"wire": {"chunks": [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]}}
    async with serve_model(script(empty)) as server, team(server, workspace, tmp_path) as hub:
        result, _ = await ask(hub, "go")
    assert result.outcome == "model_error"


async def test_after_a_loop_is_noticed_the_agent_is_told_once_and_may_go_on(tmp_path, workspace):
    """The nudge comes after the results; an agent that heeds it ends well (A52)."""
    source = script({"calls": [{"tool": "files__list"}], "repeat": 6}, {"text": "I stop."})
    async with serve_model(source) as server:
        async with team(server, workspace, tmp_path) as hub:
            result, events = await ask(hub, "go")
        assert result.outcome == "done"
        [nudge] = of_type(events, "context.added")
        assert nudge.source == "loop"
        assert "same" in server.requests[-1].body["messages"][-1]["content"]


async def test_two_calls_in_turn_are_a_loop_and_changing_results_are_not(tmp_path, workspace):
    """A-B-A-B is noticed; the same call with another result each time is work (A52)."""
    (workspace / "a.txt").write_text("x")
    pair = [{"tool": "files__list"}, {"tool": "files__read", "args": {"path": "a.txt"}}]
    async with serve_model(script({"calls": pair, "repeat": 30})) as server:
        async with team(server, workspace, tmp_path) as hub:
            result, _ = await ask(hub, "go")
    assert result.outcome == "loop"
    count = {"tool": "shell__run", "args": {"command": "echo x >> log; wc -l < log"}}
    async with serve_model(script({"calls": [count], "repeat": 20}, {"text": "ok"})) as server:
        async with team(server, workspace, tmp_path / "b") as hub:
            result, _ = await ask(hub, "go")
    assert result.outcome == "done"


async def test_turns_left_over_in_a_script_fail_a_final_turn(tmp_path, workspace):
    """Loud, with file and line."""
    path = tmp_path / "s.yaml"
    path.write_text("script: 1\nturns:\n  - text: a\n  - text: b\n")
    async with serve_model(script({"text": "unused"})) as server:
        model = f"script:{path}"
        async with team(server, workspace, tmp_path, model=model) as hub:
            first, _ = await ask(hub, "go", final=True)
        assert first.outcome == "failed"
        assert first.error is not None
        assert f"{path}:4" in first.error.message
        async with team(server, workspace, tmp_path, model=model) as hub:
            assert (await ask(hub, "one"))[0].text == "a"
            assert (await ask(hub, "two", final=True))[0].outcome == "done"


async def test_leaving_the_stream_early_cancels_the_turn_and_balances_the_log(tmp_path, workspace):
    """A plain ``break``."""
    slow = {"calls": [{"tool": "shell__run", "args": {"command": "sleep 30"}}]}
    async with serve_model(script(slow, {"text": "again"})) as server:
        async with team(server, workspace, tmp_path) as hub:
            async with hub.ask("go") as events:
                async for event in events:
                    if event.type == "tool.call":
                        break
            with pytest.raises(RuntimeError, match="has not ended"):
                _ = events.result
            assert not imbalance(whole_log(tmp_path, hub.session_id))
            result, _ = await ask(hub, "and now?")
        assert result.text == "again"
        assert all(record.status == 200 for record in server.requests)


async def test_a_fault_of_whoever_reads_the_stream_comes_out_as_it_is(tmp_path, workspace):
    """No exception group around it."""
    async with serve_model(script({"text": "a"})) as server:
        async with team(server, workspace, tmp_path) as hub:

            async def read_and_fail() -> None:
                async with hub.ask("go") as events:
                    async for _ in events:
                        _ = 1 / 0

            with pytest.raises(ZeroDivisionError):
                await read_and_fail()


async def test_one_turn_at_a_time_and_no_empty_task(tmp_path, workspace):
    """Said at once."""
    async with serve_model(script({"text": "a"})) as server:
        async with team(server, workspace, tmp_path) as hub:
            with pytest.raises(UsageError, match="empty"):
                await ask(hub, "  \n")
            async with hub.ask("go") as events:
                with pytest.raises(UsageError, match="running"):
                    await ask(hub, "me too")
                assert [e.type async for e in events][-1] == "turn.done"


async def test_a_slow_reader_gets_every_event_in_order(tmp_path, workspace):
    """The turn waits for whoever reads; nothing is dropped."""
    source = script({"calls": [READ], "repeat": 40}, {"text": "done", "wire": {"deltas": 3000}})
    async with serve_model(source) as server, team(server, workspace, tmp_path) as hub:
        seen = []
        async with hub.ask("go") as events:
            async for event in events:
                await anyio.lowlevel.checkpoint()
                seen.append(event)
        seqs = [event.seq for event in seen if event.durable]
        assert seqs == list(range(1, len(seqs) + 1))
        text = "".join(e.text for e in of_type(seen, "text.delta"))
        assert text == events.result.text


async def test_a_cancel_reaches_every_descendant_at_once(tmp_path, workspace):
    """Children that stream and children in a command: connections close, nothing new is asked."""
    roles = workspace / ".hub" / "roles"
    roles.mkdir(parents=True)
    edge = "user_facing: true\ntools: []\ndispatch: [{role: helper, max_parallel: 20}]"
    (roles / "boss.md").write_text(f"---\nname: boss\n{edge}\n---\nYou are boss.\n")
    (roles / "helper.md").write_text("---\nname: helper\n---\nYou are helper.\n")
    calls = [
        {"tool": "dispatch", "args": {"role": "helper", "task": kind}}
        for kind in ("stream", "command")
        for _ in range(8)
    ]
    sleep = {"tool": "shell__run", "args": {"command": "sleep 60"}}
    agents = {
        "boss": {"match": {"system_contains": "You are boss"}, "turns": [{"calls": calls}]},
        "helper": {
            "match": {"system_contains": "You are helper"},
            "turns": [
                {"when": "task == 'command'", "calls": [sleep]},
                {"text": "x" * 90, "wire": {"stall": {"after": 2}}},
            ],
        },
    }
    async with serve_model({"script": 1, "agents": agents}) as server:
        async with team(server, workspace, tmp_path, role="boss") as hub:
            ready = {"text.delta": 0, "tool.ruling": 0}

            def all_busy(event: Any) -> bool:
                if event.agent != "boss" and event.type in ready:
                    ready[event.type] += 1
                return ready["text.delta"] >= 8 and ready["tool.ruling"] >= 8

            result, events = await cancel_when(hub, "go", all_busy)
            asked = len(server.requests)
            with anyio.fail_after(LIMIT):
                await server.wait_for(
                    lambda s: all(record.ended is not None for record in s.requests)
                )
            assert result.outcome == "cancelled"
            assert len(of_type(events, "cancel.requested")) == 1
            assert {e.outcome for e in of_type(events, "job.done")} == {"cancelled"}
            assert len(of_type(events, "job.done")) == 16
            assert not imbalance(whole_log(tmp_path, hub.session_id))
        assert len(server.requests) == asked
