"""What a server changes while agents work counts from the next turn on."""

from pathlib import Path
from typing import Any

import anyio

from hub.app.live import LiveCatalog
from hub.catalog.catalog import Catalog
from hub.core import events as ev
from hub.core.errors import ServerError
from hub.core.offers import Offers
from hub.core.ports import RemoteResource, ServerListing
from hub.core.servers import ServerSpec
from hub.testing.faulty.launch import faulty_command
from hub.testing.serving import serve_model
from tests.catalog.test_catalog import CONTEXT, Untouchable, listing
from tests.teams import ask, of_type, team


class Servers(Untouchable):
    """Servers that list what they are told to."""

    def __init__(self, now: ServerListing | Exception | None) -> None:
        self.now = now

    async def listing(self, server: str) -> ServerListing:
        if self.now is None:
            await anyio.sleep_forever()
        if isinstance(self.now, Exception):
            raise self.now
        assert self.now is not None
        return self.now


def live(now: ServerListing | Exception | None) -> LiveCatalog:
    """A catalog of the server ``a`` with the tools x and y; it lists something else now."""
    spec = ServerSpec("a", "stdio")
    catalog = Catalog()
    catalog.add(spec, listing("a", "x", "y"), Untouchable())
    return LiveCatalog(catalog, [spec], Servers(now), Offers())


CHANGED = ev.CatalogChanged(server="a", added=["z"], removed=["y"], changed=[])


async def test_a_changed_list_counts_from_the_next_turn_on():
    """Until then the offer is the same, and what is gone says so (H4, H20)."""
    catalog = live(listing("a", "x", "z"))
    assert not await catalog.renew()
    before = catalog.tools()
    catalog.heard(CHANGED)
    assert list(catalog.tools()) == list(before) == ["a__x", "a__y"]
    outcome = await before["a__y"].call({}, CONTEXT)
    assert outcome.kind == "tool_removed"
    assert await catalog.renew()
    assert list(catalog.tools()) == ["a__x", "a__z"]
    assert not await catalog.renew()


async def test_a_server_that_is_down_or_mute_keeps_what_it_had():
    """A new turn does not wait for it (H1, H5)."""
    for now in (ServerError("down", server="a"), None):
        catalog = live(now)
        catalog.heard(CHANGED)
        with anyio.fail_after(5):
            assert not await catalog.renew()
        assert list(catalog.tools()) == ["a__x", "a__y"]


async def test_a_server_that_comes_up_late_joins_behind_all_others():
    """It had failed, or was not waited for, when the hub was opened (H4)."""
    for state in (Catalog(failed={"b": "no answer"}), Catalog(starting=["b"])):
        catalog = live(listing("b", "x"))
        catalog.specs = [ServerSpec("b", "stdio"), *catalog.specs]
        catalog.catalog.failed, catalog.catalog.starting = state.failed, state.starting
        catalog.heard(ev.ServerConnected(server="b", protocol="x", tools=1, duration_ms=1))
        with anyio.fail_after(5):
            await catalog.arrival()
            (change,) = await catalog.join()
        assert (change.server, change.added) == ("b", ["x"])
        assert list(catalog.tools()) == ["a__x", "a__y", "b__x"]
        assert not catalog.catalog.failed
        assert not catalog.catalog.starting
        assert not await catalog.join()
        assert not await catalog.renew()


async def test_what_was_told_of_a_late_server_is_not_told_again():
    """A start over its limit is told by the connection itself (H4)."""
    catalog = live(listing("b", "x"))
    catalog.specs = [*catalog.specs, ServerSpec("b", "stdio")]
    catalog.heard(ev.ServerConnected(server="b", protocol="x", tools=1, duration_ms=1))
    catalog.heard(ev.CatalogChanged(server="b", added=["x"]))
    assert await catalog.join() == []
    assert "b__x" in catalog.tools()


async def test_a_late_server_that_fails_or_goes_again_joins_nothing():
    """It is named with its reason, and may still come (H1, H5)."""
    catalog = live(ServerError("down", server="b"))
    catalog.specs = [*catalog.specs, ServerSpec("b", "stdio")]
    catalog.catalog.starting = ["b"]
    catalog.heard(ev.ServerFailed(server="b", error="no answer"))
    assert catalog.catalog.failed == {"b": "no answer"}
    assert catalog.catalog.starting == []
    catalog.heard(ev.ServerConnected(server="b", protocol="x", tools=1, duration_ms=1))
    assert await catalog.join() == []
    assert list(catalog.tools()) == ["a__x", "a__y"]


def test_the_tool_for_resources_is_there_when_resources_are():
    """Not otherwise."""
    catalog = live(None)
    assert "resources" not in catalog.tools()
    catalog.catalog.resources["a"] = (RemoteResource("x://1"),)
    assert "resources" in catalog.tools()


async def test_a_run_uses_rules_aliases_gates_and_the_profile_of_its_model(tmp_path: Path) -> None:
    """All together, over a real server, for a model that is named like Gemini (H40)."""
    workspace = tmp_path / "work"
    workspace.mkdir()
    command, arguments = faulty_command()
    turns: list[dict[str, Any]] = [
        {"calls": [{"tool": "say", "args": {}}]},
        {"text": "{{ last[0].text }}"},
        {"text": "again"},
    ]
    settings = [
        f"servers.own.command={command}",
        f"servers.own.args={arguments!r}".replace("'", '"'),
        'servers.own.tools.echo.defaults={"text": "hello", "style": {"case": "upper"}}',
        'servers.own.tools.echo.hidden=["style"]',
        "aliases.say=own__echo",
        "gates.own__add.env=NOT_SET_ANYWHERE",
        "models.scripted.model=gemini-x",
    ]
    async with serve_model({"script": 1, "turns": turns}) as server:
        async with team(server, workspace, tmp_path, assignments=settings) as hub:
            assert "say" in hub.init.tools
            assert not {"own__echo", "own__add"} & set(hub.init.tools)
            result, events = await ask(hub, "speak")
            assert (result.outcome, result.text) == ("done", "HELLO")
            (call,) = of_type(events, "tool.result")
            assert not call.is_error
        sent = server.requests[0].body["tools"]
        (said,) = [tool["function"] for tool in sent if tool["function"]["name"] == "say"]
        assert set(said["parameters"]["properties"]) == {"text"}
        assert "$schema" not in str(sent)
        assert "additionalProperties" not in str(sent)
