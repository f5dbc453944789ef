"""Real third-party servers through the hub's own connections and catalog, as a run uses them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, build_catalog
from hub.connections.pool import ServerPool
from hub.core.clock import SystemClock
from hub.core.ports import CallContext
from hub.core.servers import ServerSpec
from tests.third_party import servers
from tests.third_party.test_real_servers import git

pytestmark = pytest.mark.thirdparty

LIMIT = 90
CONTEXT = CallContext("s-1", "lead", "c-1", lambda message, done, total: None)


def third_party(name: str, workspace: Path) -> ServerSpec:
    """The launch spec of a third-party server."""
    launch = servers.launch(name, workspace)
    return ServerSpec(
        name,
        "stdio",
        command=launch.command,
        args=tuple(launch.args),
        env=launch.env,
        start_timeout=60,
    )


@asynccontextmanager
async def offered(workspace: Path, *specs: ServerSpec) -> AsyncIterator[Catalog]:
    """The catalog of some servers, without faults, bounded in time."""
    with anyio.fail_after(LIMIT):
        async with ServerPool(
            specs,
            workspace=workspace,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            resolve=lambda spec: spec,
            emit=lambda event: None,
            clock=SystemClock(),
        ) as pool:
            catalog = await build_catalog(specs, servers=pool, cache=ListingCache(None))
            assert catalog.failed == {}
            yield catalog


async def said(catalog: Catalog, tool: str, **arguments: Any) -> str:
    """The text of the answer to one call, which must not be an error."""
    outcome = await catalog.tools[tool].call(arguments, CONTEXT)
    assert not outcome.is_error, outcome.text
    return outcome.text


async def test_six_servers_at_once_answer_a_real_call_each(tmp_path: Path):
    """Started together; node and Python, both protocol eras, two lines of the SDK (H29, H31)."""
    names = ("everything", "filesystem", "memory", "git", "time", "sqlite")
    specs = [third_party(name, tmp_path) for name in names]
    git("init", "--quiet", cwd=tmp_path)
    git("commit", "--quiet", "--allow-empty", "--message", "the first of all", cwd=tmp_path)
    async with offered(tmp_path, *specs) as catalog:
        assert set(catalog.connected) == set(names)
        assert "5" in await said(catalog, "everything__get-sum", a=2, b=3)
        path = str(tmp_path / "a.txt")
        await said(catalog, "filesystem__write_file", path=path, content="héllo\n")
        assert "héllo" in await said(catalog, "filesystem__read_text_file", path=path)
        entity = {"name": "hub", "entityType": "program", "observations": ["dispatches"]}
        await said(catalog, "memory__create_entities", entities=[entity])
        assert "dispatches" in await said(catalog, "memory__search_nodes", query="hub")
        log = await said(catalog, "git__git_log", repo_path=str(tmp_path))
        assert "the first of all" in log
        zones = {"source_timezone": "UTC", "target_timezone": "Asia/Tokyo"}
        assert "T21:00:00" in await said(catalog, "time__convert_time", time="12:00", **zones)
        await said(catalog, "sqlite__create_table", query="CREATE TABLE t (n INTEGER)")
        await said(catalog, "sqlite__write_query", query="INSERT INTO t VALUES (42)")
        assert "42" in await said(catalog, "sqlite__read_query", query="SELECT n FROM t")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "héllo\n"


async def test_everything_over_streamable_http(tmp_path: Path):
    """Listing, call, structured result and image over a port."""
    async with (
        servers.everything_http() as url,
        offered(tmp_path, ServerSpec("every", "http", url=url)) as catalog,
    ):
        assert "hello" in await said(catalog, "every__echo", message="hello")
        image = await catalog.tools["every__get-tiny-image"].call({}, CONTEXT)
        assert [block["type"] for block in image.blocks] == ["text", "image", "text"]


async def test_progress_of_a_long_operation_arrives(tmp_path: Path):
    """The server reports each step; the hub passes it on (H23)."""
    told: list[float | None] = []
    context = CallContext("s-1", "lead", "c-1", lambda message, done, total: told.append(done))
    async with offered(tmp_path, third_party("everything", tmp_path)) as catalog:
        tool = catalog.tools["everything__trigger-long-running-operation"]
        outcome = await tool.call({"duration": 1, "steps": 4}, context)
        assert not outcome.is_error
    assert told == [1, 2, 3, 4]


async def test_tools_that_cannot_be_called_are_not_offered(tmp_path: Path):
    """One that runs only as a task is left out, and the catalog says so."""
    async with offered(tmp_path, third_party("everything", tmp_path)) as catalog:
        assert not any("simulate-research-query" in name for name in catalog.tools)
        assert any("simulate-research-query" in problem for problem in catalog.problems)


async def test_a_refusal_of_a_server_is_an_outcome(tmp_path: Path):
    """The filesystem server keeps to its folder, and its words reach the model."""
    async with offered(tmp_path, third_party("filesystem", tmp_path)) as catalog:
        tool = catalog.tools["filesystem__read_text_file"]
        outcome = await tool.call({"path": "/etc/hostname"}, CONTEXT)
    assert outcome.is_error
    assert "denied" in outcome.text


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_one_server_over_each_transport_offers_the_same(tmp_path: Path, transport: str):
    """Tools, prompts, resources and templates, a call, its progress, and what a prompt says."""
    told: list[float] = []
    kind = "sse" if transport == "sse" else "streamableHttp"
    async with servers.everything_http(kind) as url:
        spec = third_party("everything", tmp_path)
        if transport == "http":
            spec = ServerSpec("everything", "http", url=url, start_timeout=60)
        elif transport == "sse":
            spec = ServerSpec("everything", "sse", url=url, start_timeout=60)
        context = CallContext("s-1", "lead", "c-1", lambda message, done, total: told.append(done))
        with anyio.fail_after(LIMIT):
            async with ServerPool(
                [spec],
                workspace=tmp_path,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
                resolve=lambda spec: spec,
                emit=lambda event: None,
                clock=SystemClock(),
            ) as pool:
                listing = await pool.listing("everything")
                steps = {"duration": 1, "steps": 4}
                name = "trigger-long-running-operation"
                outcome = await pool.call("everything", name, steps, context)
                messages = await pool.get_prompt("everything", "simple-prompt", {})
                (first, *_) = [found for found in listing.resources if not found.template]
                contents = await pool.read_resource("everything", first.uri)
    assert "echo" in {tool.name for tool in listing.tools}
    assert "args-prompt" in {prompt.name for prompt in listing.prompts}
    assert any(found.template for found in listing.resources)
    assert "completed" in outcome.text
    assert len(told) >= 3
    assert messages
    assert contents[0]["uri"] == first.uri
