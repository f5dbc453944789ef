"""What servers ask in the middle of a call, in both eras, over both transports (H30)."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from msgspec.structs import replace

from hub.connections.pool import ServerPool
from hub.core import events as ev
from hub.core.asking import Elicitation, Elicited, Sampled, Sampling
from hub.core.clock import SystemClock
from hub.core.messages import ToolOutcome
from hub.core.ports import CallContext
from hub.core.servers import Ask
from hub.testing.faulty.launch import FaultyLog, faulty_http
from tests.connections.pools import LIMIT, Heard, faulty, over_http

Way = tuple[Literal["stdio", "http"], Literal["handshake", "modern"]]

WAYS: list[Way] = [
    ("stdio", "handshake"),
    ("stdio", "modern"),
    ("http", "handshake"),
    ("http", "modern"),
]
every_way = pytest.mark.parametrize("way", WAYS, ids="-".join)


class Person:
    """Answers in a way that a test gives, and keeps what was asked."""

    def __init__(self, answer: Callable[[], Elicited], sampled: Sampled | None = None) -> None:
        self._answer = answer
        self._sampled = sampled or Sampled("hello", "script")
        self.asked: list[Elicitation] = []
        self.samples: list[Sampling] = []
        self.wait = anyio.Event()
        self.came = anyio.Event()
        self.wait.set()

    async def elicit(self, question: Elicitation) -> Elicited:
        self.asked.append(question)
        self.came.set()
        await self.wait.wait()
        return self._answer()

    async def sample(self, request: Sampling, context: CallContext) -> Sampled:
        self.samples.append(request)
        return self._sampled


def accepts(**content: Any) -> Person:
    return Person(lambda: Elicited("accept", content))


@asynccontextmanager
async def asking(
    tmp_path: Path,
    way: Way,
    kind: str,
    person: Person | None = None,
    *,
    may_ask: tuple[Ask, ...] = ("elicitation",),
    call: float = 10,
    heard: Heard | None = None,
) -> AsyncIterator[tuple[ServerPool, FaultyLog]]:
    """A pool over a server that asks in the middle of every echo."""
    transport, era = way
    knobs, log = (f"ask={kind}", f"era={era}"), tmp_path / "log"
    with anyio.fail_after(LIMIT):
        async with faulty_http(*knobs, log=log) as url:
            spec = faulty("bad", *knobs, log=log, call=call)
            if transport == "http":
                spec = over_http("bad", url, call=call)
            async with ServerPool(
                [replace(spec, may_ask=may_ask)],
                workspace=tmp_path,
                env=os.environ,
                resolve=lambda spec: spec,
                emit=(heard or Heard()).emit,
                clock=SystemClock(),
                answers=person,
            ) as pool:
                yield pool, FaultyLog(log)


async def echo(pool: ServerPool, heard: Heard, *, agent: str = "lead") -> ToolOutcome:
    """The outcome of a call whose session hears of it."""
    context = CallContext(f"s-{agent}", agent, f"c-{agent}", lambda *_: None, heard.emit)
    return await pool.call("bad", "echo", {"text": "x"}, context)


def told(heard: Heard) -> tuple[str, str, str]:
    """What the log says of the only question."""
    (event,) = heard.of(ev.ServerAsked)
    return event.asked, event.outcome, event.reason


@every_way
async def test_an_answer_of_the_user_reaches_the_server(tmp_path: Path, way: Way) -> None:
    """Who asks, for whom and what is shown; the log has the question, not the answer (H30)."""
    person, heard = accepts(colour="ultraviolet"), Heard()
    async with asking(tmp_path, way, "elicitation", person) as (pool, _):
        outcome = await echo(pool, heard)
    assert "ultraviolet" in outcome.text
    (question,) = person.asked
    assert (question.server, question.agent, question.call_id) == ("bad", "lead", "c-lead")
    assert question.message == "Which colour?"
    (event,) = heard.of(ev.ServerAsked)
    assert (event.outcome, event.fields, event.call_id) == ("answered", ["colour"], "c-lead")
    assert "ultraviolet" not in event.model_dump_json()


@every_way
@pytest.mark.parametrize(
    ("action", "outcome", "reply"),
    [
        ("decline", "declined", "decline"),
        ("cancel", "cancelled", "cancel"),
        ("nobody", "refused", "decline"),
    ],
)
async def test_a_question_that_is_not_answered_is_declined_at_once(
    tmp_path: Path, way: Way, action: Any, outcome: str, reply: str
) -> None:
    """Never silence; the reason is in the log (H30)."""
    person, heard = Person(lambda: Elicited(action)), Heard()
    async with asking(tmp_path, way, "elicitation", person) as (pool, _):
        assert f'"action": "{reply}"' in (await echo(pool, heard)).text
    assert told(heard)[:2] == ("elicitation", outcome)


@every_way
async def test_without_anybody_a_question_is_declined(tmp_path: Path, way: Way) -> None:
    """As in a run without a terminal (H30)."""
    heard = Heard()
    async with asking(tmp_path, way, "elicitation") as (pool, _):
        with anyio.fail_after(10):
            assert '"action": "decline"' in (await echo(pool, heard)).text
    assert told(heard) == ("elicitation", "refused", "nobody can be asked")


@every_way
@pytest.mark.parametrize("kind", ["roots", "sampling"])
async def test_what_the_settings_do_not_allow_is_refused_and_told(
    tmp_path: Path, way: Way, kind: str
) -> None:
    """The server learns it at once, and the log names the setting (H30)."""
    person, heard = accepts(), Heard()
    async with asking(tmp_path, way, kind, person) as (pool, _):
        outcome = await echo(pool, heard)
    assert "servers.bad.may_ask" in outcome.text
    if way[1] == "handshake":
        assert json.loads(outcome.text)["error"]["code"] == -32601
    else:
        assert outcome.kind == "input_required"
    assert told(heard)[:2] == (kind, "refused")
    assert person.samples == []


async def test_capabilities_are_those_of_the_settings(tmp_path: Path) -> None:
    """With nothing allowed even a question to the user is refused."""
    heard = Heard()
    async with asking(tmp_path, ("stdio", "handshake"), "url", accepts(), may_ask=()) as (pool, _):
        assert "-32601" in (await echo(pool, heard)).text
    assert told(heard)[:2] == ("elicitation", "refused")


@every_way
async def test_roots_are_the_workspace_and_nothing_else(tmp_path: Path, way: Way) -> None:
    """Only for a server that may ask."""
    heard = Heard()
    async with asking(tmp_path, way, "roots", may_ask=("roots",)) as (pool, _):
        outcome = await echo(pool, heard)
    (root,) = json.loads(outcome.text)["result"]["roots"]
    assert root["uri"] == tmp_path.as_uri()
    assert told(heard) == ("roots", "answered", "")


@every_way
async def test_a_model_answers_where_that_is_allowed(tmp_path: Path, way: Way) -> None:
    """Its text, its name, and why it stopped."""
    person, heard = Person(lambda: Elicited("nobody"), Sampled("hello", "gpt", cut=True)), Heard()
    async with asking(tmp_path, way, "sampling", person, may_ask=("sampling",)) as (pool, _):
        result = json.loads((await echo(pool, heard)).text)["result"]
    assert (result["content"]["text"], result["model"]) == ("hello", "gpt")
    assert result["stopReason"] == "maxTokens"
    (request,) = person.samples
    assert (request.messages[0].text, request.max_tokens) == ("Say hello.", 16)
    assert told(heard) == ("sampling", "answered", "")


@every_way
async def test_a_model_that_may_not_answer_is_refused_with_the_reason(
    tmp_path: Path, way: Way
) -> None:
    """Both the server and the log are told it."""
    person, heard = Person(lambda: Elicited("nobody"), Sampled(refused="the user said no")), Heard()
    async with asking(tmp_path, way, "sampling", person, may_ask=("sampling",)) as (pool, _):
        assert "the user said no" in (await echo(pool, heard)).text
    assert told(heard) == ("sampling", "refused", "the user said no")


@every_way
async def test_one_call_costs_a_few_answers_of_a_model_at_most(tmp_path: Path, way: Way) -> None:
    """A server cannot spend without end."""
    person, heard = accepts(), Heard()
    async with asking(tmp_path, way, "again", person, may_ask=("sampling",)) as (pool, _):
        assert "one call may cost 5" in (await echo(pool, heard)).text
    assert len(person.samples) == 5


@every_way
async def test_a_form_is_shown_field_by_field_and_checked(tmp_path: Path, way: Way) -> None:
    """Kinds, titles, choices, bounds and defaults."""
    person, heard = accepts(name="ada", size="m", toppings=["c"], news=True), Heard()
    async with asking(tmp_path, way, "form", person) as (pool, _):
        result = json.loads((await echo(pool, heard)).text)["result"]
    assert result["content"] == {"name": "ada", "size": "m", "toppings": ["c"], "news": True}
    fields = {field.name: field for field in person.asked[0].fields}
    assert [field.kind for field in fields.values()] == [
        "text", "integer", "choice", "choices", "switch",
    ]  # fmt: skip
    assert fields["name"].required
    assert fields["name"].least == 2
    assert [choice.label for choice in fields["size"].choices] == ["Small", "Medium"]
    assert [choice.label for choice in fields["toppings"].choices] == ["Cheese", "o"]
    assert fields["news"].default is False


async def test_an_answer_that_does_not_fit_never_reaches_the_server(tmp_path: Path) -> None:
    """Whoever wrote the elicitor made a mistake; the server gets a no."""
    heard = Heard()
    async with asking(tmp_path, ("stdio", "modern"), "form", accepts(name="a")) as (pool, _):
        assert '"action": "decline"' in (await echo(pool, heard)).text
    asked, outcome, reason = told(heard)
    assert (asked, outcome) == ("elicitation", "failed")
    assert "'size' is missing" in reason


@every_way
async def test_an_address_is_shown_and_consent_goes_back(tmp_path: Path, way: Way) -> None:
    """Nothing opens it but the user; the log keeps the site, not the address."""
    person, heard = accepts(), Heard()
    async with asking(tmp_path, way, "url", person) as (pool, _):
        result = json.loads((await echo(pool, heard)).text)["result"]
    assert result["action"] == "accept"
    assert "content" not in result
    assert person.asked[0].url == "http://127.0.0.1:9/sign-in"
    (event,) = heard.of(ev.ServerAsked)
    assert event.site == "http://127.0.0.1"
    assert "sign-in" not in event.model_dump_json()


async def test_a_call_that_sends_the_user_away_says_what_came_of_it(tmp_path: Path) -> None:
    """The address is shown, and the model is told to call again."""
    person, heard = accepts(), Heard()
    async with asking(tmp_path, ("stdio", "handshake"), "away", person) as (pool, _):
        outcome = await echo(pool, heard)
    assert outcome.kind == "input_required"
    assert "Call again once that is done" in outcome.text
    assert person.asked[0].url == "http://127.0.0.1:9/sign-in"


@every_way
async def test_the_clock_of_a_call_stands_still_while_a_person_thinks(
    tmp_path: Path, way: Way
) -> None:
    """Its limit is for the server."""
    person, heard = accepts(colour="red"), Heard()
    person.wait = anyio.Event()
    async with asking(tmp_path, way, "elicitation", person, call=1.0) as (pool, _):
        await pool.listing("bad")
        async with anyio.create_task_group() as group:

            async def answer_late() -> None:
                await person.came.wait()
                await SystemClock().sleep(1.3)
                person.wait.set()

            group.start_soon(answer_late)
            assert "red" in (await echo(pool, heard)).text


@every_way
async def test_a_question_is_withdrawn_when_its_call_is_cancelled(tmp_path: Path, way: Way) -> None:
    """Nobody is left sitting before it, and the next call works."""
    person, heard = accepts(colour="red"), Heard()
    person.wait = anyio.Event()
    async with asking(tmp_path, way, "elicitation", person, heard=heard) as (pool, log):
        async with anyio.create_task_group() as group:
            group.start_soon(echo, pool, heard)
            await person.came.wait()
            group.cancel_scope.cancel()
        if way[1] == "handshake":
            await heard.wait_for(ev.ServerAsked)
            assert told(heard)[1] == "cancelled"
            await log.wait_for("cancel")
        person.wait.set()
        assert "red" in (await echo(pool, heard)).text


async def test_agents_that_may_be_meant_are_all_named_and_no_model_is_guessed(
    tmp_path: Path,
) -> None:
    """Over stdio the older protocol does not say for which of two calls a server asks."""
    person, heard = accepts(colour="red"), Heard()
    person.wait = anyio.Event()
    way: Way = ("stdio", "handshake")
    async with asking(tmp_path, way, "elicitation", person) as (pool, _):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: echo(pool, heard, agent="lead/a"))
            await person.came.wait()
            person.came = anyio.Event()
            group.start_soon(lambda: echo(pool, heard, agent="lead/b"))
            await person.came.wait()
            person.wait.set()
    assert person.asked[1].agent == "lead/a, lead/b"
    assert person.asked[1].call_id == ""
