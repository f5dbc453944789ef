"""What servers listed the last time: rubbish is tolerated, changed sources are noticed."""

import json
import os
import stat
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.catalog.cache import ListingCache
from hub.core.ports import RemoteTool, ServerListing
from hub.core.servers import ServerSpec

SPEC = ServerSpec("docs", "stdio", command="docs-server", args=("--fast",))
LISTING = ServerListing(
    server="docs",
    protocol="2026-07-28",
    tools=(
        RemoteTool("find", "Finds é", {"type": "object"}, {"type": "object"}, "Find", {"a": 1}),
    ),
    version="1",
    instructions="Be kind.",
    warnings=("odd",),
)


def only_file(folder: Path) -> Path:
    """The one file of a cache."""
    (found,) = folder.iterdir()
    return found


def test_what_was_saved_is_loaded(tmp_path: Path):
    """All of it, under whatever name the server has by now."""
    cache = ListingCache(tmp_path / "c")
    assert cache.load(SPEC) is None
    cache.save(SPEC, LISTING)
    assert ListingCache(tmp_path / "c").load(SPEC) == LISTING
    renamed = replace(SPEC, name="manual")
    assert cache.load(renamed) == replace(LISTING, server="manual")


def test_another_launch_is_another_server(tmp_path: Path):
    """Changed arguments, command or url: what was known does not hold."""
    cache = ListingCache(tmp_path)
    cache.save(SPEC, LISTING)
    assert cache.load(replace(SPEC, args=("--slow",))) is None
    assert cache.load(replace(SPEC, env={"KEY": "x"})) is None


def test_files_are_for_their_owner_only(tmp_path: Path):
    """0600 in a folder that others cannot look into."""
    cache = ListingCache(tmp_path / "c")
    cache.save(SPEC, LISTING)
    assert stat.S_IMODE(only_file(tmp_path / "c").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"format": 0}',
        b"[" * 100_000,
        {"tools": None},
        {"tools": [{"name": 5}]},
        {"tools": [{"name": "a", "input_schema": "x"}]},
        {"tools": [{"name": "a", "output_schema": "x"}]},
        {"tools": ["a"]},
        {"protocol": None},
        {"warnings": [1]},
        {"format": 99},
    ],
    ids=lambda rubbish: str(rubbish)[:40],
)
def test_rubbish_counts_as_unknown(tmp_path: Path, rubbish: bytes | dict[str, object]):
    """A cache may be damaged, written by another version or by somebody else."""
    cache = ListingCache(tmp_path)
    cache.save(SPEC, LISTING)
    file = only_file(tmp_path)
    if isinstance(rubbish, dict):
        rubbish = json.dumps({**json.loads(file.read_bytes()), **rubbish}).encode()
    file.write_bytes(rubbish)
    assert cache.load(SPEC) is None


def test_a_cache_that_cannot_be_written_is_no_fault(tmp_path: Path):
    """A file is where the folder should be, or there is no folder at all."""
    (tmp_path / "c").write_text("in the way")
    ListingCache(tmp_path / "c" / "d").save(SPEC, LISTING)
    ListingCache(None).save(SPEC, LISTING)
    assert ListingCache(None).load(SPEC) is None


def test_bundled_servers_are_known_from_the_start():
    """The first run asks nobody before its first model request, and needs no cache folder."""
    for name, tool in (("files", "read"), ("shell", "run"), ("notes", "todo")):
        listing = ListingCache(None).load(ServerSpec("x", "memory", command=name))
        assert listing is not None
        assert listing.server == "x"
        assert tool in {tool.name for tool in listing.tools}
    assert ListingCache(None).load(ServerSpec("x", "memory", command="other")) is None


def test_changed_sources_of_bundled_servers_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What was kept for the old sources does not hold for the new ones."""
    package = tmp_path / "hub_servers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    source = package / "notes.py"
    source.write_text("one")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "hub_servers", raising=False)
    spec = ServerSpec("notes", "memory", command="notes")
    changed = replace(LISTING, server="notes")
    ListingCache(tmp_path / "c").save(spec, changed)
    assert ListingCache(tmp_path / "c").load(spec) == changed
    source.write_text("two!")
    os.utime(source, ns=(1, 1))
    assert ListingCache(tmp_path / "c").load(spec) != changed


def test_loading_the_bundled_servers_takes_no_time():
    """Three of them in a few milliseconds, the best of ten tries."""
    specs = [ServerSpec(name, "memory", command=name) for name in ("files", "shell", "notes")]
    best = 1.0
    for _ in range(10):
        began = time.perf_counter()
        cache = ListingCache(Path("/nowhere-at-all"))
        assert all(cache.load(spec) for spec in specs)
        best = min(best, time.perf_counter() - began)
    assert best < 0.003
