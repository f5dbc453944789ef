"""One server put into a settings file or taken out, and nothing else of the file touched."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub.config.edit import put_servers, remove_server, server_entries
from hub.core.errors import ConfigError

TIME = {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "${env:TZ}"}}
TIME_LINES = """\
  time:
    command: uvx
    args: [mcp-server-time]
    env:
      TZ: ${env:TZ}
"""
COMMENTED = """\
# mine
model: "gpt-5.1"   # quoted, and it stays so

servers:   # what I use
  # version control
  git: {command: uvx, args: [mcp-server-git]}  # flow

  docs:
    url: https://h.test/mcp
    # headers come later

# the rest
limits: {steps: 9}
"""


def put(path: Path, text: str, name: str = "time", entry: Mapping[str, Any] = TIME) -> str:
    path.write_bytes(text.encode())
    put_servers(path, {name: entry}, private=True)
    return path.read_bytes().decode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_a_server_comes_behind_the_last_one_and_nothing_else_moves(file: Path) -> None:
    """Comments, order and quotes stay as they are."""
    after = put(file, COMMENTED)
    at = COMMENTED.index("    # headers come later")
    assert after == COMMENTED[:at] + TIME_LINES + COMMENTED[at:]
    assert server_entries(file)["time"] == TIME


def test_a_server_is_taken_out_with_its_own_lines_only(file: Path) -> None:
    """A comment above it may be about more than this one."""
    file.write_text(COMMENTED)
    remove_server(file, "docs")
    lost = "  docs:\n    url: https://h.test/mcp\n"
    assert file.read_text() == COMMENTED.replace(lost, "")
    remove_server(file, "git")
    assert file.read_text().count("\n") == COMMENTED.count("\n") - 3
    assert server_entries(file) == {}


def test_a_server_that_stands_there_is_replaced_in_its_place(file: Path) -> None:
    """What stands behind it on its last line stays."""
    after = put(file, COMMENTED, "git", {"url": "https://g.test"})
    old = "git: {command: uvx, args: [mcp-server-git]}  # flow"
    assert after == COMMENTED.replace(old, "git:\n    url: https://g.test  # flow")


def test_a_file_that_does_not_exist_is_made_with_its_folder(tmp_path: Path) -> None:
    """For the owner alone where it may hold secrets."""
    mine, shared = tmp_path / "a" / "b" / "config.yaml", tmp_path / "p" / ".hub" / "config.yaml"
    put_servers(mine, {"time": TIME}, private=True)
    put_servers(shared, {"time": TIME, "x": {"command": "x"}}, private=False)
    assert mine.read_text() == f"servers:\n{TIME_LINES}"
    assert shared.read_text() == f"servers:\n{TIME_LINES}  x:\n    command: x\n"
    assert mine.stat().st_mode & 0o777 == 0o600
    assert mine.parent.stat().st_mode & 0o777 == 0o700
    assert shared.stat().st_mode & 0o044 == 0o044


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    """Settings often live in a repository of dot files."""
    real, link = tmp_path / "real.yaml", tmp_path / "config.yaml"
    real.write_text("model: m\n")
    real.chmod(0o640)
    link.symlink_to(real)
    put_servers(link, {"a": {"command": "x"}}, private=False)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    put_servers(link, {"b": {"command": "x"}}, private=True)
    assert real.stat().st_mode & 0o777 == 0o600
    assert list(server_entries(link)) == ["a", "b"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "servers:\n  a:\n    command: x\n"),
        ("# only words", "# only words\nservers:\n  a:\n    command: x\n"),
        ("model: m", "model: m\nservers:\n  a:\n    command: x\n"),
        ("servers:\nmodel: m\n", "servers:\n  a:\n    command: x\nmodel: m\n"),
        ("servers: # none\n", "servers: # none\n  a:\n    command: x\n"),
        ("servers: {}  # none\nmodel: m\n", "servers: # none\n  a:\n    command: x\nmodel: m\n"),
        ("model: m\n...\n", "model: m\nservers:\n  a:\n    command: x\n...\n"),
        ("servers: ~", "servers:\n  a:\n    command: x\n"),
        ("servers:\n    b: {}\n", "servers:\n    b: {}\n    a:\n      command: x\n"),
        ("servers: {b: {command: y}}\n", 'servers: {b: {command: y}, "a": {"command": "x"}}\n'),
        ("{model: m}\n", '{model: m, "servers": {"a": {"command": "x"}}}\n'),
        ("{servers: {}}\n", '{servers: {"a": {"command": "x"}}}\n'),
        ("servers:\r\n  b: {}\r\n", "servers:\r\n  b: {}\r\n  a:\r\n    command: x\r\n"),
        ("\ufeffmodel: m\n", "\ufeffmodel: m\nservers:\n  a:\n    command: x\n"),
        (
            "---\nservers:\n  b:\n    url: h\n",
            "---\nservers:\n  b:\n    url: h\n  a:\n    command: x\n",
        ),
        (
            "servers:\n  b:\n    command: |\n      sh\n\nmodel: m\n",
            "servers:\n  b:\n    command: |\n      sh\n\n  a:\n    command: x\nmodel: m\n",
        ),
    ],
)
def test_every_usual_form_of_a_file_can_take_a_server(file: Path, before: str, after: str) -> None:
    """Also files of Windows, flow style and empty sections."""
    assert put(file, before, "a", {"command": "x"}) == after


@pytest.mark.parametrize(
    "text",
    [
        "x: &s {b: {command: y}}\nservers: *s\n",
        "servers: [a]\n",
        "model: m\n---\nmodel: n\n",
        "servers:\n  b: &b {command: y}\n  c: *b\n",
    ],
)
def test_what_cannot_be_done_cleanly_is_refused_with_the_lines_to_paste(
    file: Path, text: str
) -> None:
    """The file is left as it is."""
    name = "b" if "&b" in text else "a"
    with pytest.raises(ConfigError) as caught:
        put(file, text, name, {"command": "x"})
    assert file.read_text() == text
    if "---" not in text:
        assert f"servers:\n  {name}:\n    command: x" in caught.value.remedy


def test_a_broken_file_is_not_touched(file: Path) -> None:
    """Its fault is told with its place."""
    with pytest.raises(ConfigError) as caught:
        put(file, "model: [\n")
    assert caught.value.where.startswith(f"{file}:")
    assert file.read_text() == "model: [\n"


def test_the_only_server_in_braces_can_be_taken_out(file: Path) -> None:
    """With its comma, wherever that stands."""
    for text, after in (
        ("servers: {a: {}}\n", "servers: {}\n"),
        ("servers: {a: {}, b: {}}\n", "servers: {b: {}}\n"),
        ("servers: {b: {}, a: {}}\n", "servers: {b: {}}\n"),
        ("servers: {a: {},}\n", "servers: {}\n"),
    ):
        file.write_text(text)
        remove_server(file, "a")
        assert file.read_text() == after


def test_a_server_that_others_refer_to_cannot_be_taken_out(file: Path) -> None:
    """The anchor would be lost."""
    text = "servers:\n  a: &a {command: x}\n  b: *a\n"
    file.write_text(text)
    with pytest.raises(ConfigError, match="cannot be taken out"):
        remove_server(file, "a")
    assert file.read_text() == text


NAMES = st.sampled_from(["a", "b-c", "D_1", "no", "1"])
WORDS = st.text(max_size=12).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
ENTRIES = st.fixed_dictionaries(
    {"command": WORDS},
    optional={
        "args": st.lists(WORDS, max_size=3),
        "env": st.dictionaries(NAMES, WORDS, max_size=2),
        "enabled": st.booleans(),
        "start_timeout": st.integers(1, 9) | st.floats(0.5, 9),
    },
)
COMMENTS = st.sampled_from(["", "  # why", " #"])
VALUES = st.sampled_from([
    *("{}", "{command: x}", "\n    command: x", "\n    # first\n    command: 'x'\n    args: [a]"),
    *("\n    args:\n    - a\n    - b", "\n    command: >\n      long\n\n      text", ""),
    *("\n    env: {A: '}'}", "\n    command: |+\n      x\n\n", '\n    command: "a\\\n      b"'),
])
LINES = st.sampled_from(["", "# words", "    # deep words", "  # words: {}"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """Return the text of a settings file in some style."""
    parts = draw(st.lists(LINES, max_size=2))
    if draw(st.booleans()):
        parts.append(f"model: m{draw(COMMENTS)}")
    if draw(st.booleans()):
        parts.append(f"servers:{draw(COMMENTS)}")
        for name in draw(st.lists(NAMES, unique=True, max_size=3)):
            value = draw(VALUES)
            tail = "" if value.endswith("\n") or "text" in value else draw(COMMENTS)
            parts.append(f"  {name!r}: {value}{tail}" if value else f"  {name!r}:{tail}")
            parts += draw(st.lists(LINES, max_size=2))
    if draw(st.booleans()):
        parts.append("limits:\n  steps: 9")
    return "\n".join(parts) + draw(st.sampled_from(["", "\n", "\n\n", "\n# end"]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=files(), name=NAMES, entry=ENTRIES)
def test_whatever_the_file_looks_like_only_the_server_changes(
    file: Path, text: str, name: str, entry: dict[str, Any]
) -> None:
    """An addition is one piece that is put in, and taking it out gives the old file back."""
    before = yaml.safe_load(text) or {}
    had = {str(key) for key in before.get("servers") or {}}
    try:
        after = put(file, text, name, entry)
    except ConfigError:
        # A text that runs to the very end of the file would gain a line end.
        assert text.endswith("text")
        assert file.read_bytes() == text.encode()
        return
    expected = {**before, "servers": {**(before.get("servers") or {}), name: entry}}
    assert yaml.safe_load(after) == expected
    if name not in had:
        head = next(
            (i for i, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text)
        )
        assert after.endswith(text[head:]) or text[head:].strip("\n ") == ""
        remove_server(file, name)
        words = file.read_text(encoding="utf-8").split()
        if "servers:" not in text:
            words.remove("servers:")
        assert words == text.split()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=files(), name=NAMES)
def test_whatever_the_file_looks_like_only_the_lines_of_the_server_go(
    file: Path, text: str, name: str
) -> None:
    """Every line that is left was there before, in the same order."""
    before = yaml.safe_load(text) or {}
    servers = {str(key): value for key, value in (before.get("servers") or {}).items()}
    file.write_bytes(text.encode())
    try:
        remove_server(file, name)
    except ConfigError:
        # Empty lines behind the server may belong to a text above it, which keeps all of them.
        assert name not in servers or "|+" in text
        assert file.read_bytes() == text.encode()
        return
    del servers[name]
    after = file.read_text()
    data = yaml.safe_load(after)
    assert (data.get("servers") or {}) == servers
    lines = iter(text.split("\n"))
    assert all(line in lines for line in after.rstrip("\n").split("\n"))
