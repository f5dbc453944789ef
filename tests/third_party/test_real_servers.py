"""Real third-party servers, each of which lists its tools and answers one real call."""

import json
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

from tests.third_party import servers

pytestmark = pytest.mark.thirdparty

LIMIT = 60
"""Seconds for one test; a first start of a Python server compiles its packages."""


@asynccontextmanager
async def connected(name: str, workspace: Path) -> AsyncIterator[Client]:
    """A client of one server over stdio, bounded in time."""
    launch = servers.launch(name, workspace)
    parameters = StdioServerParameters(
        command=launch.command, args=launch.args, env=launch.env, cwd=workspace
    )
    with anyio.fail_after(LIMIT):
        async with Client(parameters) as client:
            yield client


async def tool_names(client: Client) -> set[str]:
    """The names of the tools that the server lists."""
    return {tool.name for tool in (await client.list_tools()).tools}


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """The text of the answer to one call, which must not be an error."""
    result = await client.call_tool(tool, arguments)
    text = "".join(getattr(block, "text", "") for block in result.content)
    assert not result.is_error, text
    return text


async def test_everything_adds_two_numbers(tmp_path: Path):
    """The server that shows every feature, over stdio."""
    async with connected("everything", tmp_path) as client:
        assert {"echo", "get-sum", "get-env"} <= await tool_names(client)
        assert "5" in await said(client, "get-sum", a=2, b=3)


async def test_everything_answers_over_streamable_http():
    """The same server on a port."""
    with anyio.fail_after(LIMIT):
        async with servers.everything_http() as url, Client(url) as client:
            assert "echo" in await tool_names(client)
            assert "hello" in await said(client, "echo", message="hello")


async def test_everything_answers_over_the_older_sse_transport():
    """Servers that have not moved on yet."""
    with anyio.fail_after(LIMIT):
        async with servers.everything_http("sse") as url, Client(sse_client(url)) as client:
            assert "hello" in await said(client, "echo", message="hello")


async def test_filesystem_writes_and_reads_a_real_file(tmp_path: Path):
    """What it writes is on the disk, and it stays inside its folder."""
    async with connected("filesystem", tmp_path) as client:
        assert {"read_text_file", "write_file", "list_directory"} <= await tool_names(client)
        await said(client, "write_file", path=str(tmp_path / "a.txt"), content="héllo\n")
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "héllo\n"
        assert "a.txt" in await said(client, "list_directory", path=str(tmp_path))
        outside = await client.call_tool("read_text_file", {"path": "/etc/hostname"})
        assert outside.is_error


async def test_memory_remembers_an_entity_in_its_file(tmp_path: Path):
    """The graph survives in the file that was named."""
    async with connected("memory", tmp_path) as client:
        assert {"create_entities", "read_graph"} <= await tool_names(client)
        entity = {"name": "hub", "entityType": "program", "observations": ["dispatches"]}
        await said(client, "create_entities", entities=[entity])
        assert "dispatches" in await said(client, "search_nodes", query="hub")
    assert '"hub"' in (tmp_path / "memory.jsonl").read_text(encoding="utf-8")


async def test_sequential_thinking_counts_thoughts(tmp_path: Path):
    """It keeps state between two calls."""
    async with connected("sequential-thinking", tmp_path) as client:
        assert await tool_names(client) == {"sequentialthinking"}
        for number in (1, 2):
            answer = await said(
                client,
                "sequentialthinking",
                thought=f"thought {number}",
                thoughtNumber=number,
                totalThoughts=2,
                nextThoughtNeeded=number == 1,
            )
        assert json.loads(answer)["thoughtHistoryLength"] == 2


def git(*arguments: str, cwd: Path) -> str:
    """Run git without the user's settings and return what it prints."""
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=cwd, capture_output=True, text=True, check=True
    ).stdout


async def test_git_shows_a_real_commit(tmp_path: Path):
    """The log of a repository that was made a moment ago."""
    servers.require("git")
    git("init", "--quiet", cwd=tmp_path)
    git("commit", "--quiet", "--allow-empty", "--message", "the first of all", cwd=tmp_path)
    async with connected("git", tmp_path) as client:
        assert {"git_log", "git_status", "git_diff"} <= await tool_names(client)
        log = await said(client, "git_log", repo_path=str(tmp_path))
        assert "the first of all" in log
        assert git("rev-parse", "HEAD", cwd=tmp_path).strip() in log


async def test_time_converts_between_zones(tmp_path: Path):
    """Noon in UTC is nine in the evening in Tokyo, all the year round."""
    async with connected("time", tmp_path) as client:
        assert await tool_names(client) == {"get_current_time", "convert_time"}
        zones = {"source_timezone": "UTC", "target_timezone": "Asia/Tokyo"}
        answer = json.loads(await said(client, "convert_time", time="12:00", **zones))
        assert "T21:00:00+09:00" in answer["target"]["datetime"]


async def test_sqlite_writes_a_real_database(tmp_path: Path):
    """What it inserts is in the file; it runs on the older line of the SDK."""
    async with connected("sqlite", tmp_path) as client:
        assert {"read_query", "write_query", "create_table"} <= await tool_names(client)
        await said(client, "create_table", query="CREATE TABLE t (n INTEGER)")
        await said(client, "write_query", query="INSERT INTO t VALUES (42)")
        assert "42" in await said(client, "read_query", query="SELECT n FROM t")
    with sqlite3.connect(tmp_path / "test.db") as database:
        assert database.execute("SELECT n FROM t").fetchall() == [(42,)]
    database.close()


async def test_fetch_refuses_a_loopback_address_and_says_so(tmp_path: Path):
    """It reads the web, which the tests do not; its refusal is an error with a reason."""
    async with connected("fetch", tmp_path) as client:
        assert await tool_names(client) == {"fetch"}
        result = await client.call_tool("fetch", {"url": "http://127.0.0.1:9/"})
        assert result.is_error
        assert "127.0.0.1" in result.content[0].text
