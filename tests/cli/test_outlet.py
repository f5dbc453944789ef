"""A descriptor that takes text as fast as its reader does."""

import os
from pathlib import Path

import anyio
import anyio.to_thread

from hub.cli.outlet import HIGH_WATER, Outlet


async def read_all(descriptor: int, size: int = 65536) -> bytes:
    """Read a pipe to its end, in a thread."""

    def read() -> bytes:
        parts = []
        while part := os.read(descriptor, size):
            parts.append(part)
        return b"".join(parts)

    return await anyio.to_thread.run_sync(read)


async def test_a_slow_reader_gets_every_byte_in_order() -> None:
    """Far more than a pipe holds arrives whole (A51)."""
    reading, writing = os.pipe()
    outlet = Outlet(writing)
    lines = [f"line {number} {'x' * 200}\n" for number in range(5000)]
    received = b""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def read() -> None:
                nonlocal received
                received = await read_all(reading, size=1000)

            group.start_soon(outlet.pump)
            for line in lines[:2000]:
                outlet.put(line)
            group.start_soon(read)
            for line in lines[2000:]:
                outlet.put(line)
                await outlet.room()
            await outlet.drained()
            os.close(writing)
            group.cancel_scope.cancel()
    os.close(reading)
    assert received.decode() == "".join(lines)


async def test_nobody_reading_blocks_neither_the_loop_nor_a_cancel() -> None:
    """A full pipe makes writers wait where they can be cancelled."""
    reading, writing = os.pipe()
    outlet = Outlet(writing)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(outlet.pump)
            outlet.put("x" * (2 * HIGH_WATER))
            with anyio.move_on_after(0.05) as scope:
                await outlet.room()
            assert scope.cancelled_caught
            group.cancel_scope.cancel()
    os.close(reading)
    os.close(writing)


async def test_a_reader_that_leaves_is_noticed_once_and_ends_every_wait() -> None:
    """A broken pipe calls back, drops the rest, and never raises."""
    reading, writing = os.pipe()
    outlet = Outlet(writing)
    calls: list[str] = []
    outlet.on_broken = lambda: calls.append("gone")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(outlet.pump)
            outlet.put("x" * (2 * HIGH_WATER))
            await anyio.wait_all_tasks_blocked()
            os.close(reading)
            await outlet.room()
            await outlet.drained()
            outlet.put("more")
            await outlet.drained()
    assert (calls, outlet.broken) == (["gone"], True)
    os.close(writing)


async def test_a_plain_file_takes_all_at_once(tmp_path: Path) -> None:
    """Files cannot be waited for, and need not be."""
    path = tmp_path / "out"
    with path.open("wb") as file, anyio.fail_after(10):
        outlet = Outlet(file.fileno())
        async with anyio.create_task_group() as group:
            group.start_soon(outlet.pump)
            outlet.put("é" * HIGH_WATER)
            await outlet.drained()
            group.cancel_scope.cancel()
    assert path.read_text(encoding="utf-8") == "é" * HIGH_WATER
