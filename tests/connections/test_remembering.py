"""What a server speaks is found out once for each launch and version, and kept with its record."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.connections.records import FileRecords, Record, read_record
from hub.core.servers import ServerSpec
from hub.testing.faulty.launch import FaultyLog
from tests.connections.pools import echoes, faulty, open_pool

NEW, OLD = "2026-07-28", "2025-11-25"


async def used(spec: ServerSpec, tmp_path: Path) -> Record:
    """The record of a server after one run of a hub that called it."""
    async with open_pool(spec, workspace=tmp_path, state=tmp_path / "state") as pool:
        assert await echoes(pool, "a")
    record = read_record(tmp_path / "state", spec)
    assert record is not None
    return record


@pytest.mark.parametrize(
    ("knobs", "protocol", "first", "second"),
    [
        (("discover=exit",), OLD, 2, 1),
        (("discover=silent",), OLD, 1, 1),
        (("discover=invalid_params",), OLD, 1, 1),
        (("era=both",), NEW, 1, 1),
    ],
)
async def test_the_next_run_does_not_ask_again(
    tmp_path: Path, knobs: tuple[str, ...], protocol: str, first: int, second: int
):
    """Four ways to answer the probe; the second run starts once and asks none of them (H31)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", *knobs, log=tmp_path / "log", start=3)
    record = await used(spec, tmp_path)
    assert (record.protocol, record.greeting) == (protocol, protocol)
    assert len(log.events("start")) == first
    asked = len(log.events("request", method="server/discover"))
    await used(spec, tmp_path)
    assert len(log.events("start")) == first + second
    if protocol == OLD:
        assert len(log.events("request", method="server/discover")) == asked


async def test_another_version_of_a_server_is_asked_again(tmp_path: Path):
    """It was greeted as the older one, answered with a new version, and may know more (H31)."""
    log, starts = FaultyLog(tmp_path / "log"), tmp_path / "n"
    knobs = ("server_version@1=1.0", "server_version@2-=2.0", "discover@1-2=error", "era@3-=both")
    spec = faulty("a", f"starts={starts}", *knobs, log=tmp_path / "log")
    assert (await used(spec, tmp_path)).greeting == OLD
    second = await used(spec, tmp_path)
    assert (second.version, second.protocol, second.greeting) == ("2.0", OLD, "")
    assert len(log.events("request", method="server/discover")) == 1
    third = await used(spec, tmp_path)
    assert (third.protocol, third.greeting) == (NEW, NEW)
    assert len(log.events("start")) == 3


async def test_what_is_remembered_of_one_launch_is_not_of_another(tmp_path: Path):
    """Other arguments are another server (H31)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "discover=exit", log=tmp_path / "log")
    await used(spec, tmp_path)
    await used(replace(spec, args=(*spec.args, "--knob", "crlf")), tmp_path)
    assert len(log.events("start")) == 4


async def test_a_record_of_a_server_that_has_moved_on_is_no_obstacle(tmp_path: Path):
    """Remembered as one of the older era, it now speaks only the newer one (H31)."""
    spec = faulty("a", "era=modern")
    FileRecords(tmp_path / "state").write(spec, Record("a", greeting=OLD, version="0.1"))
    assert (await used(spec, tmp_path)).greeting == NEW
