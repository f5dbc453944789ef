"""Cases A1 to A4: whatever interrupts a turn, the history that a model is sent stays legal."""

import pytest

from hub.core import events as ev
from hub.core.text import without_surrogates
from hub.testing.serving import serve_model
from tests.teams import ask, cancel_when, imbalance, of_type, store, team, whole_log

SLOW = {"tool": "shell__run", "args": {"command": "sleep 30"}}


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


@pytest.mark.parametrize(
    "calls", [[SLOW], [{"tool": "files__read", "args": {"path": "a.txt"}}, SLOW, SLOW]]
)
async def test_a1_after_a_cancel_during_tool_calls_the_session_goes_on(tmp_path, workspace, calls):
    """One call, and three calls of which one has finished; the strict server sees what follows."""
    script = {"script": 1, "turns": [{"calls": calls}, {"text": "on we go"}]}
    async with serve_model(script) as server, team(server, workspace, tmp_path) as hub:
        result, events = await cancel_when(
            hub, "start", lambda e: e.type == "tool.ruling" and e.name == "shell__run"
        )
        assert (result.outcome, result.stop_reason) == ("cancelled", "aborted_tools")
        results = of_type(events, "tool.result")
        assert len(results) == len(calls)
        assert [r.is_error for r in results] == [call is SLOW for call in calls]

        again, _ = await ask(hub, "go on")
        assert (again.outcome, again.text) == ("done", "on we go")
        assert all(record.status == 200 for record in server.requests)
        assert not imbalance(whole_log(tmp_path, hub.session_id))


async def test_a2_an_interrupt_while_only_reasoning_streamed_leaves_no_empty_message(
    tmp_path, workspace
):
    """An assistant message without text and calls is never stored and never sent."""
    turns = [
        {"reasoning": "hm " * 50, "text": "x", "wire": {"stall": {"after": 3}}},
        {"text": "fine", "optional": True},
    ]
    script = {"script": 1, "turns": turns}
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path) as hub:
            result, events = await cancel_when(hub, "think", lambda e: e.type == "reasoning.delta")
            assert result.outcome == "cancelled"
            assert of_type(events, "assistant.message") == []
        server.release()
        async with team(server, workspace, tmp_path, resume=hub.session_id) as again:
            result, _ = await ask(again, "and now?")
        assert result.outcome == "done"
        assert all(record.status == 200 for record in server.requests)


async def test_a_cancel_in_the_middle_of_text_keeps_the_text_that_was_seen(tmp_path, workspace):
    """What the user has read is part of the conversation."""
    turns = [{"text": "one two three four " * 20, "wire": {"stall": {"after": 4}}}, {"text": "ok"}]
    async with serve_model({"script": 1, "turns": turns}) as server:
        async with team(server, workspace, tmp_path) as hub:
            result, _ = await cancel_when(hub, "tell", lambda e: e.type == "text.delta")
            assert result.outcome == "cancelled"
            assert "one two" in result.text
            again, _ = await ask(hub, "more")
        assert again.outcome == "done"
        sent = server.requests[-1].body["messages"]
        assert "one two" in sent[2]["content"]


async def test_a3_a_result_without_its_call_is_left_out_with_one_notice(tmp_path, workspace):
    """The log of a session lost the assistant message; what is sent is legal all the same."""
    script = {"script": 1, "turns": [{"text": "hello"}, {"text": "again"}]}
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path) as hub:
            await ask(hub, "hi")
        archive = store(tmp_path)
        seq = archive.read(hub.session_id).last_seq
        orphan = ev.ToolResultEvent(
            session=hub.session_id, seq=seq + 1, call_id="gone", name="x", text="orphan"
        )
        archive.append(orphan)
        archive.close()
        async with team(server, workspace, tmp_path, resume=hub.session_id) as again:
            result, events = await ask(again, "go on")
        assert result.outcome == "done"
        [resumed] = of_type(events, "session.resumed")
        assert len(resumed.ignored) == 1
        assert "gone" in resumed.ignored[0]


async def test_a12_text_is_cut_and_stored_without_lone_surrogates(tmp_path, workspace):
    """An emoji at a cut, a lone surrogate in arguments: every request encodes as UTF-8."""
    (workspace / "a.txt").write_text("😀" * 60_000)
    call = {"tool": "files__grep", "raw_args": '{"pattern": "x\\ud83d"}'}
    turns = [{"calls": [{"tool": "files__read", "args": {"path": "a.txt"}}, call]}, {"text": "ok"}]
    async with serve_model({"script": 1, "turns": turns}) as server:
        async with team(server, workspace, tmp_path) as hub:
            result, events = await ask(hub, "read \ud83d")
        assert result.outcome == "done"
        for event in events:
            assert event.model_dump_json().encode()
        texts = [str(message.get("content")) for message in server.requests[-1].body["messages"]]
        assert all(text == without_surrogates(text) for text in texts)
