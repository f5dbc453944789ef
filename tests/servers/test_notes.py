"""The server `notes`: memory, scratchpad and to-do list."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from hub_servers import memory, notes


async def test_looking_creates_nothing(on_notes: Any, tmp_path: Path) -> None:
    """Files and folders come with the first memory."""
    assert await on_notes("memory", action="list") == "no memories"
    assert await on_notes("memory", action="search", text="x") == "no line matches"
    assert "No such file" in await on_notes.refused("memory", action="show", name="a")
    assert "No such file" in await on_notes.refused("memory", action="rm", name="a")
    assert "No such file" in await on_notes.refused("memory", action="edit", name="a", text="x")
    await on_notes("scratchpad", action="write", text="x")
    await on_notes("todo", action="write", items=[])
    assert list(tmp_path.iterdir()) == []


async def test_a_memory_is_added_shown_edited_and_removed(on_notes: Any, tmp_path: Path) -> None:
    """It is a markdown file that people can read and change as well."""
    assert await on_notes("memory", action="add", name="build", text="# Build\nUse make.")
    assert await on_notes("memory", action="add", name="build.md", text="Never use npm.")
    file = tmp_path / ".hub/memory/build.md"
    assert file.read_text() == "# Build\nUse make.\n\nNever use npm.\n"
    assert await on_notes("memory", action="list") == "build: Build (34 characters)"
    await on_notes("memory", action="edit", name="build", old="make", text="make all")
    assert "make all" in await on_notes("memory", action="show", name="build")
    refusal = await on_notes.refused("memory", action="edit", name="build", old="e", text="x")
    assert "times in build, not once" in refusal
    await on_notes("memory", action="edit", name="build", text="All new")
    assert file.read_text() == "All new\n"
    await on_notes("memory", action="rm", name="build")
    assert not file.exists()


async def test_memory_is_searched_by_words(on_notes: Any, tmp_path: Path) -> None:
    """All of them must be in one line, in any case and order."""
    await on_notes("memory", action="add", name="a", text="Use MAKE to build\nbuild later")
    await on_notes("memory", action="add", name="b", text="make tea")
    data = await on_notes.data("memory", action="search", text="build make")
    assert data["matches"] == [{"name": "a", "line": 1, "text": "Use MAKE to build"}]
    assert await on_notes("memory", action="search", text="tea") == "b:1:make tea"


async def test_a_memory_cannot_leave_its_folder(on_notes: Any, tmp_path: Path) -> None:
    """Neither by its name nor through a link."""
    for name in ("../x", "a/b", "", ".hidden", "/etc/passwd", "a" * 100, "a\0"):
        await on_notes.refused("memory", action="add", name=name, text="x")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / ".hub").mkdir()
    (tmp_path / ".hub/memory").symlink_to(outside)
    refusal = await on_notes.refused("memory", action="add", name="a", text="x")
    assert "outside the root through a symbolic link" in refusal
    assert list(outside.iterdir()) == []


async def test_memory_is_bounded(
    on_notes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the size of one and in their number; the message says what to do."""
    await on_notes("memory", action="add", name="a", text="x" * 15_000)
    refusal = await on_notes.refused("memory", action="add", name="a", text="x" * 15_000)
    assert "limit is 20000; shorten it" in refusal
    monkeypatch.setattr(memory, "MAX_FILES", 1)
    refusal = await on_notes.refused("memory", action="add", name="b", text="x")
    assert "remove some first" in refusal


async def test_what_an_action_needs_is_named(on_notes: Any) -> None:
    """The action, and the argument that is missing."""
    assert "show needs 'name'" in await on_notes.refused("memory", action="show")
    assert "add needs 'text'" in await on_notes.refused("memory", action="add", name="a")
    assert "search needs 'text'" in await on_notes.refused("memory", action="search")
    assert "write needs 'text'" in await on_notes.refused("scratchpad", action="write")
    assert "write needs 'items'" in await on_notes.refused("todo", action="write")
    assert "one of show, write" in await on_notes.refused("todo", action="add")


async def test_the_scratchpad_is_written_appended_shown_and_cleared(on_notes: Any) -> None:
    """It starts empty and is bounded."""
    assert await on_notes("scratchpad", action="show") == "the scratchpad is empty"
    await on_notes("scratchpad", action="append", text="one")
    await on_notes("scratchpad", action="append", text="two")
    assert await on_notes("scratchpad", action="show") == "one\ntwo"
    await on_notes("scratchpad", action="write", text="three")
    assert (await on_notes.data("scratchpad", action="show"))["text"] == "three"
    refusal = await on_notes.refused("scratchpad", action="append", text="x" * 50_000)
    assert "limit is 50000" in refusal
    await on_notes("scratchpad", action="clear")
    assert await on_notes("scratchpad", action="show") == "the scratchpad is empty"


async def test_the_todo_list_is_replaced_as_a_whole(on_notes: Any) -> None:
    """The answer is the list as it is now, one item a line."""
    assert await on_notes("todo", action="show") == "the list is empty"
    items = [
        {"text": "look", "status": "done"},
        {"text": "write\n  it", "status": "doing"},
        {"text": "test", "status": "pending"},
    ]
    text = await on_notes("todo", action="write", items=items)
    assert text == "[x] look\n[>] write it\n[ ] test"
    assert await on_notes("todo", action="show") == text
    assert len((await on_notes.data("todo", action="show"))["items"]) == 3
    for bad in ({"text": " ", "status": "done"}, {"text": "x" * 501, "status": "done"}):
        assert "item 1 has" in await on_notes.refused("todo", action="write", items=[bad])
    wrong = [{"text": "x", "status": "later"}]
    assert "'items[0].status'" in await on_notes.refused("todo", action="write", items=wrong)
    many = [{"text": "x", "status": "done"}] * 201
    assert "limit is 200" in await on_notes.refused("todo", action="write", items=many)
    assert await on_notes("todo", action="show") == text


async def test_two_instances_share_nothing_but_memory(tmp_path: Path, caller: Any) -> None:
    """Each has its own scratchpad and list."""
    async with (
        Client(notes.create_server(tmp_path)) as first,
        Client(notes.create_server(tmp_path), mode="legacy") as second,
    ):
        await caller(first)("scratchpad", action="write", text="mine")
        await caller(first)("memory", action="add", name="a", text="ours")
        assert "empty" in await caller(second)("scratchpad", action="show")
        assert "ours" in await caller(second)("memory", action="show", name="a")


async def test_memories_added_at_once_are_all_kept(on_notes: Any, tmp_path: Path) -> None:
    """None overwrites another."""
    async with anyio.create_task_group() as tasks:
        for number in range(20):

            async def add(number: int = number) -> None:
                await on_notes("memory", action="add", name="a", text=f"line {number}")

            tasks.start_soon(add)
    text = (tmp_path / ".hub/memory/a.md").read_text()
    assert sorted(text.split("\n\n")) == sorted(
        f"line {number}" + ("\n" if text.endswith(f"line {number}\n") else "")
        for number in range(20)
    )


async def test_with_a_state_folder_notes_outlive_the_server(
    tmp_path: Path, over_stdio: Callable[..., Client], caller: Any
) -> None:
    """They are written with mode 0600, and a damaged file is named."""
    state = tmp_path / "state" / "notes"
    items = [{"text": "go on", "status": "doing"}]
    with anyio.fail_after(30):
        async with over_stdio("notes", "--state", str(state)) as client:
            assert not state.exists()
            await caller(client)("scratchpad", action="write", text="kept")
            await caller(client)("todo", action="write", items=items)
        assert {stat.S_IMODE(one.stat().st_mode) for one in state.iterdir()} == {0o600}
        async with over_stdio("notes", "--state", str(state), mode="legacy") as client:
            assert await caller(client)("scratchpad", action="show") == "kept"
            assert await caller(client)("todo", action="show") == "[>] go on"
    (state / "todo.json").write_text('[{"text": 3}]')
    async with Client(notes.create_server(tmp_path, state=state)) as client:
        assert "todo.json' is damaged" in await caller(client).refused("todo", action="show")
        await caller(client)("todo", action="write", items=items)
        assert await caller(client)("todo", action="show") == "[>] go on"
