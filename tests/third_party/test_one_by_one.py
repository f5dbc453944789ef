"""Each real server by itself: listed, pinned, called, listed again without alarm, and gone."""

import secrets
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hub.catalog.cache import ListingCache
from hub.catalog.catalog import build_catalog
from hub.connections.pool import ServerPool
from hub.core import events as ev
from hub.core.clock import SystemClock
from hub.core.ports import CallContext, ServerListing
from hub.core.servers import ServerSpec
from hub.pins.store import PinStore
from tests.connections.pools import Heard
from tests.third_party.servers import NAMES
from tests.third_party.test_real_servers import git
from tests.third_party.test_through_the_hub import LIMIT, third_party

pytestmark = pytest.mark.thirdparty

MARK = "THIRD_PARTY_TEST"
CONTEXT = CallContext("s-1", "lead", "c-1", lambda message, done, total: None)
ZONES = {"source_timezone": "UTC", "target_timezone": "Asia/Tokyo", "time": "12:00"}
THOUGHT = {"thought": "so", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}


def a_call(name: str, workspace: Path) -> tuple[str, dict[str, Any], str]:
    """One call of a server, and a word of the answer; fetch refuses what is not the web."""
    match name:
        case "everything":
            return "echo", {"message": "well"}, "well"
        case "filesystem":
            return "list_directory", {"path": str(workspace)}, "a.txt"
        case "memory":
            return "read_graph", {}, "entities"
        case "sequential-thinking":
            return "sequentialthinking", THOUGHT, "thoughtHistoryLength"
        case "git":
            return "git_status", {"repo_path": str(workspace)}, "branch"
        case "time":
            return "convert_time", ZONES, "21:00"
        case "fetch":
            return "fetch", {"url": "http://127.0.0.1:9/"}, "127.0.0.1"
        case _:
            return "list_tables", {}, "["


def marked(mark: str) -> list[bytes]:
    """The command lines of processes that have the mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes())
        except OSError:
            continue
    return found


async def life(
    spec: ServerSpec, workspace: Path, call: tuple[str, dict[str, Any], str], heard: Heard
) -> ServerListing:
    """One life of a server behind the hub: catalog, one call, the end."""
    tool, arguments, word = call
    pins = PinStore(workspace / "state", project=workspace)
    async with ServerPool(
        [spec],
        workspace=workspace,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        resolve=lambda one: one,
        emit=heard.emit,
        clock=SystemClock(),
        pins=pins,
    ) as pool:
        catalog = await build_catalog([spec], servers=pool, cache=ListingCache(None), pins=pins)
        assert catalog.failed == {}
        (name,) = [name for name, one in catalog.tools.items() if one.item.said.name == tool]
        outcome = await catalog.tools[name].call(arguments, CONTEXT)
        assert outcome.is_error == (tool == "fetch"), outcome.text
        assert word in outcome.text
        assert marked(spec.env[MARK])
        assert not pins.check(spec, await pool.listing(spec.name))
        return await pool.listing(spec.name)


@pytest.mark.parametrize("name", NAMES)
async def test_a_server_is_listed_pinned_called_and_gone(tmp_path: Path, name: str):
    """Twice, without a quarantine at the second time, and nothing of it is left (H9, H50)."""
    (tmp_path / "a.txt").write_text("alpha\n", encoding="utf-8")
    if name == "git":
        git("init", "--quiet", cwd=tmp_path)
    spec = third_party(name, tmp_path)
    spec = replace(spec, env={**spec.env, MARK: secrets.token_hex(8)})
    heard, listings = Heard(), []
    with anyio.fail_after(LIMIT):
        for _ in range(2):
            listings.append(await life(spec, tmp_path, a_call(name, tmp_path), heard))
            assert marked(spec.env[MARK]) == []
    assert heard.of(ev.ServerQuarantined) == []
    assert listings[0].tools == listings[1].tools
    assert listings[0].tools
