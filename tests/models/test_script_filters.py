"""The filters, over what the bundled servers, git and a dispatch really answer."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from hub.core.jobs import JobResult
from hub.dispatch.frame import result_message
from hub.models.script.templates import evaluate
from hub.models.script.values import TemplateFault, as_json
from hub.models.script.view import Result
from hub_servers.files import create_server


async def ask(folder: Path, tool: str, **arguments: Any) -> Result:
    """Return the result of a call to the files server, as a script sees it."""
    async with Client(create_server(folder)) as client:
        answer = await client.call_tool(tool, arguments)
    return Result(tool, as_json(arguments), answer.content[0].text, bool(answer.is_error))


def value(expression: str, result: Result | str, **more: Any) -> Any:
    text = result if isinstance(result, str) else result.text
    return evaluate(expression, {"last": [result], "text": text, **more})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "a.md").write_text("see [b](src/b.py)\nTODO one\n")
    (tmp_path / "src" / "b.py").write_text("x = 1  # TODO two\n" * 3)
    (tmp_path / "src" / "deep" / "c d.py").write_text("y" * 1234)
    (tmp_path / "src" / "[id].ts").write_text("")
    return tmp_path


async def test_a_tree_becomes_rows_with_paths_and_sizes(folder):
    """``files__list``: folders, files of odd names, sizes as exact as they are shown."""
    listing = await ask(folder, "list", depth=5)
    rows = value("text | tree", listing)
    files = {row["path"]: row["size"] for row in rows if row["kind"] == "file"}
    assert files == {"a.md": 27, "src/[id].ts": 0, "src/b.py": 54, "src/deep/c d.py": 1200}
    assert [row["path"] for row in rows if row["kind"] == "dir"] == ["src", "src/deep"]
    assert value(
        "text | tree | selectattr('size', 'defined') | sum(attribute='size')", listing
    ) == (27 + 54 + 1200)


async def test_an_empty_folder_and_notes_are_no_entries(tmp_path):
    """``(nothing to show)`` and ``[ignored: …]``."""
    (tmp_path / ".git").mkdir()
    assert value("text | tree", await ask(tmp_path, "list")) == []


@pytest.mark.parametrize("count", [0, 3, 700])
async def test_a_listing_is_counted_with_what_it_left_out(tmp_path, count):
    """``files__glob``: none, some, and more than it shows."""
    for number in range(count):
        (tmp_path / f"n{number:04}.txt").touch()
    found = await ask(tmp_path, "glob", pattern="**/*.txt")
    assert value("text | count_lines", found) == count
    assert len(value("text | listed", found)) == min(count, 500)
    assert value("text | listed | map('suffix') | count_by", found) == (
        {".txt": min(count, 500)} if count else {}
    )


async def test_matching_lines_become_rows(folder):
    """``files__grep``: path, line number and text, with a limit and with context."""
    hits = await ask(folder, "grep", pattern="TODO")
    rows = value(r"text | regex_rows('^(?P<path>.+?):(?P<line>\d+):(?P<text>.*)$')", hits)
    assert [(row["path"], row["line"]) for row in rows] == [
        *(("a.md", 2), ("src/b.py", 1), ("src/b.py", 2), ("src/b.py", 3)),
    ]
    assert value("rows | groupby('path') | map('first') | list", hits, rows=rows) == [
        *("a.md", "src/b.py"),
    ]
    assert value("text | count_lines", await ask(folder, "grep", pattern="TODO", limit=1)) == 4
    assert value("text | count_lines", await ask(folder, "grep", pattern="nowhere")) == 0


def test_a_git_log_becomes_rows(tmp_path):
    """The plain form of ``git log``, as git servers and a shell give it."""
    git = ["git", "-c", "user.name=A B", "-c", "user.email=a@b.example", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    for message in ("one: first", "two"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
    log = subprocess.run([*git, "log"], check=True, capture_output=True, encoding="utf-8").stdout
    pattern = r"^commit (?P<id>\w+).*\nAuthor: (?P<who>.*?) <.*>\nDate: .*\n\n +(?P<title>.*)$"
    rows = value(f"text | regex_rows('{pattern}')", log)
    assert [(row["who"], row["title"]) for row in rows] == [("A B", "two"), ("A B", "one: first")]
    assert all(len(row["id"]) == 40 for row in rows)


def test_a_dispatch_result_is_read_as_it_was_written():
    """The frame and its escapes."""
    text = result_message(
        JobResult("j1", "helper", "done", "reported", partial_text="<b> & [1]").as_dict()
    )
    result = Result("dispatch", '{"role": "helper"}', text, False)
    assert value("last[0].json.partial_text", result) == "<b> & [1]"
    assert value("last[0].args.role", result) == "helper"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1]", [1]),
        ("7", 7),
        ("7 files", None),
        ('Error: {"code": 3} happened', {"code": 3}),
        ("[2 more] then [2, 3]", [2, 3]),
        ("{{{{", None),
        ("[" * 100_000, None),
        ("", None),
    ],
)
def test_json_is_found_within_other_words(text, found):
    """But a text that merely begins with a number is none."""
    assert Result("t", "{}", text, False).json == found


def test_arguments_that_are_no_json_are_nothing():
    """A script may have sent them on purpose."""
    assert Result("t", '{"a": ', "", False).args is None


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("'12 files, 3 folders' | number", 12),
        ("'total: -1,234,567 bytes' | number", -1234567),
        ("'a-12' | number", 12),
        ("'1,2' | number", 1),
        ("'none' | number(0)", 0),
        ("5 | number", 5),
        ("'999' | size", 999),
        ("'1.2k' | size", 1200),
        ("'45 MB' | size", 45_000_000),
        ("'3 KiB' | size", 3072),
        ("[1, 2] | zip(['a', 'b'])", [(1, "a"), (2, "b")]),
        (
            "[1, 2] | zip(['a', 'b']) | rows('n', 'name')",
            [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}],
        ),
        ("{'x': 2}.items() | rows('name', 'n')", [{"name": "x", "n": 2}]),
        ("[{'name': 'a|b', 'n': 1}] | table", "| name | n |\n| --- | ---: |\n| a\\|b | 1 |"),
        ("[[1, 2]] | table(['x', 'y'])", "| x | y |\n| ---: | ---: |\n| 1 | 2 |"),
        ("[{'a': 1, 'b': 2}] | table(['b'])", "| b |\n| ---: |\n| 2 |"),
        ("[] | table(['a'])", "| a |\n| --- |"),
        ("[] | table", ""),
        ("['a.py', 'b.py'] | map('suffix') | to_json", '[".py", ".py"]'),
        (r"'a.b' | regex_replace('(\w)\.(\w)', '\2.\1')", "b.a"),
        (r"'one bone' | regex_findall('\bone\b')", ["one"]),
        (r"'a\tb' | split('\t')", ["a", "b"]),
        (r"'x\\y'", r"x\y"),
    ],
)
def test_values_come_out_as_they_should(expression, found):
    """Backslashes of a pattern stand as they are written."""
    assert evaluate(expression, {}) == found


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("'none' | number", "no number in 'none'"),
        ("'big' | size", "is no size"),
        ("'a' | regex_rows('a')", "no named groups"),
        ("'a' | regex_search('(')", "unterminated"),
        ("[1] | zip([1, 2])", "differ in length: 1, 2"),
        ("[[1]] | rows('a', 'b')", "1 parts, and there are 2 names"),
        ("'head\\n   odd' | tree", "not of a listing"),
        ("[nothing]", "'nothing' is undefined"),
        ("x | from_json", "Expecting value"),
        ("[1] | nosuch", "nosuch"),
        ("1 +", "unexpected"),
        ("1 2", "chunk after expression"),
        ("", "xpected"),
    ],
)
def test_a_filter_that_fails_says_why_and_where(expression, words):
    """Never a wrong number in silence."""
    with pytest.raises(TemplateFault, match=words):
        evaluate(expression, {"x": "no json"})


@pytest.mark.parametrize(
    "value_",
    [{"a": {1, 2}.__class__}, float("nan"), object()],
)
def test_what_has_no_form_in_json_is_refused(value_):
    """Arguments are JSON."""
    with pytest.raises(TemplateFault, match="JSON"):
        as_json(value_)
