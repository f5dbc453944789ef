"""Cases A6 to A11 through the whole house: only what a model asked for completely is run."""

import json
from typing import Any

import pytest

from hub.testing.serving import serve_model
from tests.teams import ask, of_type, team

WRITE = "files__write"


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def call(index: Any, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    """One piece of a tool call; None leaves its key out."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    piece: dict[str, Any] = {"type": "function", "function": function}
    if index != "absent":
        piece["index"] = index
    if call_id:
        piece["id"] = call_id
    return delta(tool_calls=[piece])


def finish(reason: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def writing(path: str, content: str) -> str:
    return json.dumps({"path": path, "content": content})


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def run(workspace, tmp_path, *turns: dict[str, Any], task: str = "write"):
    async with serve_model({"script": 1, "turns": list(turns)}) as server:
        async with team(server, workspace, tmp_path) as hub:
            result, events = await ask(hub, task)
        assert all(record.status == 200 for record in server.requests)
    return result, events, server


def written(workspace) -> dict[str, str]:
    return {path.name: path.read_text() for path in workspace.iterdir()}


A, B = writing("a.txt", "one"), writing("b.txt", "two")


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, "x", WRITE, A), call(0, "y", WRITE, B)],
        [call(0, "x", WRITE, A[:9]), call(0, None, None, A[9:]), call(0, "y", WRITE, B)],
        [call("absent", "x", WRITE, A), call("absent", "y", WRITE, B)],
        [call(None, "x", WRITE, A[:9]), call(None, "x", None, A[9:]), call(None, "y", WRITE, B)],
        [call("absent", "x", WRITE, A), call(1, "y", WRITE, B[:5]), call(1, None, None, B[5:])],
    ],
    ids=["A6 whole", "A6 split", "A7 absent", "A7 null", "A7 late"],
)
async def test_a6_a7_two_calls_stay_two_whatever_their_indices(tmp_path, workspace, pieces):
    """All at index 0, index absent, null, or late: both files are written, with their own text."""
    wire = {"chunks": [*pieces, finish("tool_calls")]}
    result, _, _ = await run(workspace, tmp_path, {"wire": wire}, {"text": "done"})
    assert result.outcome == "done"
    assert written(workspace) == {"a.txt": "one", "b.txt": "two"}


async def test_a9_a_call_without_arguments_and_without_an_end_is_never_run(tmp_path, workspace):
    """The stream ends after the name: asked once more, then an error result; no ``{}`` is run."""
    cut = {"wire": {"chunks": [call(0, "x", "notes__todo", "")], "done": False}}
    result, events, server = await run(workspace, tmp_path, cut, {"text": "done"})
    assert result.outcome == "done"
    assert len(of_type(events, "model.retry")) == 1
    [told] = of_type(events, "tool.result")
    assert (told.is_error, told.kind) == (True, "not_run")
    assert of_type(events, "tool.call") == []
    assert len(server.requests) == 3


HALF = '{"path": "a.txt", "content": "xx'


@pytest.mark.parametrize("reason", ["length", "tool_calls"])
async def test_a10_half_arguments_are_not_repaired_and_not_run(tmp_path, workspace, reason):
    """Cut at the length limit, also where a router calls it something else; the model re-issues."""
    half = {"wire": {"chunks": [call(0, "x", WRITE, HALF), finish(reason)]}}
    again = {"calls": [{"tool": WRITE, "args": {"path": "a.txt", "content": "whole"}}]}
    result, events, _ = await run(workspace, tmp_path, half, again, {"text": "done"})
    assert result.outcome == "done"
    first, second = of_type(events, "tool.result")
    assert first.is_error
    assert "not run" in first.text
    assert not second.is_error
    assert written(workspace) == {"a.txt": "whole"}


async def test_a10_whole_calls_of_an_answer_cut_at_its_length_are_not_run_either(
    tmp_path, workspace
):
    """Length means that none of the message's calls is run."""
    wire = {"chunks": [call(0, "x", WRITE, A), call(1, "y", WRITE, HALF), finish("length")]}
    _, events, _ = await run(workspace, tmp_path, {"wire": wire}, {"text": "done"})
    assert [told.kind for told in of_type(events, "tool.result")] == ["not_run", "not_run"]
    assert written(workspace) == {}


async def test_an_agent_whose_answers_are_always_cut_ends_with_a_limit(tmp_path, workspace):
    """Three times, then it is over; exit code 53, not success."""
    half = {"wire": {"chunks": [call(0, None, WRITE, HALF), finish("length")]}}
    result, _, server = await run(workspace, tmp_path, *[half] * 4)
    assert (result.outcome, result.stop_reason) == ("limit", "max_output_tokens")
    assert len(server.requests) == 3


async def test_a11_raw_control_characters_in_arguments_are_read_and_sent_back_as_json(
    tmp_path, workspace
):
    """The file holds the newline; the strict server gets canonical JSON; no empty content."""
    raw = '{"path": "a.txt", "content": "one\ntwo\t"}'
    turn = {"calls": [{"tool": WRITE, "raw_args": raw}]}
    result, _, server = await run(workspace, tmp_path, turn, {"text": "done"})
    assert result.outcome == "done"
    assert written(workspace) == {"a.txt": "one\ntwo\t"}
    [message] = [m for m in server.requests[-1].body["messages"] if m["role"] == "assistant"]
    assert message.get("content") != ""
    sent = message["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent)["content"] == "one\ntwo\t"


@pytest.mark.parametrize(
    ("raw_args", "words"),
    [
        ('{"path": }', "not valid JSON"),
        ("[1]", "JSON object"),
        ('{"path": 7, "content": "x"}', "path"),
        ('{"content": "x"}', "'path' is a required"),
        ('{"path": "a", "content": "x", "colour": 1}', "colour"),
    ],
)
async def test_bad_arguments_are_an_error_result_that_says_where(
    tmp_path, workspace, raw_args, words
):
    """Never ``{}``, never a guess."""
    turn = {"calls": [{"tool": WRITE, "raw_args": raw_args}]}
    _, events, _ = await run(workspace, tmp_path, turn, {"text": "done"})
    [told] = of_type(events, "tool.result")
    assert told.kind in ("invalid_arguments", "tool_error")
    assert words in told.text
    assert written(workspace) == {}


async def test_an_unknown_tool_is_an_error_result_with_the_nearest_name(tmp_path, workspace):
    """The model can mend it."""
    turn = {"calls": [{"tool": "files__wirte", "args": {}}]}
    _, events, _ = await run(workspace, tmp_path, turn, {"text": "done"})
    [told] = of_type(events, "tool.result")
    assert told.kind == "unknown_tool"
    assert "files__write" in told.text


async def test_results_are_in_call_order_although_they_end_in_another(tmp_path, workspace):
    """Reads run side by side between what has to wait."""
    (workspace / "a.txt").write_text("alpha")
    calls = [
        {"tool": "files__grep", "args": {"pattern": "(a+)+$"}},
        {"tool": "files__read", "args": {"path": "a.txt"}},
        {"tool": WRITE, "args": {"path": "b.txt", "content": "beta"}},
        {"tool": "files__read", "args": {"path": "b.txt"}},
    ]
    result, events, server = await run(workspace, tmp_path, {"calls": calls}, {"text": "done"})
    assert result.outcome == "done"
    assert all(not told.is_error for told in of_type(events, "tool.result"))
    sent = [m for m in server.requests[-1].body["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in sent] == [f"call_0_{n}" for n in range(4)]
    assert "beta" in sent[3]["content"]
