"""`read`, `write` and `edit` of the server `files`."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hub_servers.textfiles import version_of


async def test_read_shows_the_lines_as_they_are_and_the_version(
    on_files: Any, tmp_path: Path
) -> None:
    """The text can be used as ``old`` of an edit; the version stands in text and data."""
    (tmp_path / "a.py").write_text("x = 1\n\ty = '😀'\n")
    version = version_of((tmp_path / "a.py").read_bytes())
    text = await on_files("read", path="a.py")
    assert text == f"[a.py version {version}, lines 1-2 of 2]\nx = 1\n\ty = '😀'"
    data = await on_files.data("read", path=str(tmp_path / "a.py"))
    assert data == {
        "path": "a.py",
        "version": version,
        "first": 1,
        "last": 2,
        "total": 2,
        "text": "x = 1\n\ty = '😀'",
    }


async def test_read_goes_on_from_where_it_stopped(on_files: Any, tmp_path: Path) -> None:
    """Each page tells the next offset, and all pages together are the file."""
    lines = [f"line {number} " + "é" * 60 for number in range(2000)]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    pages = 0
    while len(seen) < 2000:
        data = await on_files.data("read", path="a.txt", offset=len(seen) + 1)
        seen += data["text"].split("\n")
        pages += 1
    assert seen == lines
    assert pages > 1
    text = await on_files("read", path="a.txt", offset=3, limit=2)
    assert "lines 3-4 of 2000" in text
    assert "[1996 more lines, from offset 5]" in text


async def test_a_line_that_is_too_long_is_cut_between_characters(
    on_files: Any, tmp_path: Path
) -> None:
    """A12: the cut is counted in code points and said."""
    (tmp_path / "a.txt").write_text("😀" * 50_000)
    data = await on_files.data("read", path="a.txt")
    assert data["text"] == "😀" * 40_000
    assert "10000 more characters" in await on_files("read", path="a.txt")


@pytest.mark.parametrize("mode", ["auto"], indirect=True)
async def test_a_large_file_is_read_in_pages_too(on_files: Any, tmp_path: Path) -> None:
    """Beyond the size that is handled at once, a thread does the work."""
    (tmp_path / "a.txt").write_text("0123456789\n" * 200_000)
    assert (await on_files.data("read", path="a.txt", offset=199_999))["last"] == 200_000


async def test_what_cannot_be_read_is_answered_clearly(on_files: Any, tmp_path: Path) -> None:
    """Each answer names the file as the caller knows it."""
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (tmp_path / "latin.txt").write_bytes("Grüße".encode("latin-1"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    assert "'logo.png' is a PNG image" in await on_files.refused("read", path="logo.png")
    assert "byte 2 is 0xfc" in await on_files.refused("read", path="latin.txt")
    assert "'folder': it is a folder" in await on_files.refused("read", path="folder")
    assert "'pipe': it is a device, pipe" in await on_files.refused("read", path="pipe")
    assert "'gone': No such file" in await on_files.refused("read", path="gone")
    assert "after the end" in await on_files.refused("read", path="empty", offset=2)
    assert "1 or more" in await on_files.refused("read", path="empty", limit=0)
    assert "not usable" in await on_files.refused("read", path="a\0b")
    assert "empty" in await on_files("read", path="empty")


@pytest.mark.parametrize("tool", ["read", "write", "edit", "list", "grep"])
async def test_nothing_leaves_the_root(on_files: Any, tmp_path: Path, tool: str) -> None:
    """Neither by a path nor through a symbolic link, whether or not the target exists."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "secret")
    (tmp_path / "dangling").symlink_to(outside / "new")
    rest = {
        "write": {"content": "x"},
        "edit": {"old": "secret", "new": "x"},
        "grep": {"pattern": "secret"},
    }.get(tool, {})
    for path in ("link/secret", "file", "dangling", "link"):
        answer = await on_files.refused(tool, path=path, **rest)
        assert "outside the root through a symbolic link" in answer
    for path in ("../x", str(outside / "secret"), "/etc/passwd", "a/../../x", f"{tmp_path}x"):
        assert "outside the root" in await on_files.refused(tool, path=path, **rest)
    assert (outside / "secret").read_text() == "secret"
    assert not (outside / "new").exists()


async def test_links_that_stay_inside_work(on_files: Any, tmp_path: Path) -> None:
    """The file that the link leads to is changed, and the link stays."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    await on_files("edit", path="link", old="old", new="new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


async def test_write_creates_only_what_is_not_there(on_files: Any, tmp_path: Path) -> None:
    """A new file needs no version; one that exists needs the current one."""
    assert "created sub/a.txt (3 bytes)" in await on_files("write", path="sub/a.txt", content="one")
    refusal = await on_files.refused("write", path="sub/a.txt", content="two")
    assert version_of(b"one") in refusal
    assert "read it" in refusal
    refusal = await on_files.refused("write", path="sub/a.txt", content="two", version="0" * 12)
    assert f"its version is {version_of(b'one')}" in refusal
    await on_files("write", path="sub/a.txt", content="two", version=version_of(b"one"))
    assert (tmp_path / "sub/a.txt").read_text() == "two"
    refusal = await on_files.refused("write", path="new", content="x", version="0" * 12)
    assert "does not exist" in refusal
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["a.txt", "sub"]


async def test_write_does_not_touch_folders(on_files: Any, tmp_path: Path) -> None:
    """Not the root, not one below, and no file becomes one."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for path in (".", "folder"):
        assert "it is a folder" in await on_files.refused("write", path=path, content="x")
    await on_files.refused("write", path="file/below", content="x")
    assert sorted(one.name for one in tmp_path.parent.glob(f"{tmp_path.name}*")) == [tmp_path.name]


async def test_a_change_keeps_mode_byte_order_mark_and_line_ends(
    on_files: Any, tmp_path: Path
) -> None:
    """An editor that does not mention them does not change them."""
    file = tmp_path / "run.bat"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    file.chmod(0o751)
    text = await on_files("read", path="run.bat")
    assert text.endswith(", CRLF, BOM]\none\ntwo")
    await on_files("edit", path="run.bat", old="one\ntwo", new="1\n2\n3")
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n"
    version = version_of(file.read_bytes())
    await on_files("write", path="run.bat", content="a\nb\n", version=version)
    assert file.read_bytes() == b"\xef\xbb\xbfa\r\nb\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


async def test_a_new_file_gets_the_usual_mode(on_files: Any, tmp_path: Path) -> None:
    """The one that the user's umask gives."""
    (tmp_path / "usual").touch()
    await on_files("write", path="new", content="x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


async def test_edit_wants_exactly_one_place_unless_all(on_files: Any, tmp_path: Path) -> None:
    """Otherwise it says where the places are, and changes nothing."""
    (tmp_path / "a").write_text("foo\nbar\nfoo\nfoo\n")
    refusal = await on_files.refused("edit", path="a", old="foo", new="x")
    assert "3 times in 'a' (lines 1, 3, 4)" in refusal
    assert (tmp_path / "a").read_text() == "foo\nbar\nfoo\nfoo\n"
    data = await on_files.data("edit", path="a", old="foo", new="x", all=True)
    assert data["replaced"] == 3
    assert data["lines"] == [1, 3, 4]
    assert (tmp_path / "a").read_text() == "x\nbar\nx\nx\n"


async def test_edit_tells_what_is_wrong_with_old(on_files: Any, tmp_path: Path) -> None:
    """Empty, equal to new, not there, there with other white space, or overlapping itself."""
    (tmp_path / "a").write_text("one\n\n  if x:\n    pass\naaa\n")
    assert "empty" in await on_files.refused("edit", path="a", old="", new="x")
    assert "the same" in await on_files.refused("edit", path="a", old="x", new="x")
    assert "not found" in await on_files.refused("edit", path="a", old="absent", new="x")
    refusal = await on_files.refused("edit", path="a", old="if x:\n  pass", new="x")
    assert "at line 3 it is there with other white space" in refusal
    assert "2 times" in await on_files.refused("edit", path="a", old="aa", new="x")


async def test_edit_checks_a_version_that_is_given(on_files: Any, tmp_path: Path) -> None:
    """So an edit can be made to depend on what was read."""
    (tmp_path / "a").write_text("one")
    refusal = await on_files.refused("edit", path="a", old="one", new="two", version="f" * 12)
    assert version_of(b"one") in refusal
    await on_files("edit", path="a", old="one", new="two", version=version_of(b"one"))
    assert (tmp_path / "a").read_text() == "two"


async def test_edit_leaves_a_file_that_is_not_text_alone(on_files: Any, tmp_path: Path) -> None:
    """What cannot be shown cannot be edited; it can be replaced by who knows its version."""
    data = "Grüße".encode("latin-1")
    (tmp_path / "a").write_bytes(data)
    assert "not UTF-8" in await on_files.refused("edit", path="a", old="Gr", new="x")
    assert (tmp_path / "a").read_bytes() == data
    await on_files("write", path="a", content="Grüße", version=version_of(data))
    assert (tmp_path / "a").read_text() == "Grüße"


async def test_a_read_only_file_is_not_replaced(
    on_files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although a rename would do it, the mode says no."""
    (tmp_path / "a").write_text("one")
    (tmp_path / "a").chmod(0o444)
    if os.access(tmp_path / "a", os.W_OK):
        # The super-user is never told no, so the answer has to be given here.
        monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert "read-only" in await on_files.refused("edit", path="a", old="one", new="two")
    assert (tmp_path / "a").read_text() == "one"


async def test_an_odd_file_name_is_shown_on_one_line(on_files: Any, tmp_path: Path) -> None:
    """Control characters and bytes that are not UTF-8 are escaped in every answer."""
    (tmp_path / "new\nline").touch()
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9")).touch()
    text = await on_files("list")
    assert "new\\nline" in text
    assert "caf\\xe9" in text
    assert "new\\nline" in await on_files("glob", pattern="new*")


async def test_wrong_arguments_never_reach_a_tool(on_files: Any) -> None:
    """The answer is an error that names the key."""
    assert "'path' is missing" in await on_files.refused("read")
    assert "unknown argument 'file'" in await on_files.refused("read", file="a")
    assert "unknown tool 'reed'" in await on_files.refused("reed", path="a")
