"""Prompts and resources are listed beside the tools, and never cost them."""

from pathlib import Path

import pytest

from hub.connections import listing as listing_module
from hub.core import events as ev
from hub.core.ports import ServerListing
from hub.testing.faulty.launch import FaultyLog, faulty_http
from tests.connections.pools import Heard, bundled, called, echoes, faulty, open_pool, over_http

TOOLS = 8
ASKED = ("prompts/list", "resources/list", "resources/templates/list")


async def listed(tmp_path: Path, *knobs: str) -> ServerListing:
    """What a server with these knobs lists; it has all of its tools."""
    async with open_pool(faulty("a", *knobs), workspace=tmp_path) as pool:
        listing = await pool.listing("a")
        assert len(listing.tools) == TOOLS
        assert await echoes(pool, "a")
    return listing


@pytest.mark.parametrize("era", ["handshake", "both"])
async def test_prompts_resources_and_templates_are_listed_over_all_pages(tmp_path: Path, era: str):
    """In both eras, with what the server says of each (H19)."""
    listing = await listed(tmp_path, "resources=3", "pages=2", f"era={era}")
    (prompt,) = listing.prompts
    assert (prompt.name, prompt.description) == ("greet", "Greets somebody.")
    assert prompt.arguments == ({"name": "name", "required": True},)
    assert [(found.uri, found.template) for found in listing.resources] == [
        ("note://0", False), ("note://1", False), ("note://2", False), ("note://{number}", True),
    ]  # fmt: skip
    assert listing.resources[0].mime_type == "text/plain"
    assert listing.warnings == ()


async def test_what_stands_in_a_tools_meta_is_kept(tmp_path: Path):
    """It is part of what is pinned (H50)."""
    before, after = await listed(tmp_path), await listed(tmp_path, "change=meta")
    assert before.tools[0].meta == {"example.com/owner": "tests"}
    assert after.tools[0].meta == {"example.com/owner": "somebody else"}


async def test_a_server_is_asked_only_for_what_it_declares(tmp_path: Path):
    """One with tools alone gets no other question."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "only_tools", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        listing = await pool.listing("a")
    assert (listing.prompts, listing.resources, listing.warnings) == ((), (), ())
    asked = {event["method"] for event in log.events("request")}
    assert not asked & set(ASKED)


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("extras_error=-32000", "the list of prompts cannot be had: The prompts cannot be listed"),
        ("odd_extras", "a prompt without a name is left out"),
        ("odd_extras", "a resource without a uri is left out"),
        ("odd_extras", "a resource template without a uriTemplate is left out"),
        ("repeat_cursor", "the list of tools repeats its cursor"),
    ],
)
async def test_what_is_odd_beside_the_tools_is_a_warning(tmp_path: Path, knob: str, words: str):
    """The tools are served, and the good prompts with them (H5, H19)."""
    async with open_pool(faulty("a", knob), workspace=tmp_path) as pool:
        listing = await pool.listing("a")
    assert listing.tools
    assert any(words in warning for warning in listing.warnings)
    assert ("greet" in {prompt.name for prompt in listing.prompts}) == (
        knob != "extras_error=-32000"
    )


async def test_a_server_without_templates_is_not_odd(tmp_path: Path):
    """They have no capability of their own."""
    listing = await listed(tmp_path, "no_templates", "resources=1")
    assert [found.uri for found in listing.resources] == ["note://0"]
    assert listing.warnings == ()


async def test_lists_that_never_come_hold_up_nobody_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A limit of their own, and then a warning (H1)."""
    monkeypatch.setattr(listing_module, "EXTRAS_LIMIT", 0.3)
    listing = await listed(tmp_path, "extras_never")
    assert listing.warnings == (
        "the list of prompts did not come within 0.3 s",
        "the list of resources did not come within 0.3 s",
        "the list of resource templates did not come within 0.3 s",
    )


async def test_a_server_that_dies_of_the_question_for_prompts_is_not_asked_again(tmp_path: Path):
    """Its tools are listed at once, and usable from the second start on (H5)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "exit_on_prompts=4", "resources=1", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        assert len((await pool.listing("a")).tools) == TOOLS
        await pool.link("a").at_rest()
        assert await echoes(pool, "a")
        listing = await pool.listing("a")
        assert [found.uri for found in listing.resources] == ["note://0", "note://{number}"]
        (warning,) = listing.warnings
        assert warning == "the list of prompts is not asked for: the server died of the question"
    assert len(log.events("request", method="prompts/list")) == 1
    assert len(log.events("start")) == 2


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", ["handshake", "both"])
async def test_changes_of_prompts_and_resources_are_read_and_told_once(
    tmp_path: Path, era: str, transport: str
):
    """A hundred announcements are one or two more lists; the tools are not asked for (H20)."""
    log, heard = FaultyLog(tmp_path / "log"), Heard()
    knobs = ("extras_changed=100", f"era={era}")
    async with faulty_http(*knobs, log=tmp_path / "other") as url:
        spec = (
            faulty("a", *knobs, log=tmp_path / "log")
            if transport == "stdio"
            else over_http("a", url)
        )
        log = FaultyLog(tmp_path / ("log" if transport == "stdio" else "other"))
        async with open_pool(spec, workspace=tmp_path, heard=heard) as pool:
            assert len((await pool.listing("a")).prompts) == 1
            await called(pool, "a", "echo", text="x")
            (change,) = await heard.wait_for(ev.CatalogChanged)
            listing = await pool.listing("a")
    assert (change.prompts, change.resources) == (True, True)
    assert [change.added, change.removed, change.changed] == [[], [], []]
    assert [prompt.name for prompt in listing.prompts] == ["greet", "more-0"]
    assert [found.uri for found in listing.resources] == ["note://0", "note://{number}"]
    assert len(log.events("request", method="tools/list")) == 1
    assert len(log.events("request", method="prompts/list")) <= 3


async def test_a_server_inside_of_this_process_is_listed_like_any_other(tmp_path: Path):
    """Bundled servers have tools alone."""
    async with open_pool(bundled("notes"), workspace=tmp_path) as pool:
        listing = await pool.listing("notes")
    assert listing.tools
    assert (listing.prompts, listing.warnings) == ((), ())


async def test_a_listed_resource_can_be_read(tmp_path: Path):
    """Through the same pool."""
    async with open_pool(faulty("a", "resources=1"), workspace=tmp_path) as pool:
        (found,) = await pool.read_resource("a", "note://0")
    assert found["text"] == "The text of note://0."
