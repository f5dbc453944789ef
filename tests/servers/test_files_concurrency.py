"""Two changes of a file at the same time never lose one of them."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from hub_servers import files
from hub_servers.storage import INLINE_BYTES

EDITORS = st.lists(
    st.tuples(st.sampled_from(["edit", "write"]), st.integers(0, 1)), min_size=2, max_size=10
)


async def change(client: Client, kind: str, slot: int) -> None:
    """Fill one slot, either by an edit or by reading and writing the whole file until it works."""
    if kind == "edit":
        arguments = {"path": "a", "old": f"slot {slot}: -\n", "new": f"slot {slot}: done\n"}
        result = await client.call_tool("edit", arguments)
        assert not result.is_error, result.content
        return
    while True:
        seen = (await client.call_tool("read", {"path": "a"})).structured_content
        assert seen is not None
        content = seen["text"].replace(f"slot {slot}: -", f"slot {slot}: done") + "\n"
        arguments = {"path": "a", "content": content, "version": seen["version"]}
        if not (await client.call_tool("write", arguments)).is_error:
            return


@settings(deadline=None, max_examples=30)
@given(EDITORS)
async def test_changes_through_two_servers_are_all_kept(editors: list[tuple[str, int]]) -> None:
    """Edits and compare-and-swap writes, in any mixture, each fill their slot."""
    with tempfile.TemporaryDirectory() as folder, anyio.fail_after(20):
        root = Path(folder)
        (root / "a").write_text("".join(f"slot {slot}: -\n" for slot in range(len(editors))))
        async with (
            Client(files.create_server(root)) as first,
            Client(files.create_server(root), mode="legacy") as second,
            anyio.create_task_group() as tasks,
        ):
            for slot, (kind, server) in enumerate(editors):
                tasks.start_soon(change, (first, second)[server], kind, slot)
        expected = "".join(f"slot {slot}: done\n" for slot in range(len(editors)))
        assert (root / "a").read_text() == expected
        assert [one.name for one in root.iterdir()] == ["a"]


async def test_changes_of_a_large_file_are_all_kept(tmp_path: Path) -> None:
    """Those run in threads, so the locks count for real."""
    filler = "x" * INLINE_BYTES + "\n"
    (tmp_path / "a").write_text(filler + "".join(f"slot {slot}: -\n" for slot in range(20)))
    with anyio.fail_after(20):
        async with (
            Client(files.create_server(tmp_path)) as first,
            Client(files.create_server(tmp_path)) as second,
            anyio.create_task_group() as tasks,
        ):
            for slot in range(20):
                tasks.start_soon(change, (first, second)[slot % 2], "edit", slot)
    assert (tmp_path / "a").read_text().count("done") == 20


async def test_changes_from_two_processes_are_all_kept(
    tmp_path: Path, over_stdio: Callable[..., Client]
) -> None:
    """Two server processes hold their locks against each other."""
    (tmp_path / "a").write_text("".join(f"slot {slot}: -\n" for slot in range(60)))
    with anyio.fail_after(30):
        async with (
            over_stdio("files") as first,
            over_stdio("files", mode="legacy") as second,
            anyio.create_task_group() as tasks,
        ):
            for slot in range(60):
                kind = "write" if slot % 10 == 0 else "edit"
                tasks.start_soon(change, (first, second)[slot % 2], kind, slot)
    assert (tmp_path / "a").read_text().count("done") == 60


@pytest.mark.parametrize("mode", ["auto"], indirect=True)
async def test_of_two_that_create_one_file_only_one_succeeds(on_files: Any, tmp_path: Path) -> None:
    """The other one is told that it exists."""
    failed = []

    async def create(number: int) -> None:
        arguments = {"path": "new", "content": f"{number}" * 300_000}
        result = await on_files.client.call_tool("write", arguments)
        if result.is_error:
            failed.append(number)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(create, number)
    [winner] = {0, 1, 2, 3, 4} - set(failed)
    assert (tmp_path / "new").read_text() == f"{winner}" * 300_000
    assert [one.name for one in tmp_path.iterdir()] == ["new"]
