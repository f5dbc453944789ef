"""Lists of tools over pages, with bad members, and how they change."""

from pathlib import Path

import anyio
import pytest

from hub.connections.changes import FIRST_PAUSE
from hub.core import events as ev
from hub.core.ports import ServerListing
from hub.testing.faulty.launch import FaultyLog
from tests.connections.pools import Heard, called, echoes, faulty, open_pool

ALL = {"echo", "add", "slow", "crash", "env", "spawn", "login", "whoami"}


async def listed(tmp_path: Path, *knobs: str) -> ServerListing:
    """What a server with these knobs lists."""
    async with open_pool(faulty("a", *knobs), workspace=tmp_path) as pool:
        return await pool.listing("a")


def names(listing: ServerListing) -> set[str]:
    """The names of its tools."""
    return {tool.name for tool in listing.tools}


@pytest.mark.parametrize(
    "knobs",
    [("pages=2",), ("pages=1",), ("empty_page",), ("empty_cursor=middle",), ("empty_cursor=last",)],
)
async def test_all_pages_are_read(tmp_path: Path, knobs: tuple[str, ...]):
    """Small pages, an empty page, the empty string as a cursor or as the end (H19)."""
    listing = await listed(tmp_path, *knobs)
    assert names(listing) == ALL
    assert listing.warnings == ()


async def test_a_cursor_that_repeats_ends_the_list_with_a_warning(tmp_path: Path):
    """The loop is broken, what was listed is kept (H19)."""
    listing = await listed(tmp_path, "repeat_cursor")
    assert names(listing) < ALL
    assert any("repeats its cursor" in text for text in listing.warnings)


async def test_a_server_that_refuses_its_own_cursor_keeps_its_first_page(tmp_path: Path):
    """Half a list with a warning beats no server (H19)."""
    listing = await listed(tmp_path, "reject_cursor")
    assert listing.tools
    assert any("refuses its own cursor" in text for text in listing.warnings)


@pytest.mark.parametrize(
    ("knob", "more"),
    [
        ("no_properties", 1),
        ("any_of", 1),
        ("invalid_members", 1),
        ("no_schema", 1),
        ("empty_schema", 1),
        ("hostile_text", 1),
        ("huge_description", 1),
        ("long_names", 2),
        ("colliding_names", 3),
        ("extra_tools=300", 300),
    ],
)
async def test_one_odd_tool_costs_no_other(tmp_path: Path, knob: str, more: int):
    """Tools that the protocol forbids are listed beside the good ones, as they are (H39, H40)."""
    listing = await listed(tmp_path, knob)
    assert names(listing) > ALL or knob == "hostile_text"
    assert len(listing.tools) >= len(ALL) + (more if knob != "hostile_text" else 0)


async def test_schemas_arrive_as_the_server_wrote_them(tmp_path: Path):
    """Members that are no schemas are not lost on the way to whoever lowers them (H42)."""
    listing = await listed(tmp_path, "invalid_members")
    odd = [tool for tool in listing.tools if tool.name not in ALL]
    assert any(
        not isinstance(member, dict)
        for tool in odd
        for member in tool.input_schema["properties"].values()
    )


async def test_a_tool_without_a_schema_is_taken_to_have_no_arguments(tmp_path: Path):
    """And the listing says so (H39)."""
    listing = await listed(tmp_path, "no_schema")
    assert any("no input schema" in text for text in listing.warnings)


async def test_a_name_that_comes_twice_is_flagged(tmp_path: Path):
    """The first is kept, and it is said (H38)."""
    listing = await listed(tmp_path, "duplicate_names")
    assert len(names(listing)) == len(listing.tools)
    assert any("listed twice" in text for text in listing.warnings)


async def settle(log: FaultyLog, pool, count: int) -> None:
    """Wait for so many listings, and then as long as another one would take to follow."""
    await log.wait_for("request", count=count, method="tools/list")
    assert await echoes(pool, "a")
    await anyio.sleep(4 * FIRST_PAUSE)


async def test_a_storm_of_announcements_is_one_listing(tmp_path: Path):
    """Two hundred of them in one call, and nothing changed: at most two more lists (H20)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty("a", "list_changed_storm=200", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        await called(pool, "a", "echo", text="x")
        await log.wait_for("request", count=2, method="tools/list")
    assert len(log.events("request", method="tools/list")) <= 3
    assert heard.of(ev.CatalogChanged) == []


async def test_an_announcement_inside_of_each_listing_does_not_go_on_for_ever(tmp_path: Path):
    """The list causes the announcement: two more lists, then quiet (H20)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    spec = faulty("a", "list_changed_on_list", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        await pool.listing("a")
        await settle(log, pool, 3)
    assert len(log.events("request", method="tools/list")) == 3
    assert heard.of(ev.CatalogChanged) == []


@pytest.mark.parametrize("era", ["handshake", "both"])
async def test_a_change_is_told_once_in_either_era(tmp_path: Path, era: str):
    """A description that changes at the first call: one event, and the listing is new (H20)."""
    heard = Heard()
    spec = faulty("a", "change_on_call", "change=description", f"era={era}")
    async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
        before = await pool.listing("a")
        await called(pool, "a", "echo", text="x")
        (change,) = await heard.wait_for(ev.CatalogChanged)
        assert change.changed
        assert not change.added
        assert (await pool.listing("a")).tools != before.tools
    assert len(heard.of(ev.CatalogChanged)) == 1


async def test_tools_that_come_late_are_told(tmp_path: Path):
    """The list that was early is not frozen (H4)."""
    heard = Heard()
    async with open_pool(faulty("a", "late_tools=0.5"), workspace=tmp_path, heard=heard) as pool:
        early = await pool.listing("a")
        (change,) = await heard.wait_for(ev.CatalogChanged)
        assert change.added
        assert names(await pool.listing("a")) == names(early) | set(change.added)
