"""The store of pins: what is written when, what is compared, what happens to rubbish."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.app.pinned import shipped_listing
from hub.core.errors import ConfigError
from hub.core.ports import RemoteResource, RemoteTool
from hub.core.servers import ServerSpec, ToolRule
from hub.core.team import Origin
from hub.pins.lockfile import Lock, locked, portable_launch, read_lock, write_lock
from hub.pins.offer import changes, offer_of
from hub.pins.store import PinStore
from tests.pins.listings import faulty_listing, listing, stdio

PROJECT = Origin("mcp_json", "a/.mcp.json", 1)


def store(tmp_path: Path, project: str = "a", lock: Lock | None = None) -> PinStore:
    folder = tmp_path / project
    folder.mkdir(exist_ok=True)
    return PinStore(tmp_path / "state", project=folder, lock=lock, shipped=shipped_listing)


def test_the_first_listing_is_pinned_and_later_ones_are_compared(tmp_path: Path) -> None:
    """Also by another process, and the file is private."""
    spec = stdio()
    assert not store(tmp_path).check(spec, faulty_listing())
    path = store(tmp_path).path(spec)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not store(tmp_path).check(spec, faulty_listing())
    held = store(tmp_path).check(spec, faulty_listing("change=title"))
    assert list(held.tools) == ["echo"]


def test_a_listing_that_agreed_is_not_compared_twice(tmp_path: Path) -> None:
    """A mark remembers it until the pins or the listing change."""
    spec, pins = stdio(), store(tmp_path)
    pins.check(spec, faulty_listing())
    mark = pins.path(spec).with_suffix(".seen")
    assert mark.exists()
    document = json.loads(pins.path(spec).read_bytes())
    document["offer"]["tools"]["echo"]["title"] = "Other"
    pins.path(spec).write_text(json.dumps(document), encoding="utf-8")
    assert list(store(tmp_path).check(spec, faulty_listing()).tools) == ["echo"]


def test_nothing_is_pinned_by_a_change(tmp_path: Path) -> None:
    """Only accepting does that, and only what was accepted."""
    spec, pins = stdio(), store(tmp_path)
    pins.check(spec, faulty_listing())
    changed = faulty_listing("change=title,output_schema,added")
    before = pins.path(spec).read_bytes()
    pins.check(spec, changed)
    assert pins.path(spec).read_bytes() == before
    now, _ = offer_of(changed)
    pinned = pins.pinned(spec)
    assert pinned is not None
    found = [change for change in changes(pinned, now) if change.name == "echo"]
    pins.accept(spec, now, found)
    assert sorted(pins.check(spec, changed).tools) == ["add", "newcomer"]
    pins.accept(spec, now)
    assert not pins.check(spec, changed)
    pins.forget(spec)
    assert pins.pinned(spec) is None


def test_the_same_words_of_two_projects_are_two_servers(tmp_path: Path) -> None:
    """Those of the user are one, wherever it is used."""
    theirs, mine = stdio(origin=PROJECT), stdio()
    assert store(tmp_path, "a").path(theirs) != store(tmp_path, "b").path(theirs)
    assert store(tmp_path, "a").path(mine) == store(tmp_path, "b").path(mine)


@pytest.mark.parametrize("rubbish", [b"", b"[]", b"{}", b'{"format": 9}', b"\xff"])
def test_pins_that_cannot_be_read_hold_everything_back(tmp_path: Path, rubbish: bytes) -> None:
    """A broken file is no approval."""
    spec = stdio()
    path = store(tmp_path).path(spec)
    path.parent.mkdir(parents=True)
    path.write_bytes(rubbish)
    held = store(tmp_path).check(spec, faulty_listing("instructions=Hi"))
    assert set(held.tools) == {tool.name for tool in faulty_listing().tools}
    assert str(path) in held.instructions
    assert not store(tmp_path).idempotent(spec, "echo")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_pins_that_cannot_be_written_hold_everything_back(tmp_path: Path) -> None:
    """Without them the next listing could not be compared."""
    (tmp_path / "state").mkdir(mode=0o500)
    assert store(tmp_path).check(stdio(), faulty_listing()).tools


def test_a_tool_that_cannot_be_compared_is_held_back(tmp_path: Path) -> None:
    """And costs no other tool anything."""
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"properties": {"a": schema}}
    offered = listing(RemoteTool("deep", input_schema=schema), RemoteTool("flat"))
    held = store(tmp_path).check(stdio(), offered)
    assert list(held.tools) == ["deep"]


def test_resources_come_and_go_and_templates_do_not(tmp_path: Path) -> None:
    """Resources are data; only another description of the same is a change."""
    spec, pins = stdio(), store(tmp_path)
    one, two = RemoteResource("f:1"), RemoteResource("f:2")
    pins.check(spec, listing(resources=[one, RemoteResource("f:{x}", template=True)]))
    now = [two, RemoteResource("g:{x}", template=True, description="New.")]
    assert list(pins.check(spec, listing(resources=now)).resources) == ["g:{x}"]
    described = listing(resources=[replace(one, description="Read me first.")])
    assert list(pins.check(spec, described).resources) == ["f:1"]


@pytest.mark.parametrize(
    ("hints", "rule", "repeatable"),
    [
        ({}, None, False),
        ({"readOnlyHint": True}, None, True),
        ({"readOnlyHint": True, "destructiveHint": True}, None, False),
        ({"idempotentHint": True}, None, True),
        ({"idempotentHint": True}, False, False),
        ({}, True, True),
    ],
)
def test_a_call_may_be_repeated_by_the_settings_or_the_pinned_hints(
    tmp_path: Path, hints: dict[str, bool], rule: bool | None, repeatable: bool
) -> None:
    """Never by what a server says of itself later."""
    rules = {} if rule is None else {"t": ToolRule(idempotent=rule)}
    spec, pins = stdio(tools=rules), store(tmp_path)
    pins.check(spec, listing(RemoteTool("t", annotations=hints)))
    pins.check(spec, listing(RemoteTool("t", annotations={"idempotentHint": True})))
    assert pins.idempotent(spec, "t") is repeatable
    assert not pins.idempotent(spec, "other")


def test_the_servers_of_the_hub_are_compared_with_what_ships(tmp_path: Path) -> None:
    """As a process too, and nothing is stored."""
    spec = ServerSpec(
        "files", "stdio", command=sys.executable, args=("-P", "-m", "hub_servers.files")
    )
    shipped = shipped_listing(spec)
    assert shipped is not None
    pins = store(tmp_path)
    assert not pins.check(spec, shipped)
    first, *rest = shipped.tools
    changed = replace(shipped, tools=(replace(first, description="Mine."), *rest))
    assert list(pins.check(spec, changed).tools) == [first.name]
    assert pins.idempotent(spec, "read")
    assert shipped_listing(replace(spec, env={"PYTHONPATH": "."})) is None
    assert not pins.path(spec).exists()


def test_a_lock_narrows_and_approves_nothing(tmp_path: Path) -> None:
    """A listing has to agree with both."""
    spec = stdio()
    lock = Lock(
        tmp_path / "hub.lock", {"own": locked(spec, offer_of(faulty_listing())[0], tmp_path)}
    )
    write_lock(lock)
    again = read_lock(tmp_path)
    assert again.servers == lock.servers
    pins = store(tmp_path, lock=again)
    held = pins.check(spec, faulty_listing("change=added,title"))
    assert held.tools == {
        "echo": 'not as in hub.lock: title "Echo" → "Echo (recommended)"',
        "newcomer": "not in hub.lock",
    }
    assert not store(tmp_path).check(spec, faulty_listing("change=added,title"))


def test_the_launch_of_a_lock_is_the_same_in_every_copy_of_a_project(tmp_path: Path) -> None:
    """A folder of the server is taken relative to the project."""
    here, there = tmp_path / "here", tmp_path / "there"
    one = portable_launch(stdio(cwd=str(here / "tools")), here)
    assert one == portable_launch(stdio(cwd=str(there / "tools")), there)
    assert one != portable_launch(stdio(cwd=str(there / "other")), there)


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_a_lock_that_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    """A clone may hold anything under that name."""
    path = tmp_path / "hub.lock"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="lock cannot be read"):
        read_lock(tmp_path)
