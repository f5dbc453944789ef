"""``python -m hub.testing.model_server FILE``: its one line, its ends, its errors."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-m", "hub.testing.model_server"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text("script: 1\nturns: [{text: hello}]", encoding="utf-8")
    return path


@contextmanager
def running(*options: str | Path, stdin: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    line = [*PROGRAM, *map(str, options)]
    with subprocess.Popen(
        line, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def base_url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    assert said["pid"] == process.pid
    found: str = said["base_url"]
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("options", [(), ("--exit-with-parent",)])
def test_a_signal_ends_it_even_while_standard_input_stays_open(file, number, options):
    """Exit code 0, nothing on standard error, and nothing waits for input that never comes."""
    with running(file, *options) as process:
        base_url(process)
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_it_ends_with_whoever_started_it_only_when_it_is_told_to(file):
    """The pipe closes when the parent is gone; input before that is of no interest."""
    with running(file, "--exit-with-parent") as process:
        base_url(process)
        assert process.stdin is not None
        process.stdin.write("ignored\n")
        process.stdin.close()
        assert process.wait(10) == 0
    with running(file, stdin=subprocess.DEVNULL) as process:
        with urllib.request.urlopen(base_url(process) + "/models", timeout=5) as answer:
            assert json.load(answer)["data"] == [{"id": "scripted", "object": "model"}]
        assert process.poll() is None


def test_without_any_input_the_parent_counts_as_gone(file):
    """The null device ends at once."""
    with running(file, "--exit-with-parent", stdin=subprocess.DEVNULL) as process:
        assert process.wait(10) == 0


@pytest.mark.parametrize(("option", "status"), [("--lenient", 200), (None, 400)])
def test_it_answers_and_is_strict_unless_it_is_told_otherwise(file, option, status):
    """An empty user message shows it."""
    body = {"model": "m", "messages": [{"role": "user", "content": ""}]}
    with running(file, *([option] if option else [])) as process:
        url = base_url(process) + "/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode())
        if status == 200:
            with urllib.request.urlopen(request, timeout=5) as answer:
                assert json.load(answer)["choices"][0]["message"]["content"] == "hello"
            return
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=5)
        with caught.value as error:
            assert error.code == status


def refused(*options: str | Path) -> str:
    line = [*PROGRAM, *map(str, options)]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", timeout=30, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_broken_script_is_named_with_its_line(tmp_path):
    """Exit code 2."""
    path = tmp_path / "s.yaml"
    path.write_text("script: 1\nturns:\n  - text: a\n    whne: b\n", encoding="utf-8")
    assert f"{path}:4: a turn has an unknown key 'whne'" in refused(path)
    assert "'when'" in refused(path)
    assert "cannot be read" in refused(tmp_path / "none.yaml")
    assert "cannot be read" in refused(tmp_path)


def test_a_port_that_is_taken_or_none_is_named(file):
    """Exit code 2, with what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        message = refused(file, "--port", str(taken.getsockname()[1]))
    assert "cannot listen on port" in message
    assert "--port 0" in message
    assert "70000 is no port" in refused(file, "--port", "70000")


def test_jinja_is_not_loaded_by_a_script_without_templates(file):
    """It costs start-up time."""
    code = (
        "import sys; from pathlib import Path; from hub.core.messages import UserMessage as U;"
        "from hub.models.script.file import load_scripts as l;"
        "from hub.models.script.player import Player;"
        f"print(Player(l(Path({str(file)!r}))[0]).play([U('x')]).text, 'jinja2' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=True,
        env={**os.environ},
    )
    assert done.stdout.split() == ["hello", "False"]
