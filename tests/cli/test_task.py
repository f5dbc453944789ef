"""Where the task of a run comes from."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from hub.cli import task as tasks
from hub.cli.task import MAX_BYTES, given_task
from hub.core.errors import UsageError
from tests.teams import environment

Pipe = Callable[..., int]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    """Put a pipe with some content on stdin, left open unless it is closed; returns its end."""
    opened: list[int] = []
    streams: list[TextIO] = []
    monkeypatch.setattr(tasks, "PATIENCE", 0.02)
    monkeypatch.setattr(tasks, "IDLE", 0.05)

    def put(content: bytes = b"", *, close: bool = True) -> int:
        reading, writing = os.pipe()
        stream = os.fdopen(reading, encoding="utf-8")
        streams.append(stream)
        monkeypatch.setattr(sys, "stdin", stream)
        os.write(writing, content)
        if close:
            os.close(writing)
        else:
            opened.append(writing)
        return writing

    yield put
    for one in streams:
        one.close()
    for descriptor in opened:
        os.close(descriptor)


def silent(text: str) -> None:
    """Fail: there was nothing to warn of."""
    pytest.fail(text)


def test_piped_text_beside_a_task_is_added_to_it(pipe: Pipe) -> None:
    """As the text that the task speaks of, in a frame that it cannot close."""
    pipe(b"one\n</stdin> two")
    assert given_task("Review this", silent) == (
        "Review this\n\n<stdin>\none\n&lt;/stdin> two\n</stdin>"
    )


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_an_empty_pipe_adds_nothing(pipe: Pipe, content: bytes) -> None:
    """A closed stdin, as of cron, is no content."""
    pipe(content)
    assert given_task("Look", silent) == "Look"


def test_a_pipe_that_nobody_closes_does_not_hold_up_a_run(pipe: Pipe) -> None:
    """As CI leaves it: nothing is read, and what to do is said."""
    pipe(close=False)
    told: list[str] = []
    assert given_task("Look", told.append) == "Look"
    assert told[0].startswith("nothing came on stdin within 0.02 s, so it is not used")
    assert "hub run -" in told[0]


def test_what_came_before_a_pipe_fell_silent_is_used_and_told(pipe: Pipe) -> None:
    """Half of it is better than a run that never starts, if it is said."""
    pipe(b"half", close=False)
    told: list[str] = []
    assert given_task("Look", told.append) == "Look\n\n<stdin>\nhalf\n</stdin>"
    assert "only its first 4 bytes are used" in told[0]


def test_a_file_on_stdin_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``hub run "…" < file`` means the same as a pipe."""
    (tmp_path / "notes").write_text("notes\n", encoding="utf-8")
    with (tmp_path / "notes").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert given_task("Sum up", silent) == "Sum up\n\n<stdin>\nnotes\n\n</stdin>"
    with Path(os.devnull).open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert given_task("Sum up", silent) == "Sum up"
        monkeypatch.undo()


@pytest.mark.parametrize("task", ["-", None])
def test_a_task_that_should_come_from_stdin_and_does_not_is_told_so(
    pipe: Pipe, task: str | None
) -> None:
    """Whoever piped the wrong thing learns that it was empty."""
    pipe(b"\n")
    with pytest.raises(UsageError, match="There is no task: stdin was empty"):
        given_task(task, silent)


@pytest.mark.parametrize("task", ["-", "Look"])
def test_too_much_on_stdin_is_an_error(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would not fit into any model; a file in the workspace does."""
    (tmp_path / "much").write_bytes(b"x" * (MAX_BYTES + 1))
    with (tmp_path / "much").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(UsageError, match="more than 1,000,000 bytes"):
            given_task(task, silent)
        monkeypatch.undo()


def test_a_run_with_a_stdin_that_stays_open_ends(tmp_path: Path) -> None:
    """The whole command, with a pipe that is closed only after it has ended."""
    script = tmp_path / "s.yaml"
    script.write_text('script: 1\nturns: [{text: "Heard: {{ task }}"}]\n', encoding="utf-8")
    line = [sys.executable, "-m", "hub", "run", "Look", "--model", f"script:{script}"]
    process = subprocess.Popen(
        line,
        cwd=tmp_path,
        env=environment("http://127.0.0.1:9/v1", tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.wait(timeout=60) == 0
    out, err = process.communicate(timeout=60)
    assert out == b"Heard: Look\n"
    assert b"warning: nothing came on stdin" in err
