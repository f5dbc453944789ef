"""The survey team tells the truth about whatever folder it is given."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEAM = ROOT / "examples" / "survey"
SUFFIXES = (".py", ".md", ".js", ".txt")


def survey(folder: Path, *more: str) -> dict:
    """Run the team on a folder and return its JSON result."""
    line = [sys.executable, "-m", "hub", "run", "Survey this folder", "--team", str(TEAM)]
    done = subprocess.run(
        [*line, "-C", str(folder), "--output", "json", *more],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def make_folder(folder: Path, *, scale: int) -> None:
    """Fill a folder with files whose counts grow with a scale."""
    (folder / "src").mkdir(parents=True)
    (folder / "docs").mkdir()
    for number in range(scale):
        text = "# TODO: later\n" * (number % 3) + "x = 1\n" * (number + 1)
        (folder / "src" / f"module_{number}.py").write_text(text)
        (folder / "src" / f"test_{number}.py").write_text(f"def test_{number}():\n    pass\n")
        (folder / "docs" / f"page_{number}.md").write_text(
            f"[ok](page_0.md) [up](../src/module_{number}.py)\n\n[gone](missing_{number}.md)\n"
        )
    (folder / "docs" / "wide.txt").write_text("y" * 250 + "\n" + "<<<<<<< ours\n")


def counted(folder: Path) -> dict:
    """Count the same things without the team."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    lines = [line for path in files for line in path.read_text().splitlines()]
    return {
        "files": len(files),
        "todos": sum(bool(re.search(r"\b(TODO|FIXME)\b", line)) for line in lines),
        "tests": sum(line.startswith("def test_") for line in lines),
        "long": sum(len(line) > 200 for line in lines),
        "markers": sum(line.startswith("<<<<<<< ") for line in lines),
        "languages": {
            suffix: (
                sum(path.suffix == suffix for path in files),
                sum(len(p.read_text().splitlines()) for p in files if p.suffix == suffix),
            )
            for suffix in SUFFIXES
        },
    }


@pytest.mark.parametrize("scale", [1, 7, 210])
def test_the_survey_of_a_folder_agrees_with_an_independent_count(tmp_path, scale):
    """Also where the tools show only their first page and say how much is left out."""
    folder = tmp_path / "folder"
    make_folder(folder, scale=scale)
    text, truth = survey(folder)["text"], counted(folder)

    head = re.search(r"(\d+) files, (\d+) tests, (\d+) lines with TODO", text)
    assert [int(number) for number in head.groups()] == [
        truth["files"],
        truth["tests"],
        truth["todos"],
    ]
    rows = re.findall(r"^\| (\.\w+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert {suffix: (int(files), int(lines)) for suffix, files, lines in rows} == {
        suffix: counts for suffix, counts in truth["languages"].items() if counts[0]
    }
    assert f"Conflict markers: {truth['markers']}. Lines of over 200 characters: 1." in text
    checked, broken = re.search(r"Checked (\d+) links between documents: (\d+)", text).groups()
    if scale <= 7:
        assert (int(checked), int(broken)) == (3 * scale, scale)
        assert "docs/page_0.md:3 points to missing_0.md" in text


def test_the_survey_of_an_empty_folder_says_that_there_is_nothing(tmp_path):
    """Zero is an answer."""
    assert "0 files, 0 tests, 0 lines" in survey(tmp_path)["text"]


def test_both_children_run_in_parallel_and_end_with_reports_that_fit_their_schemas(tmp_path):
    """The stream tells the story: two starts before the first end, two valid reports."""
    make_folder(tmp_path / "folder", scale=2)
    line = [sys.executable, "-m", "hub", "run", "Survey", "--team", str(TEAM)]
    done = subprocess.run(
        [*line, "-C", str(tmp_path / "folder"), "--output", "stream-json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        encoding="utf-8",
    )
    events = [json.loads(text) for text in done.stdout.splitlines()]
    kinds = [event["type"] for event in events if event["type"].startswith("job.")]
    assert [kind for kind in kinds if kind != "job.progress"] == [
        *("job.started", "job.started", "job.done", "job.done"),
    ]
    reports = [event for event in events if event["type"] == "report.submitted"]
    assert [report["valid"] for report in reports] == [True, True]


def test_only_links_that_are_broken_end_in_failed_calls(tmp_path):
    """Whoever watches the demo sees no failure where nothing is wrong."""
    folder = tmp_path / "folder"
    make_folder(folder, scale=2)
    (folder / "docs" / "more.md").write_text("[a](.) [b](../src/) [c](../docs) [d](../wide.txt)\n")
    (folder / "wide.txt").write_text("x")
    line = [sys.executable, "-m", "hub", "run", "Survey", "--team", str(TEAM)]
    done = subprocess.run(
        [*line, "-C", str(folder), "--output", "stream-json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        encoding="utf-8",
    )
    events = [json.loads(text) for text in done.stdout.splitlines()]
    failed = [event["text"] for event in events if event.get("is_error")]
    assert len(failed) == 2
    assert all("missing_" in text for text in failed)
    assert "Checked 10 links between documents: 2 broken." in events[-1]["text"]


@pytest.mark.thirdparty
def test_the_history_comes_from_a_real_git_server(tmp_path):
    """With a git MCP server and a repository, the latest commits are told."""
    from tests.third_party.servers import launch, require

    require("git")
    folder = tmp_path / "folder"
    make_folder(folder, scale=1)
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Plant a tree"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True, timeout=30)
    git = launch("git", folder)
    text = survey(
        folder,
        *("--set", f"servers.git.command={git.command}"),
        *("--set", f"servers.git.args={json.dumps(list(git.args))}"),
    )["text"]
    assert "Latest commits:\n- Plant a tree" in text
