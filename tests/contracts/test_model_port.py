"""What every Model keeps: the chat model over a scripted server, and the script in process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from hub.core.errors import ModelError
from hub.core.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from hub.core.modelspec import ModelSpec
from hub.core.ports import Model
from hub.core.requests import (
    Completion,
    ModelEvent,
    ModelRequest,
    ReasoningPiece,
    RetryNotice,
    TextPiece,
)
from hub.models.registry import Models
from hub.testing.clock import FakeClock
from hub.testing.serving import serve_model

Opener = Callable[[str], AbstractAsyncContextManager[Model]]

TOOLS = (ToolSpec("read", "Reads.", {"type": "object", "properties": {}}),)
PROMPT: list[Message] = [UserMessage("Survey the folder")]
TEAM_WORK = """
script: 1
turns:
  - text: "Looking. "
    reasoning: "Where to begin"
    calls:
      - {tool: read, id: c1, args: {path: a.txt}}
      - {tool: read, id: c2, args: {path: "ü😀"}}
    usage: {input_tokens: 70, output_tokens: 30, cached_tokens: 20, reasoning_tokens: 5}
  - text: "{{ last[0].text }} and {{ last[1].text }}"
"""


@pytest.fixture(params=["chat", "script"])
def open_model(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Return what opens a model that follows a script."""

    @asynccontextmanager
    async def over_http(script: str) -> AsyncIterator[Model]:
        models = Models(FakeClock(patient=False))
        async with serve_model(script) as server:
            yield models.open(ModelSpec("m", "scripted", server.base_url))
            await models.aclose()

    @asynccontextmanager
    async def in_process(script: str) -> AsyncIterator[Model]:
        path = tmp_path / "work.script.yaml"
        path.write_text(script, encoding="utf-8")
        models = Models(FakeClock())
        yield models.open(f"script:{path}")
        await models.aclose()

    return over_http if request.param == "chat" else in_process


async def ask(model: Model, messages: list[Message]) -> list[ModelEvent]:
    with anyio.fail_after(5):
        async with model.stream(ModelRequest("Be brief.", messages, TOOLS)) as items:
            return [item async for item in items]


async def answer(model: Model, messages: list[Message]) -> Completion:
    last = (await ask(model, messages))[-1]
    assert isinstance(last, Completion)
    return last


async def test_the_only_completion_is_the_last_item_and_repeats_the_pieces(
    open_model: Opener,
) -> None:
    """Whoever shows the pieces and whoever stores the message have the same text."""
    async with open_model(TEAM_WORK) as model:
        *pieces, last = await ask(model, PROMPT)
    assert isinstance(last, Completion)
    assert not any(isinstance(item, Completion | RetryNotice) for item in pieces)
    text = "".join(item.text for item in pieces if isinstance(item, TextPiece))
    reasoning = "".join(item.text for item in pieces if isinstance(item, ReasoningPiece))
    assert (text, reasoning) == ("Looking. ", "Where to begin")
    assert last.message.text == text
    assert last.message.reasoning == reasoning


async def test_calls_finish_and_usage_are_in_the_completion(open_model: Opener) -> None:
    """Calls in order with their ids; arguments as JSON; tokens as the model's side counts them."""
    async with open_model(TEAM_WORK) as model:
        end = await answer(model, PROMPT)
    assert [(call.id, call.name) for call in end.message.calls] == [("c1", "read"), ("c2", "read")]
    assert "ü😀" in end.message.calls[1].arguments
    assert end.finish == "tool_calls"
    assert end.usage == Usage(70, 30, cached_tokens=20, reasoning_tokens=5, requests=1)


async def test_a_conversation_goes_on_with_its_results(open_model: Opener) -> None:
    """The next request holds the answer and its results, also one that is an error."""
    async with open_model(TEAM_WORK) as model:
        first = (await answer(model, PROMPT)).message
        results = [ToolMessage("c1", "read", "one"), ToolMessage("c2", "read", "two")]
        end = await answer(model, [*PROMPT, first, *results])
    assert end.message == AssistantMessage("one and two")
    assert end.finish == "stop"


async def test_the_same_request_gives_the_same_answer_again(open_model: Opener) -> None:
    """A model holds no conversation: everything is in the request."""
    async with open_model(TEAM_WORK) as model:
        first = await answer(model, PROMPT)
        second = await answer(model, PROMPT)
    assert first.message == second.message


async def test_one_instance_serves_many_sessions_at_once(open_model: Opener) -> None:
    """Answers do not get mixed up."""
    echo = "script: 1\nturns:\n  - text: 'you said {{ prompt }}'\n"
    found: dict[int, str] = {}

    async def session(number: int) -> None:
        found[number] = (await answer(model, [UserMessage(f"n{number}")])).message.text

    async with open_model(echo) as model, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(session, number)
    assert found == {number: f"you said n{number}" for number in range(20)}


async def test_an_answer_that_says_nothing_is_an_error(open_model: Opener) -> None:
    """A message with neither text nor calls must never enter a history."""
    async with open_model("script: 1\nturns:\n  - text: \"{{ '' }}\"\n") as model:
        with pytest.raises(ModelError) as caught:
            await ask(model, PROMPT)
    assert caught.value.kind in {"incomplete", "script"}


async def test_no_answer_at_all_is_a_model_error(open_model: Opener) -> None:
    """Nothing is left to say, which the port names in words."""
    async with open_model("script: 1\nturns:\n  - text: Done.\n") as model:
        end = await answer(model, PROMPT)
        with pytest.raises(ModelError, match="turns of the script are played"):
            await ask(model, [*PROMPT, end.message, UserMessage("And now?")])


async def test_a_length_limit_reaches_the_caller_with_the_calls_as_they_are(
    open_model: Opener,
) -> None:
    """Case A10: the reason decides, so it must not be lost."""
    cut = """
script: 1
turns:
  - calls: [{tool: read, id: c1, raw_args: '{"path":"a","content":"xx'}]
    finish: length
"""
    async with open_model(cut) as model:
        end = await answer(model, PROMPT)
    assert end.finish == "length"
    assert end.message.calls == (ToolCall("c1", "read", '{"path":"a","content":"xx'),)


async def test_ids_of_calls_never_repeat_in_a_conversation(open_model: Opener) -> None:
    """A second call of a known id would lose its result."""
    twice = """
script: 1
turns:
  - calls: [{tool: read, id: same}, {tool: read, id: same}]
  - calls: [{tool: read, id: same}]
"""
    async with open_model(twice) as model:
        first = (await answer(model, PROMPT)).message
        results = [ToolMessage(call.id, "read", "x") for call in first.calls]
        second = (await answer(model, [*PROMPT, first, *results])).message
    ids = [call.id for call in (*first.calls, *second.calls)]
    assert len(set(ids)) == 3


async def test_leaving_early_leaves_the_model_usable(open_model: Opener) -> None:
    """The context is left before the answer was read, and by an exception of the body."""
    async with open_model(TEAM_WORK) as model:
        with anyio.fail_after(5):
            async with model.stream(ModelRequest("", PROMPT, TOOLS)):
                pass
            with pytest.raises(ValueError, match="mine"):
                await _fail_inside(model)
        assert await answer(model, PROMPT)


async def _fail_inside(model: Model) -> None:
    async with model.stream(ModelRequest("", PROMPT, TOOLS)) as items:
        await anext(items)
        raise ValueError("mine")


async def test_a_cancelled_consumer_gets_its_cancellation(open_model: Opener) -> None:
    """It is neither swallowed nor turned into another error, and nothing is left running."""
    async with open_model(TEAM_WORK) as model:
        with anyio.fail_after(5), anyio.CancelScope() as scope:
            async with model.stream(ModelRequest("", PROMPT, TOOLS)) as items:
                scope.cancel()
                async for _ in items:
                    await anyio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert await answer(model, PROMPT)


async def test_only_scripts_have_something_left_to_say(open_model: Opener) -> None:
    """A script names the first turn that was not played, with file and line."""
    async with open_model(TEAM_WORK) as model:
        first = (await answer(model, PROMPT)).message
        left = model.leftover([*PROMPT, first])
        assert model.name
    if model.name.startswith("script:"):
        assert "1 turn" in left
        assert left.endswith("work.script.yaml:10")
    else:
        assert left == ""
