"""Results on their way through a run: blocks, warnings, progress, and what is too large."""

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from hub.testing.faulty.launch import FaultyLog, faulty_http
from hub.testing.serving import serve_model
from tests.teams import (
    agents,
    ask,
    cancel_when,
    dispatch,
    lead_to,
    of_type,
    report,
    team,
    team_folder,
    whole_log,
)

ECHO = {"tool": "far__echo", "args": {"text": "x"}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def script(*calls: dict[str, Any]) -> dict[str, Any]:
    """A model that makes these calls, one after the other, and says what came last."""
    turns = [{"calls": [call]} for call in calls]
    return {"script": 1, "turns": [*turns, {"text": "{{ last[0].text }}"}]}


async def test_a_huge_result_leaves_a_preview_and_a_handle(tmp_path: Path, workspace: Path) -> None:
    """Valid JSON for the model, all of it on disk, nothing large in log and feed (H46)."""
    async with faulty_http("huge_result=5000000") as url, serve_model(script(ECHO)) as server:
        async with team(server, workspace, tmp_path, assignments=[f"servers.far.url={url}"]) as hub:
            _, events = await ask(hub, "go")
            [result] = of_type(events, "tool.result")
    told = json.loads(result.text)
    assert len(result.text) < 8000
    assert told["preview"][0]["id"] == 100_000
    [kept] = result.kept
    assert told["handle"] == kept.handle
    assert kept.size >= 5_000_000
    path = tmp_path / "state" / "results" / "blobs" / kept.digest
    assert path.stat().st_size == kept.size
    stored = "".join(event.model_dump_json() for event in whole_log(tmp_path, hub.session_id))
    assert len(stored) < 50_000
    requests = [record.body for record in server.requests]
    assert "read_result" not in json.dumps(requests[0]["tools"])
    assert requests[1]["tools"][-1]["function"]["name"] == "read_result"
    assert requests[1]["tools"][:-1] == requests[0]["tools"]
    [loaded] = of_type(events, "tools.loaded")
    assert loaded.names == ["read_result"]


async def test_memory_comes_back_after_huge_results(tmp_path: Path, workspace: Path) -> None:
    """Six of five megabytes between two small ones: after the second it is as after the first.

    What a connection has read last may stay until it reads again (H46).
    """
    small = {"tool": "far__add", "args": {"a": 1, "b": 2}}
    calls = [{"tool": "far__echo", "args": {"text": str(number)}} for number in range(6)]
    calls = [small, *calls, small]
    async with faulty_http("huge_result=5000000") as url, serve_model(script(*calls)) as server:
        async with team(server, workspace, tmp_path, assignments=[f"servers.far.url={url}"]) as hub:
            sizes = []
            tracemalloc.start()
            try:
                async with hub.ask("go") as stream:
                    async for event in stream:
                        if event.type == "tool.result":
                            gc.collect()
                            sizes.append(tracemalloc.get_traced_memory()[0])
            finally:
                tracemalloc.stop()
    assert len(sizes) == 8
    assert sizes[-1] - sizes[0] < 2_000_000


async def test_a_kept_result_is_read_in_the_same_and_in_a_resumed_session(
    tmp_path: Path, workspace: Path
) -> None:
    """The handle that the model was given is all that it needs (H46)."""
    async with faulty_http("huge_result=300000") as url:
        chosen = [f"servers.far.url={url}"]
        async with serve_model(script(ECHO)) as server:
            async with team(server, workspace, tmp_path, assignments=chosen) as hub:
                _, events = await ask(hub, "go")
        [kept] = of_type(events, "tool.result")[0].kept
        read = {"tool": "read_result", "args": {"handle": kept.handle, "path": "$[1].id"}}
        async with serve_model({
            "script": 1,
            "turns": [{"calls": [ECHO]}, {"text": "so"}, *script(read)["turns"]],
        }) as server:
            async with team(
                server, workspace, tmp_path, assignments=chosen, resume=hub.session_id
            ) as hub:
                result, events = await ask(hub, "read on")
    assert result.text == "100001"
    assert not of_type(events, "tools.loaded")


async def test_a_handle_of_another_session_opens_nothing(tmp_path: Path, workspace: Path) -> None:
    """A new session that was told the handle by its user cannot read the result."""
    async with faulty_http("huge_result=300000") as url:
        chosen = [f"servers.far.url={url}"]
        async with serve_model(script(ECHO)) as server:
            async with team(server, workspace, tmp_path, assignments=chosen) as hub:
                _, events = await ask(hub, "go")
        [kept] = of_type(events, "tool.result")[0].kept
        async with serve_model(
            script({"tool": "read_result", "args": {"handle": kept.handle}})
        ) as server:
            async with team(server, workspace, tmp_path, assignments=chosen) as hub:
                result, _ = await ask(hub, "read it")
    assert "no result" in result.text


async def test_a_child_reads_a_result_that_its_task_names(tmp_path: Path, workspace: Path) -> None:
    """It has ``read_result`` from its first request on; one without a handle has not."""
    folder = team_folder(tmp_path, lead=lead_to("worker"), worker={"tools": ["files__*"]})
    async with faulty_http("huge_result=100000") as url:
        chosen = [f"servers.far.url={url}"]
        async with serve_model(agents(lead=[{"calls": [ECHO]}, {"text": "ok"}])) as server:
            async with team(server, workspace, tmp_path, team=folder, assignments=chosen) as hub:
                _, events = await ask(hub, "go")
        [kept] = of_type(events, "tool.result")[0].kept
        read = {"tool": "read_result", "args": {"handle": kept.handle, "grep": "row"}}
        source = agents(
            lead=[
                {"calls": [ECHO]},
                {"text": "ok"},
                {"calls": [dispatch("worker", f"look into {kept.handle}")]},
                {"calls": [dispatch("worker", "without a handle")]},
                {"text": "ok"},
            ],
            worker=[{"calls": [read]}, {"calls": [report()]}],
        )
        async with serve_model(source) as server:
            async with team(
                server,
                workspace,
                tmp_path,
                team=folder,
                assignments=chosen,
                resume=hub.session_id,
            ) as hub:
                _, events = await ask(hub, "go on")
    first = {
        task: next(r.body for r in server.requests if task in r.body["messages"][1]["content"])
        for task in ("look into", "without a handle")
    }
    assert first["look into"]["tools"][-1]["function"]["name"] == "read_result"
    assert "read_result" not in json.dumps(first["without a handle"]["tools"])
    results = of_type(events, "tool.result", "lead/worker#1")
    assert "matching lines" in results[0].text


async def test_a_parent_reads_a_result_that_a_report_names(tmp_path: Path, workspace: Path) -> None:
    """The child hands on the handle of what it was given."""
    folder = team_folder(
        tmp_path, lead=lead_to("worker", tools=["files__*"]), worker={"tools": ["far__*"]}
    )
    handle = "{{ (last[0].text | from_json).handle }}"
    source = agents(
        lead=[{"calls": [dispatch("worker")]}, {"text": "ok"}],
        worker=[{"calls": [ECHO]}, {"calls": [report(f"all of it is in {handle}")]}],
    )
    async with faulty_http("huge_result=100000") as url, serve_model(source) as server:
        chosen = [f"servers.far.url={url}"]
        async with team(server, workspace, tmp_path, team=folder, assignments=chosen) as hub:
            _, events = await ask(hub, "go")
    loaded = of_type(events, "tools.loaded")
    assert [(event.agent, event.names) for event in loaded] == [
        ("lead/worker#1", ["read_result"]),
        ("lead", ["read_result"]),
    ]


async def test_a_result_against_its_output_schema_is_relayed_with_a_warning(
    tmp_path: Path, workspace: Path
) -> None:
    """The tool ran, and what it said is not dropped."""
    add = {"tool": "far__add", "args": {"a": 1, "b": 2}}
    async with faulty_http("bad_output") as url, serve_model(script(add)) as server:
        async with team(server, workspace, tmp_path, assignments=[f"servers.far.url={url}"]) as hub:
            _, events = await ask(hub, "go")
    [result] = of_type(events, "tool.result")
    assert not result.is_error
    assert result.structured == {"sum": "three"}
    [warning] = result.warnings
    assert "does not fit the tool's output schema: sum:" in warning
    assert f"[warning: {warning}]" in result.text


async def test_blocks_keep_order_and_type_in_the_log_and_the_image_is_no_text(
    tmp_path: Path, workspace: Path
) -> None:
    """Also in an error; the model reads a line about the image (H45)."""
    async with faulty_http("image_error") as url, serve_model(script(ECHO)) as server:
        async with team(server, workspace, tmp_path, assignments=[f"servers.far.url={url}"]) as hub:
            _, events = await ask(hub, "go")
    [result] = of_type(events, "tool.result")
    assert [block["type"] for block in result.blocks] == ["text", "image"]
    data = result.blocks[1]["data"]
    assert data not in json.dumps([record.body for record in server.requests])
    assert "[image, image/png" in result.text


async def test_progress_of_a_call_is_an_event_of_the_run(tmp_path: Path, workspace: Path) -> None:
    """In its order, before the result (H23)."""
    slow = {"tool": "far__slow", "args": {"seconds": 0.5}}
    async with faulty_http("progress_every=50") as url, serve_model(script(slow)) as server:
        async with team(server, workspace, tmp_path, assignments=[f"servers.far.url={url}"]) as hub:
            _, events = await ask(hub, "go")
    told = [event.progress for event in of_type(events, "tool.progress")]
    assert len(told) > 2
    assert told == sorted(told)
    kinds = [event.type for event in events]
    assert kinds.index("tool.result") > max(
        index for index, kind in enumerate(kinds) if kind == "tool.progress"
    )


async def test_a_cancelled_run_cancels_its_call_at_the_server(
    tmp_path: Path, workspace: Path
) -> None:
    """The server is told of its own request (H22)."""
    log = FaultyLog(tmp_path / "log")
    slow = {"tool": "far__slow", "args": {"seconds": 30}}
    async with (
        faulty_http("progress_every=50", "era=handshake", log=tmp_path / "log") as url,
        serve_model(script(slow)) as server,
    ):
        async with team(server, workspace, tmp_path, assignments=[f"servers.far.url={url}"]) as hub:
            result, _ = await cancel_when(hub, "go", lambda event: event.type == "tool.progress")
            assert result.outcome == "cancelled"
            (cancel,) = await log.wait_for("cancel")
            (request,) = log.events("request", method="tools/call")
            assert cancel["id"] == request["id"]


async def test_a_page_of_a_file_is_not_cut_a_second_time(tmp_path: Path, workspace: Path) -> None:
    """The bundled servers give at most what a model is to read at once, and say how to go on."""
    (workspace / "long.txt").write_text("a line of some length\n" * 3000, encoding="utf-8")
    read = {"tool": "files__read", "args": {"path": "long.txt"}}
    async with serve_model(script(read)) as server:
        async with team(server, workspace, tmp_path) as hub:
            _, events = await ask(hub, "go")
    [result] = of_type(events, "tool.result")
    assert len(result.text) > 30_000
    assert not result.kept
