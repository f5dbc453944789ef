"""The Model port over a script: a role that costs no tokens and always does the same."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.lowlevel

from hub.core.errors import ScriptFileError
from hub.core.messages import AssistantMessage, FinishReason, Message, Usage
from hub.core.prices import FREE, Price
from hub.core.requests import Completion, ModelEvent, ModelRequest, ReasoningPiece, TextPiece
from hub.models.chat.call_ids import ids_of, with_unique_ids
from hub.models.script.file import Script, load_scripts
from hub.models.script.player import Played, Player, ScriptError

_FINISHES: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
    "incomplete": "incomplete",
}


class ScriptModel:
    """Answers from a script, in this process."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._player = Player(script)

    @property
    def name(self) -> str:
        """What the log and the live view call it."""
        return f"script:{Path(self._script.path).name}"

    @property
    def price(self) -> Price | None:
        """Nothing: it answers in this process."""
        return FREE

    @property
    def output_cap(self) -> int | None:
        """No cap: what it says is written down."""
        return None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """Open the answer to a request.

        Raises:
            ScriptError: the script and the conversation do not fit.
        """
        await anyio.lowlevel.checkpoint()
        played = self._player.play(
            request.messages,
            instructions=request.instructions,
            tools=[tool.name for tool in request.tools],
        )
        if not played.calls and not played.text.strip():
            raise ScriptError(
                "the turn says nothing: it has no call and no text",
                where=self._script.place(played.turn.line),
            )
        yield _items(played, ids_of(request.messages))

    def leftover(self, messages: Sequence[Message]) -> str:
        """Name the turns that were not played; empty when all were."""
        left = self._player.leftover(messages)
        if not left:
            return ""
        turns = "turn was" if len(left) == 1 else "turns were"
        first = self._script.place(left[0].line)
        return f"{len(left)} {turns} left over in the script; the first is at {first}"

    async def aclose(self) -> None:
        """Do nothing: a script holds no connection."""


def open_script(path: Path) -> ScriptModel:
    """Return the model of a script file that has one agent.

    Raises:
        ScriptFileError: the file cannot be read, or holds several agents.
    """
    scripts = load_scripts(path)
    if len(scripts) != 1:
        raise ScriptFileError(
            f"the script has {len(scripts)} agents, a role needs a script of its own",
            where=str(path),
            remedy="Write one file with 'turns:' for each role.",
        )
    return ScriptModel(scripts[0])


async def _items(played: Played, taken: set[str]) -> AsyncIterator[ModelEvent]:
    if played.reasoning:
        yield ReasoningPiece(played.reasoning)
    if played.text:
        yield TextPiece(played.text)
    usual = "tool_calls" if played.calls else "stop"
    calls = with_unique_ids(played.calls, taken)
    message = AssistantMessage(played.text, calls, played.reasoning)
    given = played.turn.usage or {}
    usage = Usage(
        input_tokens=int(given.get("input_tokens", 0)),
        output_tokens=int(given.get("output_tokens", 0)),
        cached_tokens=int(given.get("cached_tokens", 0)),
        reasoning_tokens=int(given.get("reasoning_tokens", 0)),
        requests=1,
    )
    yield Completion(message, _FINISHES[played.turn.finish or usual], usage)
