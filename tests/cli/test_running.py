"""One watched run, against a hub that plays a story."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from hub.app.options import InitInfo, RunOptions
from hub.cli.outlet import Outlet
from hub.cli.results import Format, ResultWriter
from hub.cli.running import Faces, last_words, run_task
from hub.core import events as ev
from hub.core.errors import ConfigError, StoreError
from hub.core.jobs import DeniedCall, Failure, TurnResult


class Notebook:
    """A view that writes down what it is told."""

    def __init__(self) -> None:
        self.shown: list[Any] = []
        self.said: list[str] = []
        self.finished = 0

    def show(self, event: ev.AnyEvent) -> None:
        self.shown.append(event)

    def say(self, text: str) -> None:
        self.said.append(text)

    @contextmanager
    def aside(self) -> Any:
        yield

    async def run(self) -> None:
        await anyio.sleep_forever()

    def finish(self) -> None:
        self.finished += 1

    async def drained(self) -> None:
        pass


class Player:
    """A hub whose turn is a story; the story may stop until it is cancelled."""

    def __init__(
        self, events: list[Any], result: TurnResult, *, waits: bool = False, init: Any = None
    ) -> None:
        self.init = init or InitInfo("s-1", "lead", "m", "a folder", "default")
        self.events = events
        self.result = result
        self.cancelled = anyio.Event()
        self.asked: list[str] = []
        self.closed = False
        self._waits = waits

    @asynccontextmanager
    async def open(self, options: RunOptions) -> AsyncIterator["Player"]:
        yield self
        self.closed = True

    @asynccontextmanager
    async def ask(self, prompt: str, *, final: bool = False) -> AsyncIterator["Player"]:
        self.asked.append(prompt)
        assert final
        yield self

    async def __aiter__(self) -> AsyncIterator[Any]:
        for event in self.events:
            yield event
        if self._waits:
            await self.cancelled.wait()

    def cancel(self, reason: Any = "user") -> None:
        self.cancelled.set()


DONE = TurnResult("done", "completed", text="There are 14 files.", session_id="s-1")
Play = Callable[..., Any]


@pytest.fixture
def played() -> list[str]:
    """What each run of ``play`` left on stdout."""
    return []


@pytest.fixture
def play(played: list[str]) -> Play:
    """Run a player and return exit code, stdout and the view."""

    async def run(player: Any, form: Format = "text") -> tuple[int, str, Notebook]:
        view = Notebook()
        reading, writing = os.pipe()
        faces = Faces(view, ResultWriter(form), Outlet(writing))
        opener = player if callable(player) else player.open
        try:
            with anyio.fail_after(10):
                code = await run_task(opener, RunOptions(), "Count", faces)
        finally:
            os.close(writing)
            played.append(b"".join(iter(lambda: os.read(reading, 65536), b"")).decode())
            os.close(reading)
        return code, played[-1], view

    return run


async def test_text_leaves_nothing_but_the_answer_on_stdout(play: Play, story: Any) -> None:
    """Events go to the view, the answer to stdout, and nothing is said of a good end."""
    story.begin()
    player = Player(story.events, DONE)
    code, out, view = await play(player)
    assert (code, out, view.said) == (0, "There are 14 files.\n", [])
    assert view.shown == story.events
    assert player.asked == ["Count"]
    assert player.closed
    assert view.finished


async def test_a_stream_holds_init_events_and_result(play: Play, story: Any) -> None:
    """One JSON object a line, in order."""
    story.begin()
    _, out, _ = await play(Player(story.events, DONE), "stream-json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == ["init", "session.started", "turn.started", "result"]
    assert lines[0]["session_id"] == "s-1"
    assert lines[-1]["exit_code"] == 0


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (TurnResult("denied", "approval_denied"), 3),
        (TurnResult("limit", "max_turns"), 53),
        (TurnResult("model_error", "model_error", error=Failure("auth", "no")), 5),
        (TurnResult("model_error", "model_error", error=Failure("transport", "no", True)), 75),
        (TurnResult("partial", "reported"), 0),
    ],
)
async def test_the_exit_code_is_that_of_the_outcome(
    play: Play, result: TurnResult, code: int
) -> None:
    """The closed list of outcomes decides; a retryable model failure is 75 (A50)."""
    given, out, _ = await play(Player([], result), "json")
    assert (given, json.loads(out)["exit_code"]) == (code, code)


async def test_a_bad_end_is_explained_with_what_was_denied_and_where_to_look(play: Play) -> None:
    """The last words name cause, denied calls and the session."""
    denied = DeniedCall("lead", "shell__run", "nobody could be asked")
    result = TurnResult("denied", "approval_denied", denied_calls=(denied,), session_id="s-1")
    _, _, view = await play(Player([], result))
    assert view.said == [
        "error: denied (approval_denied)\n"
        "  denied: shell__run for lead: nobody could be asked\n"
        "  to allow it: --set 'permissions.allow=[\"shell__run\"]', or a wider --mode\n"
        "  what happened: hub sessions show s-1"
    ]


async def test_what_is_wrong_or_withheld_is_said_before_the_run(play: Play) -> None:
    """Problems and withheld parts of the workspace are told at the start."""
    init = InitInfo("s", "lead", "m", "w", "default", withheld=["server x"], problems=["no git"])
    _, _, view = await play(Player([], DONE, init=init))
    assert view.said[:2] == ["warning: no git", "withheld: server x"]
    assert "hub trust" in view.said[2]


async def test_a_reader_that_leaves_cancels_the_run_quietly(story: Any) -> None:
    """A closed pipe is a cancel; the run ends in good order and nothing is raised."""
    story.begin()
    player = Player(story.events, TurnResult("cancelled", "aborted_tools"), waits=True)
    reading, writing = os.pipe()
    os.close(reading)
    faces = Faces(Notebook(), ResultWriter("stream-json"), Outlet(writing))
    with anyio.fail_after(10):
        code = await run_task(player.open, RunOptions(), "Count", faces)
    os.close(writing)
    assert (code, player.closed) == (130, True)


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
async def test_a_signal_ends_the_run_with_what_there_is(
    play: Play, story: Any, number: int, code: int
) -> None:
    """Partial text is printed, the way to go on is told, the exit code says which signal."""
    story.begin()
    result = TurnResult("cancelled", "aborted_tools", text="Half of", session_id="s-1")
    player = Player(story.events, result, waits=True)
    player.events = [*story.events]
    noticed = player.ask

    @asynccontextmanager
    async def ask(prompt: str, *, final: bool = False) -> AsyncIterator[Player]:
        os.kill(os.getpid(), number)
        async with noticed(prompt, final=final) as events:
            yield events

    player.ask = ask  # type: ignore[method-assign]
    given, out, view = await play(player)
    assert (given, out) == (code, "Half of\n")
    assert view.said[-1] == """cancelled; go on with: hub run --resume s-1 -C 'a folder' "…\""""


async def test_a_signal_while_the_hub_opens_leaves_at_once(play: Play) -> None:
    """Before there is a run, Ctrl-C ends the command with 130."""

    @asynccontextmanager
    async def opening(options: RunOptions) -> AsyncIterator[Any]:
        os.kill(os.getpid(), 2)
        await anyio.sleep_forever()
        yield

    code, out, _ = await play(opening)
    assert (code, out) == (130, "")


async def test_a_fault_before_the_run_reaches_the_caller_and_the_reader_of_json(
    play: Play, played: list[str]
) -> None:
    """A configuration fault is raised for the message, and JSON readers get an object."""

    @asynccontextmanager
    async def broken(options: RunOptions) -> AsyncIterator[Any]:
        raise ConfigError("no such role")
        yield

    with pytest.raises(ConfigError):
        await play(broken, "json")
    assert json.loads(played[0])["error"]["message"] == "no such role"


async def test_a_fault_in_the_middle_ends_the_run(play: Play, played: list[str]) -> None:
    """A store that breaks reaches the caller, and text readers get nothing."""

    class Broken(Player):
        async def __aiter__(self) -> AsyncIterator[Any]:
            raise StoreError("disk full")
            yield

    with pytest.raises(StoreError):
        await play(Broken([], DONE))
    assert played == [""]


def test_the_way_to_go_on_names_what_the_session_does_not_keep() -> None:
    """Model, team and mode are flags of the run, not of the session."""
    result = TurnResult("cancelled", "aborted_tools", session_id="s-1")
    options = RunOptions(model="script:a b.yaml", team=Path("crew"), mode="plan")
    words = last_words(result, str(Path.cwd()), options)
    assert "--resume s-1 --model 'script:a b.yaml' --team crew --mode plan" in words


def test_a_result_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    """A full disk is told, with where the result is all the same."""
    script = tmp_path / "s.yaml"
    script.write_text("script: 1\nturns: [{text: hi}]\n", encoding="utf-8")
    line = [sys.executable, "-m", "hub", "run", "go", "-q", "--model", f"script:{script}"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            line,
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "could not be written: No space left" in done.stderr
    assert "hub sessions show s-" in done.stderr
