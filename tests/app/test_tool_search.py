"""A catalog over its budget: the search, what it loads, and prompts that stay warm."""

import json
from pathlib import Path
from typing import Any

import pytest

from hub.testing.faulty.launch import faulty_command, faulty_http
from hub.testing.serving import ModelServer, serve_model
from tests.teams import agents, ask, dispatch, lead_to, of_type, report, team, team_folder

EXTRA = "extra_tools=40"
SMALL = "catalog.budget=500"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def far(url: str, *more: str) -> list[str]:
    """The settings of a run that uses a server over HTTP."""
    return [f"servers.far.url={url}", *more]


def sent(server: ModelServer, number: int) -> list[str]:
    """The tools of one request, as they were encoded."""
    return [json.dumps(tool) for tool in server.requests[number].body["tools"]]


def names(server: ModelServer, number: int) -> list[str]:
    return [tool["function"]["name"] for tool in server.requests[number].body["tools"]]


def searching(query: str, *calls: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The turns of a model that searches, then calls, then answers with the last result."""
    search = {"tool": "tool_search", "args": {"query": query, **more}}
    turns = [{"calls": [call]} for call in (search, *calls)]
    return [*turns, {"text": "{{ last[0].text }}"}]


async def test_a_small_catalog_is_sent_whole(tmp_path: Path, workspace: Path) -> None:
    """There is nothing to search."""
    async with (
        faulty_http() as url,
        serve_model({"script": 1, "turns": [{"text": "hi"}]}) as server,
    ):
        async with team(server, workspace, tmp_path, assignments=far(url)) as hub:
            await ask(hub, "go")
    assert "far__echo" in names(server, 0)
    assert "tool_search" not in names(server, 0)
    assert "read_result" not in names(server, 0)


async def test_what_is_found_joins_the_list_at_its_end(tmp_path: Path, workspace: Path) -> None:
    """What was sent before is the same, byte for byte, so that prompt caches stay warm."""
    script = {
        "script": 1,
        "turns": searching(
            "echo a text", {"tool": "far__echo", "args": {"text": "found"}}, limit=2
        ),
    }
    async with faulty_http(EXTRA) as url, serve_model(script) as server:
        async with team(server, workspace, tmp_path, assignments=far(url, SMALL)) as hub:
            result, events = await ask(hub, "go")
    assert result.text == "found"
    first = sent(server, 0)
    assert "files__read" in names(server, 0)
    assert names(server, 0)[-1] == "tool_search"
    assert not [name for name in names(server, 0) if name.startswith("far__")]
    later = sent(server, 1)
    assert later[: len(first)] == first
    assert sent(server, 2) == later
    [loaded] = of_type(events, "tools.loaded")
    assert names(server, 1)[len(first) :] == loaded.names
    assert loaded.names[0] == "far__echo"
    [started] = of_type(events, "session.started")
    assert started.tools == names(server, 0)


async def test_a_call_of_a_tool_that_is_not_loaded_works_and_loads_it(
    tmp_path: Path, workspace: Path
) -> None:
    """A model may know a name from elsewhere."""
    script = {
        "script": 1,
        "turns": [
            {"calls": [{"tool": "far__echo", "args": {"text": "known"}}]},
            {"calls": [{"tool": "far__echo", "args": {"text": "again"}}]},
            {"text": "{{ last[0].text }}"},
        ],
    }
    async with faulty_http(EXTRA) as url, serve_model(script) as server:
        async with team(server, workspace, tmp_path, assignments=far(url, SMALL)) as hub:
            result, events = await ask(hub, "go")
    assert result.text == "again"
    assert [event.names for event in of_type(events, "tools.loaded")] == [["far__echo"]]
    assert names(server, 1)[-1] == "far__echo"


async def test_a_resumed_session_has_the_same_tools_loaded(tmp_path: Path, workspace: Path) -> None:
    """In the same order; also from one prompt to the next."""
    script = {
        "script": 1,
        "turns": [
            *searching("add numbers", limit=1),
            *searching("echo a text", limit=1),
            {"text": "resumed"},
        ],
    }
    async with faulty_http(EXTRA) as url, serve_model(script) as server:
        settings = far(url, SMALL)
        async with team(server, workspace, tmp_path, assignments=settings) as hub:
            await ask(hub, "first")
            await ask(hub, "second")
            session = hub.session_id
        before = sent(server, len(server.requests) - 1)
        async with team(server, workspace, tmp_path, assignments=settings, resume=session) as hub:
            result, events = await ask(hub, "third")
    assert result.text == "resumed"
    assert names(server, -1)[-2:] == ["far__add", "far__echo"]
    assert sent(server, -1) == before
    assert not of_type(events, "tools.loaded")


async def test_a_child_searches_what_its_own_grant_admits(tmp_path: Path, workspace: Path) -> None:
    """Its list begins small, whatever its parent has loaded."""
    folder = team_folder(
        tmp_path,
        lead=lead_to("worker"),
        worker={"tools": ["far__*"], "disallowed_tools": ["far__add"]},
    )
    script = agents(
        lead=[
            {"calls": [{"tool": "tool_search", "args": {"query": "add numbers"}}]},
            {"calls": [dispatch("worker")]},
            {"text": "ok"},
        ],
        worker=[
            {"calls": [{"tool": "tool_search", "args": {"query": "add or echo", "limit": 20}}]},
            {"calls": [report()]},
        ],
    )
    async with faulty_http(EXTRA) as url, serve_model(script) as server:
        chosen = far(url, SMALL)
        async with team(server, workspace, tmp_path, team=folder, assignments=chosen) as hub:
            result, events = await ask(hub, "go")
    assert result.outcome == "done"
    [of_worker] = of_type(events, "tools.loaded", "lead/worker#1")
    assert of_worker.names[0] == "far__echo"
    assert "far__add" not in of_worker.names


async def test_a_search_without_a_budget_is_not_offered(tmp_path: Path, workspace: Path) -> None:
    """``null`` sends everything."""
    script = {"script": 1, "turns": [{"text": "hi"}]}
    async with faulty_http(EXTRA) as url, serve_model(script) as server:
        chosen = far(url, "catalog.budget=null")
        async with team(server, workspace, tmp_path, assignments=chosen) as hub:
            await ask(hub, "go")
    assert len([name for name in names(server, 0) if name.startswith("far__")]) > 40
    assert "tool_search" not in names(server, 0)


async def test_tools_of_a_server_that_crashed_are_marked(tmp_path: Path, workspace: Path) -> None:
    """From the event of its failure on, until it is up again."""
    command, arguments = faulty_command(EXTRA)
    chosen = [
        f"servers.far.command={command}",
        f"servers.far.args={json.dumps(arguments)}",
        SMALL,
    ]
    script = {
        "script": 1,
        "turns": [
            {"calls": [{"tool": "far__crash", "args": {"code": 3}}]},
            {"calls": [{"tool": "shell__run", "args": {"command": "sleep 0.5"}}]},
            *searching("echo a text"),
        ],
    }
    async with serve_model(script) as server:
        async with team(server, workspace, tmp_path, assignments=chosen) as hub:
            result, events = await ask(hub, "go")
    assert [event.server for event in of_type(events, "server.failed")] == ["far"]
    assert "- far__echo: " in result.text
    assert "[its server does not work: " in result.text


async def test_a_tool_that_there_is_not_is_to_be_searched_for(
    tmp_path: Path, workspace: Path
) -> None:
    """The message says with what, and names what is near."""
    script = {
        "script": 1,
        "turns": [{"calls": [{"tool": "far__ecko", "args": {}}]}, {"text": "{{ last[0].text }}"}],
    }
    async with faulty_http(EXTRA) as url, serve_model(script) as server:
        async with team(server, workspace, tmp_path, assignments=far(url, SMALL)) as hub:
            result, _ = await ask(hub, "go")
    assert "Did you mean far__echo" in result.text
    assert "Look for others with tool_search." in result.text
