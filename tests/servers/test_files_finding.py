"""`list`, `glob` and `grep` of the server `files`."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from hub_servers import find_tools, grep_tool
from hub_servers.searching import Query, Totals, is_simple, search
from hub_servers.walking import Budget, ScanStopped, Walk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project that is a Git repository."""
    files = {
        "src/app.py": "import os\n\ndef main():\n    return os.name\n",
        "src/lib/text.py": "def cut():\n    pass\n",
        "README.md": "# Title\nSee src.\n",
        "build/out.py": "def built(): pass\n",
        "node_modules/x/index.js": "def x",
        ".gitignore": "build/\n",
        ".git/config": "def git\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


async def test_list_shows_a_tree_with_sizes(on_files: Any, tree: Path) -> None:
    """What is ignored is named, not hidden without a word."""
    (tree / "link").symlink_to("README.md")
    assert (await on_files("list")).split("\n") == [
        "./",
        "  .gitignore  7",
        "  README.md  17",
        "  link@",
        "  src/",
        "    app.py  42",
        "    lib/",
        "[ignored: .git/, build/, node_modules/]",
    ]
    data = await on_files.data("list", path="src", depth=1)
    assert data["entries"] == [
        {"path": "src/app.py", "kind": "file", "size": 42},
        {"path": "src/lib", "kind": "dir"},
    ]


async def test_list_of_an_ignored_folder_shows_it(on_files: Any, tree: Path) -> None:
    """Who names it wants to see it."""
    assert "out.py" in await on_files("list", path="build")
    (tree / "void").mkdir()
    assert await on_files("list", path="void") == "void/ (nothing to show)"


async def test_list_is_capped_and_says_how_much_more(on_files: Any, tmp_path: Path) -> None:
    """The count is exact, so a caller knows what to narrow."""
    for number in range(find_tools.MAX_ENTRIES + 25):
        (tmp_path / f"{number:04}").touch()
    assert "[25 more entries; " in await on_files("list")
    assert len((await on_files.data("list"))["entries"]) == find_tools.MAX_ENTRIES


async def test_list_wants_a_folder_and_a_sensible_depth(on_files: Any, tree: Path) -> None:
    """A file is for read, and what is not there is said."""
    assert "is a file; use read" in await on_files.refused("list", path="README.md")
    assert "No such file" in await on_files.refused("list", path="gone")
    assert "from 1 to 20" in await on_files.refused("list", depth=0)


async def test_glob_finds_paths_in_order(on_files: Any, tree: Path) -> None:
    """Ignored files are left out; an absolute pattern inside the root works."""
    data = await on_files.data("glob", pattern="*.py")
    assert data == {"files": ["src/app.py", "src/lib/text.py"], "more": 0}
    assert await on_files("glob", pattern="src/*.py") == "src/app.py"
    assert await on_files("glob", pattern=f"{tree}/src/*.py") == "src/app.py"
    assert await on_files("glob", pattern="*.rs") == "no file matches"


async def test_glob_is_capped_and_says_how_much_more(on_files: Any, tmp_path: Path) -> None:
    """Both by the number of paths and by the characters of the answer."""
    for number in range(find_tools.MAX_PATHS + 7):
        (tmp_path / f"{number:04}-{'x' * 100}").touch()
    data = await on_files.data("glob", pattern="*")
    assert 0 < len(data["files"]) < find_tools.MAX_PATHS
    assert len(data["files"]) + data["more"] == find_tools.MAX_PATHS + 7
    assert len(await on_files("glob", pattern="*")) < 31_000


@pytest.mark.parametrize("pattern", [r"def \w+", r"(?:def) \w+", "def"])
async def test_grep_shows_file_line_and_text(on_files: Any, tree: Path, pattern: str) -> None:
    """The simple way and the killable one answer alike."""
    text = await on_files("grep", pattern=pattern)
    assert text == "src/app.py:3:def main():\nsrc/lib/text.py:1:def cut():"
    data = await on_files.data("grep", pattern=pattern, path="src/lib")
    assert data == {
        "matches": [{"path": "src/lib/text.py", "line": 1, "text": "def cut():"}],
        "more": 0,
        "files": 1,
    }


@pytest.mark.parametrize("pattern", ["os", "(?:os)"])
async def test_grep_shows_lines_around_a_match(on_files: Any, tree: Path, pattern: str) -> None:
    """Context is marked by another sign, gaps by a line."""
    text = await on_files("grep", pattern=pattern, context=1, path="src/app.py")
    assert text == (
        "src/app.py:1:import os\nsrc/app.py-2-\nsrc/app.py-3-def main():\n"
        "src/app.py:4:    return os.name"
    )
    (tree / "far").write_text("os\n" + "\n" * 5 + "os\n")
    assert "\n--\n" in await on_files("grep", pattern=pattern, context=1, path="far")
    data = await on_files.data("grep", pattern=pattern, context=1, path="far")
    assert [row.get("context", False) for row in data["matches"]] == [False, True, True, False]


async def test_grep_narrows_by_glob_case_and_limit(on_files: Any, tree: Path) -> None:
    """What is beyond the limit is counted."""
    assert await on_files("grep", pattern="TITLE", ignore_case=True) == "README.md:1:# Title"
    assert await on_files("grep", pattern="TITLE") == "no line matches"
    assert await on_files("grep", pattern="e", glob="*.md", limit=1) == (
        "README.md:1:# Title\n[1 more matching lines; narrow the pattern or the path]"
    )
    assert await on_files("grep", pattern="def", path="build/out.py") == (
        "build/out.py:1:def built(): pass"
    )


async def test_grep_says_what_is_wrong_with_its_arguments(on_files: Any, tree: Path) -> None:
    """A pattern that does not compile is an answer, not a crash."""
    assert "not a regular expression" in await on_files.refused("grep", pattern="(")
    assert "longer than" in await on_files.refused("grep", pattern="x" * 2000)
    assert "empty" in await on_files.refused("grep", pattern="x", glob="")
    assert "from 1 to" in await on_files.refused("grep", pattern="x", limit=0)
    assert "No such file" in await on_files.refused("grep", pattern="x", path="gone")


@pytest.mark.parametrize("pattern", ["needle", "(needle)"])
async def test_grep_reads_odd_files_safely(on_files: Any, tmp_path: Path, pattern: str) -> None:
    """Binary files are skipped, other encodings escaped, long lines cut around the match."""
    (tmp_path / "binary").write_bytes(b"needle\0")
    (tmp_path / "latin").write_bytes("needle Grüße\r\n".encode("latin-1"))
    (tmp_path / "long").write_text("😀" * 5000 + "needle" + "é" * 5000)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    latin, long = (await on_files.data("grep", pattern=pattern))["matches"]
    assert latin["text"] == r"needle Gr\xfc\xdfe"
    assert long["text"] == "…" + "😀" * 100 + "needle" + "é" * 294 + "…"


async def test_a_catastrophic_pattern_is_ended(
    on_files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matches found before are shown, and the server goes on working meanwhile."""
    monkeypatch.setattr(grep_tool, "SEARCH_SECONDS", 1.0)
    (tmp_path / "a").write_text("aaab\n")
    (tmp_path / "b").write_text("a" * 5000 + "\n")
    began = time.monotonic()
    results: list[str] = []

    async def grep() -> None:
        results.append(await on_files("grep", pattern="(a+)+b"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(grep)
        await on_files("read", path="a")
        assert time.monotonic() - began < 0.9
    assert results == ["a:1:aaab\n[stopped because it took too long: there may be more; narrow it]"]


async def test_a_cancelled_grep_leaves_no_process(
    on_files: Any,
    tmp_path: Path,
    children_of: Callable[[int, str], list[int]],
    eventually: Callable[..., Any],
    ended: Callable[..., Any],
) -> None:
    """Its process is killed at once."""
    (tmp_path / "b").write_text("a" * 5000 + "\n")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def grep() -> None:
                await on_files("grep", pattern="(a+)+b")

            tasks.start_soon(grep)
            await eventually(lambda: children_of(os.getpid(), "hub_servers.searching"))
            workers = children_of(os.getpid(), "hub_servers.searching")
            tasks.cancel_scope.cancel()
    await ended(*workers)


def test_a_walk_stops_when_nobody_waits(tree: Path) -> None:
    """The thread of a cancelled call ends at the next folder."""
    budget = Budget.of(60)
    walk = iter(Walk(tree, tree, budget))
    next(walk)
    budget.stop.set()
    with pytest.raises(ScanStopped):
        list(walk)


async def test_a_long_simple_search_moves_to_a_process(
    on_files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is up in the thread, or a file is too large for it: the answer is the same."""
    (tmp_path / "large").write_text("x\n" * 600_000 + "needle\n")
    assert await on_files("grep", pattern="needle") == "large:600001:needle"
    (tmp_path / "large").write_text("needle\n")
    monkeypatch.setattr(grep_tool, "_THREAD_SECONDS", -1.0)
    assert await on_files("grep", pattern="needle") == "large:1:needle"


@pytest.mark.parametrize(
    ("pattern", "simple"),
    [
        ("needle", True),
        (r"def \w+", True),
        (r"^import|^from", True),
        (r"\bfoo\(", True),
        ("TODO|FIXME.*", True),
        ("[A-Z][a-z]+", True),
        (r"a.*b", False),
        ("(a)", False),
        ("a{3}", False),
        (r"[^x]*", False),
        (r"\s+", False),
        (r"x(?!y)", False),
        (r"\Aa", False),
        (r"(a+)+b", False),
        ("x" * 300, False),
    ],
)
def test_only_patterns_that_cannot_be_slow_count_as_simple(pattern: str, simple: bool) -> None:
    """Everything else goes where it can be killed."""
    assert is_simple(pattern) is simple


TEXTS = st.text(st.sampled_from("ab \n\r\t.é\u2028"), max_size=40)
PATTERNS = st.lists(
    st.sampled_from([
        "a",
        "b",
        ".",
        r"\s",
        r"\w",
        r"\W",
        r"\b",
        "^",
        "$",
        "[ab]",
        "[^a]",
        "|",
        r"\.",
        " ",
        "é",
    ]),
    min_size=1,
    max_size=5,
).map("".join)


@settings(deadline=None)
@given(TEXTS, PATTERNS, st.sampled_from(["", "+", "*"]))
def test_the_simple_way_finds_the_lines_that_match_alone(
    tmp_path_factory: pytest.TempPathFactory, text: str, pattern: str, repeat: str
) -> None:
    """Looking through the whole text is only a faster way to try each line."""
    pattern += repeat
    try:
        regex = re.compile(pattern)
    except re.error:
        return
    file = tmp_path_factory.mktemp("text") / "a"
    file.write_bytes(text.encode())
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    expected = [number for number, line in enumerate(lines, 1) if regex.search(line)]
    query = Query(str(file.parent), str(file), pattern, limit=1000)
    assert [one.line for one in search(query, Budget.of(10), Totals())] == expected


async def test_the_tools_work_over_stdio(
    tree: Path, over_stdio: Callable[..., Client], mode: str, caller: Any
) -> None:
    """A client that starts the server as a process sees the same answers."""
    with anyio.fail_after(20):
        async with over_stdio("files", mode=mode) as client:
            call = caller(client)
            assert len((await client.list_tools()).tools) == 6
            assert await call("glob", pattern="*.md") == "README.md"
            assert await call("grep", pattern="(cut)") == "src/lib/text.py:1:def cut():"
            assert "created" in await call("write", path="new", content="x")
            assert "outside the root" in await call.refused("read", path="/etc/passwd")
