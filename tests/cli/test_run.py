"""``hub run`` from the outside: real processes, scripted models, real servers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.testing.serving import serve_model

LOOK = """\
script: 1
turns:
  - text: "I will look."
    calls: [{tool: files__list, args: {path: "."}}]
  - text: "Found: {{ last[0].text }}"
"""
SLEEP = """\
script: 1
turns:
  - text: "Half of it \\e[2J is done."
    calls: [{tool: shell__run, args: {command: "exec sleep 987.%d"}}]
  - text: "never said"
"""


class Desk:
    """A folder to work on, with a home of its own, and hub processes in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "folder"
        self.folder.mkdir()
        (self.folder / "one.txt").write_text("1\n")
        self.started: list[subprocess.Popen[bytes]] = []
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("HUB_")},
            "HUB_STATE_DIR": str(root / "state"),
            "XDG_CACHE_HOME": str(root / "cache"),
            "XDG_CONFIG_HOME": str(root / "config"),
        }
        self.env.pop("OPENAI_API_KEY", None)
        self.env.pop("OPENAI_BASE_URL", None)

    def script(self, text: str, name: str = "team.yaml") -> str:
        """Write a script; returns what --model takes."""
        (self.root / name).write_text(text, encoding="utf-8")
        return f"script:{self.root / name}"

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a run on the folder."""
        return [sys.executable, "-m", "hub.cli.main", "run", "-C", str(self.folder), *arguments]

    def run(self, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run to the end."""
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if options["stdin"] is None:
            del options["stdin"]
        env = {**self.env, **options.pop("env", {})}
        return subprocess.run(
            self.command(*arguments),
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **options,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a run whose output can be read while it goes on."""
        process = subprocess.Popen(
            self.command(*arguments),
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose processes are gone afterwards."""
    made = Desk(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def read_until(stream: Any, words: bytes) -> bytes:
    """Read lines until one holds the words."""
    seen = b""
    for line in stream:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"no {words!r} in {seen!r}")


def processes_of(marker: str) -> list[str]:
    """Return the command lines of all processes that hold a marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marker in line:
                found.append(line)
    return found


def gone(marker: str, seconds: float = 5.0) -> bool:
    """Wait until no process holds a marker; say whether that came true."""
    deadline = time.monotonic() + seconds
    while processes_of(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_stdout_holds_the_answer_and_stderr_the_way_to_it(desk: Desk) -> None:
    """Nothing but the result is on stdout (A51)."""
    done = desk.run("Look", "--model", desk.script(LOOK))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Found: ./\n  one.txt")
    assert "lead: files__list" in done.stderr
    assert "lead: done (completed), 2 steps" in done.stderr
    quiet = desk.run("Look", "--model", desk.script(LOOK), "--quiet")
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")


def test_json_is_one_object_and_a_stream_is_one_object_a_line(desk: Desk) -> None:
    """Both end with the same result; the stream begins with init."""
    one = json.loads(desk.run("Look", "--model", desk.script(LOOK), "--output", "json").stdout)
    assert (one["outcome"], one["exit_code"]) == ("done", 0)
    done = desk.run("Look", "--model", desk.script(LOOK), "--output", "stream-json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [line["type"] for line in lines]
    assert (kinds[0], kinds[-1]) == ("init", "result")
    assert kinds.count("turn.done") == 1
    assert "text.delta" not in kinds
    assert lines[0]["tools"]
    assert lines[-1]["text"] == one["text"]
    deltas = desk.run(
        "Look", "--model", desk.script(LOOK), "--output", "stream-json", "--include-deltas"
    )
    assert '"text.delta"' in deltas.stdout


@pytest.mark.parametrize("arguments", [("-",), ()])
def test_a_task_may_come_from_stdin(desk: Desk, arguments: tuple[str, ...]) -> None:
    """A dash, or no task and a pipe."""
    script = desk.script('script: 1\nturns: [{text: "Heard: {{ task }}"}]\n')
    done = desk.run(*arguments, "--model", script, input="count ü\n")
    assert (done.returncode, done.stdout) == (0, "Heard: count ü\n")


def test_hostile_output_is_printable_on_stdout_and_exact_in_json(desk: Desk) -> None:
    """Escapes of a model are text on stdout and data in JSON."""
    script = desk.script('script: 1\nturns: [{text: "a\\e[2J\\x9bb"}]\n')
    assert desk.run("x", "--model", script).stdout == "a\\x1b[2J\\x9bb\n"
    one = desk.run("x", "--model", script, "--output", "json").stdout
    assert json.loads(one)["text"] == "a\x1b[2J\x9bb"
    assert one.strip().isprintable()


def test_a_denied_call_that_the_task_needed_is_no_success(desk: Desk) -> None:
    """With nobody to ask, the run ends with 3 and says what was denied (A50)."""
    script = desk.script(
        'script: 1\nturns:\n  - calls: [{tool: shell__run, args: {command: "make"}}]\n'
        "  - text: I could not.\n"
    )
    done = desk.run("Build", "--model", script, "--output", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["outcome"], told["exit_code"]) == (3, "denied", 3)
    assert [denied["tool"] for denied in told["denied_calls"]] == ["shell__run"]
    assert "denied: shell__run for lead" in done.stderr
    assert f"hub sessions show {told['session_id']}" in done.stderr


def test_an_empty_answer_is_a_failure(desk: Desk) -> None:
    """Nothing said is not success (A50)."""
    script = desk.script("script: 1\nturns: [{text: ' '}]\n")
    assert desk.run("x", "--model", script).returncode != 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x", "--role", "laed"), ["no role 'laed'", "'lead'"]),
        (("x", "--model", "script:/no/such.yaml"), ["/no/such.yaml"]),
        (("x", "--model", "gpt-none"), ["OPENAI_API_KEY"]),
        (("x",), ["no model is configured", "HUB_MODEL"]),
        (("x", "-C", "/no/such/folder"), ["/no/such/folder", "-C DIR"]),
        (("x", "--set", "limits.stepz=3", "--model", "m"), ["stepz", "steps"]),
        (("x", "--set", "nonsense", "--model", "m"), ["nonsense", "key=value"]),
        (("x", "--max-steps", "0", "--model", "m"), ["--max-steps"]),
        (("x", "--resume", "s-none", "--model", "m"), ["s-none"]),
        ((), ["no task"]),
        (("x", "--output", "xml"), ["xml"]),
        (("x", "--team", "/no/team"), ["/no/team"]),
    ],
)
def test_bad_input_is_one_clear_message_and_exit_code_2(
    desk: Desk, arguments: tuple[str, ...], words: list[str]
) -> None:
    """What is wrong, where, and what to do; no traceback, nothing on stdout."""
    done = desk.run(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_broken_settings_name_file_and_line(desk: Desk) -> None:
    """A file of the project that cannot be read stops the run."""
    (desk.folder / ".hub").mkdir()
    (desk.folder / ".hub" / "config.yaml").write_text("limits:\n  steps: many\n")
    done = desk.run("x", "--model", desk.script(LOOK), "--output", "json")
    assert done.returncode == 2
    assert "config.yaml:2" in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "config_error"


def test_strict_refuses_to_run_without_what_is_withheld(desk: Desk) -> None:
    """Without --strict it is named and left out."""
    (desk.folder / ".mcp.json").write_text('{"mcpServers": {"own": {"command": "/no/such"}}}')
    loose = desk.run("Look", "--model", desk.script(LOOK))
    assert loose.returncode == 0
    assert "withheld: server own" in loose.stderr
    strict = desk.run("Look", "--model", desk.script(LOOK), "--strict")
    assert strict.returncode == 2
    assert "hub trust" in strict.stderr


def test_a_limit_is_no_success_and_has_its_own_code(desk: Desk) -> None:
    """--max-steps ends the run with 53, and what was said is printed (A38)."""
    done = desk.run("Look", "--model", desk.script(LOOK), "--max-steps", "1")
    assert done.returncode == 53
    assert "limit (max_turns)" in done.stderr
    assert done.stdout == "I will look.\n"


def test_a_session_goes_on_where_it_ended(desk: Desk) -> None:
    """--resume takes the id, or its beginning."""
    first = desk.script('script: 1\nturns: [{text: "one"}]\n', "first.yaml")
    both = desk.script(
        'script: 1\nturns: [{text: "one"}, {text: "{{ prompt }}, after {{ task }}"}]\n', "both.yaml"
    )
    session = json.loads(desk.run("A", "--model", first, "--output", "json").stdout)["session_id"]
    done = desk.run("B", "--model", both, "--resume", session[:-2])
    assert (done.returncode, done.stdout) == (0, "B, after A\n")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_cancels_the_run_and_what_there_is_is_printed(
    desk: Desk, number: signal.Signals, code: int
) -> None:
    """Partial text on stdout, how to go on on stderr, and no process is left (A47)."""
    marker = f"987.{os.getpid()}{int(number)}"
    script = desk.script(SLEEP.replace("987.%d", marker))
    process = desk.start("Wait", "--model", script, "--mode", "bypass", "--output", "text")
    seen = read_until(process.stderr, b"shell__run")
    _until_running(marker)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert out == b"Half of it \\x1b[2J is done.\n"
    assert b"cancelled; go on with: hub run --resume s-" in err
    assert gone(marker), seen


def test_a_cancelled_session_can_be_resumed(desk: Desk) -> None:
    """The log is legal after Ctrl-C: the open call has a result (A1)."""
    marker = f"987.{os.getpid()}7"
    process = desk.start(
        "Wait",
        "--model",
        desk.script(SLEEP.replace("987.%d", marker)),
        "--mode",
        "bypass",
        "--output",
        "json",
    )
    read_until(process.stderr, b"shell__run")
    _until_running(marker)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    told = json.loads(out)
    assert (told["outcome"], told["exit_code"]) == ("cancelled", 130)
    again = desk.script(
        SLEEP.replace("987.%d", marker).replace("never said", "{{ last[0].is_error }}")
    )
    done = desk.run("Go on", "--model", again, "--resume", told["session_id"])
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_two_interrupts_leave_at_once(desk: Desk) -> None:
    """Impatience is exit code 130 within seconds, and no process is left."""
    marker = f"987.{os.getpid()}8"
    script = desk.script(
        SLEEP.replace("exec sleep", "trap '' TERM INT; sleep").replace("%d", marker)
    )
    process = desk.start("Wait", "--model", script, "--mode", "bypass")
    read_until(process.stderr, b"shell__run")
    process.send_signal(signal.SIGINT)
    read_until(process.stderr, b"press Ctrl-C again")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    assert gone(marker, 8.0)


def _until_running(marker: str) -> None:
    deadline = time.monotonic() + 10
    while not any(line.startswith("sleep") for line in processes_of(marker)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_reader_that_leaves_cancels_the_run_quietly(desk: Desk) -> None:
    """``hub run … | head -1`` ends the run, without a traceback."""
    marker = f"987.{os.getpid()}9"
    script = desk.script(
        "script: 1\nturns:\n"
        f'  - calls: [{{tool: shell__run, args: {{command: "sleep {marker}"}}}}]\n'
        '  - text: "never"\n'
    )
    process = desk.start(
        "x", "--model", script, "--mode", "bypass", "--output", "stream-json", "--include-deltas"
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    err = process.stderr.read() if process.stderr else b""
    assert process.wait(timeout=30) == 130
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err
    assert gone(marker)


def many_reads(desk: Desk, turns: int, calls: int, text: str) -> str:
    """Write a script that reads a different file with each of many calls."""
    lines = ["script: 1", "turns:"]
    for turn in range(turns):
        lines += [f"  - text: {text!r}", "    calls:"]
        for call in range(calls):
            name = f"{turn}-{call}.txt"
            (desk.folder / name).write_text(name)
            lines.append(f"      - {{tool: files__read, args: {{path: {name}}}}}")
    return desk.script("\n".join([*lines, "  - text: end"]))


def test_a_slow_reader_loses_nothing(desk: Desk) -> None:
    """Half a megabyte read in small sips is complete (A51)."""
    script = many_reads(desk, 40, 1, "word " * 2000)
    process = desk.start("x", "--model", script, "--output", "stream-json", "--quiet")
    assert process.stdout is not None
    parts = []
    while part := os.read(process.stdout.fileno(), 997):
        parts.append(part)
        if len(parts) % 50 == 0:
            time.sleep(0.01)
    assert process.wait(timeout=30) == 0
    lines = [json.loads(line) for line in b"".join(parts).splitlines()]
    assert [line["type"] for line in lines].count("assistant.message") == 41
    assert lines[-1]["text"] == "end"
    seqs = [line["seq"] for line in lines[1:-1]]
    assert seqs == list(range(1, len(seqs) + 1))


def test_nobody_reading_stderr_does_not_stop_the_run(desk: Desk) -> None:
    """More lines than a pipe holds wait, and the result arrives all the same."""
    script = many_reads(desk, 60, 20, "w " * 80)
    process = desk.start("x", "--model", script, "--set", "limits.tool_calls=null")
    assert process.stdout is not None
    assert process.stdout.read() == b"end\n"
    assert process.wait(timeout=30) == 0


async def run_async(desk: Desk, *arguments: str, base_url: str) -> Any:
    """Run against a model server in this process."""
    env = {**desk.env, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-test"}
    with anyio.fail_after(60):
        return await anyio.run_process(desk.command(*arguments), env=env, check=False)


async def test_a_model_behind_http_is_a_model(desk: Desk) -> None:
    """The real path through the SDK, with a strict server."""
    async with serve_model(LOOK) as server:
        done = await run_async(desk, "Look", "--model", "scripted", base_url=server.base_url)
        server.assert_finished()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"Found: ./")


@pytest.mark.parametrize(("status", "code"), [(429, 75), (503, 75), (401, 5), (404, 5)])
async def test_a_model_that_fails_has_an_exit_code_that_says_whether_to_try_again(
    desk: Desk, status: int, code: int
) -> None:
    """75 may pass, 5 will not; the cause is named and no traceback shown (A54)."""
    script = f"script: 1\nturns: [{{text: x, wire: {{fault: {{status: {status}}}}}}}]\n"
    settings = "models: {m: {model: scripted, max_retries: 0}}\n"
    (desk.root / "config" / "hub").mkdir(parents=True)
    (desk.root / "config" / "hub" / "config.yaml").write_text(settings)
    async with serve_model(script) as server:
        done = await run_async(
            desk, "x", "--model", "m", "--output", "json", base_url=server.base_url
        )
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["error"]["retryable"] is (code == 75)
    assert b"error: model_error" in done.stderr
    assert b"Traceback" not in done.stderr


async def test_a_cancel_closes_the_model_stream(desk: Desk) -> None:
    """SIGINT while the model stalls ends with what had come (A1, A17)."""
    script = 'script: 1\nturns: [{text: "some of the answer", wire: {stall: {after: 3}}}]\n'
    env = {**desk.env, "OPENAI_API_KEY": "sk-test"}
    async with serve_model(script) as server:
        env["OPENAI_BASE_URL"] = server.base_url
        command = desk.command("x", "--model", "scripted", "--output", "stream-json")
        command.append("--include-deltas")
        with anyio.fail_after(30):
            process = await anyio.open_process(command, env=env, stdin=subprocess.DEVNULL)
            async with process:
                seen = b""
                assert process.stdout is not None
                while b"text.delta" not in seen:
                    seen += await process.stdout.receive()
                process.send_signal(signal.SIGINT)
                async for part in process.stdout:
                    seen += part
                assert await process.wait() == 130
            await server.wait_for(lambda one: one.open_connections == 0)
    last = json.loads(seen.splitlines()[-1])
    assert last["outcome"] == "cancelled"
    assert "some of the answer".startswith(last["text"])
    assert last["text"]


def test_the_live_tree_of_a_real_run_lets_nothing_hostile_through(
    desk: Desk, terminal: Callable[..., Any], hostile: Callable[[bytes], str]
) -> None:
    """A file with escapes, read and quoted by the model, on a pseudo-terminal."""
    (desk.folder / "bad.txt").write_text("\x1b]0;owned\x07\x1b[2J\u202e" * 50)
    script = desk.script(
        "script: 1\nturns:\n"
        '  - text: "reading \\e[2J"\n    calls: [{tool: files__read, args: {path: bad.txt}}]\n'
        '  - text: "It says {{ last[0].text }}"\n'
    )
    screen = terminal(*desk.command("Read", "--model", script)[1:], env=desk.env)
    assert screen.end() == 0
    assert hostile(screen.seen) == ""
    assert b"It says" in screen.seen
    assert b"1 agent" in screen.seen


@pytest.mark.parametrize(
    ("key", "answer", "code"), [(b"y", b"ran it", 0), (b"n", b"denied", 3), (b"a", b"ran it", 0)]
)
def test_a_permission_is_asked_for_at_the_terminal(
    desk: Desk, terminal: Callable[..., Any], key: bytes, answer: bytes, code: int
) -> None:
    """The question shows who and what; the key decides."""
    script = desk.script(
        "script: 1\nturns:\n"
        '  - calls: [{tool: shell__run, args: {command: "echo ok"}}]\n'
        "  - text: \"{{ 'denied' if last[0].is_error else 'ran it' }}\"\n"
    )
    screen = terminal(*desk.command("Do", "--model", script)[1:], env=desk.env)
    screen.read_until(rb"\[n\] no")
    assert b"lead wants to use shell__run" in screen.seen
    assert b'"command": "echo ok"' in screen.seen
    screen.type(key)
    assert screen.end() == code
    assert answer in screen.seen


def test_interrupting_a_question_is_a_cancel(desk: Desk, terminal: Callable[..., Any]) -> None:
    """Ctrl-C at the question leaves the terminal as it was and exits with 130."""
    script = desk.script(
        'script: 1\nturns:\n  - calls: [{tool: shell__run, args: {command: "ls"}}]\n  - text: "x"\n'
    )
    screen = terminal(*desk.command("Do", "--model", script)[1:], env=desk.env)
    screen.read_until(rb"\[n\] no")
    os.kill(screen.process.pid, signal.SIGINT)
    assert screen.end() == 130
    assert b"cancelled; go on with" in screen.seen
    assert screen.seen.rfind(b"\x1b[?25h") >= screen.seen.rfind(b"\x1b[?25l")


def test_debug_shows_the_traceback_of_a_fault(desk: Desk) -> None:
    """--debug, or HUB_DEBUG=1, on top of the message."""
    plain = desk.run("x", "--role", "none", "--model", "m")
    assert "Traceback" not in plain.stderr
    debug = desk.run("x", "--role", "none", "--model", "m", "--debug")
    assert "Traceback" in debug.stderr
    assert "error: " in debug.stderr
    assert "Traceback" in desk.run("x", "--role", "none", env={"HUB_DEBUG": "1"}).stderr
