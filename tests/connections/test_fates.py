"""What is said of a call that came to nothing, and which calls are sent once more."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.connections.calls import FATES
from hub.core.messages import ToolOutcome
from hub.core.servers import ServerSpec, ToolRule
from hub.testing.faulty.launch import FaultyLog, faulty_http
from tests.connections.pools import called, faulty, open_pool, over_http

WORDS = ("did not run", "may have run", "The tool ran")


def fate(outcome: ToolOutcome) -> str:
    """The one thing that is said of the call, which its kind says as well."""
    said = [words for words in WORDS if words in outcome.text]
    assert len(said) == 1, outcome.text
    assert FATES[outcome.kind] in said[0]
    return outcome.kind


@pytest.mark.parametrize(
    ("knobs", "kind"),
    [
        (("crash_on_call=7",), "server_lost"),
        (("torn_reply",), "server_lost"),
        (("call_never",), "timeout"),
        (("exit_on_start=3",), "server_unavailable"),
        (("list_error=-32603",), "server_unavailable"),
        (("no_content",), "invalid_result"),
    ],
)
async def test_a_lost_call_says_whether_it_ran(tmp_path: Path, knobs: tuple[str, ...], kind: str):
    """Exactly one of: did not run, may have run, ran (H12, A48)."""
    async with open_pool(faulty("a", *knobs, call=0.5), workspace=tmp_path) as pool:
        assert fate(await called(pool, "a", "echo", text="x")) == kind


@pytest.mark.parametrize(
    ("knobs", "kind"),
    [
        (("drop_connection",), "server_lost"),
        (("lose_session=404", "lose_after=1", "era=handshake"), ""),
        (("http_status=503",), "server_unavailable"),
    ],
)
async def test_a_lost_call_over_http_says_whether_it_ran(
    tmp_path: Path, knobs: tuple[str, ...], kind: str
):
    """The same over HTTP; a forgotten session costs nothing (H12, H27)."""
    async with (
        faulty_http(*knobs) as url,
        open_pool(over_http("a", url, call=5), workspace=tmp_path) as pool,
    ):
        for _ in range(2):
            outcome = await called(pool, "a", "echo", text="x")
            assert (fate(outcome) if outcome.is_error else "") == kind


def crashing_once(tmp_path: Path, rule: ToolRule | None = None) -> ServerSpec:
    """A server that dies of its first call and is healthy from its second start on."""
    knobs = (f"starts={tmp_path / 'n'}", "crash_on_call@1=7")
    spec = faulty("a", *knobs, log=tmp_path / "log")
    return spec if rule is None else replace(spec, tools={"echo": rule})


@pytest.mark.parametrize(
    ("rule", "pinned", "repeated"),
    [
        (None, False, False),
        (None, True, True),
        (ToolRule(idempotent=True), False, True),
        (ToolRule(idempotent=False), True, False),
        (ToolRule(), True, True),
    ],
)
async def test_a_call_that_may_have_run_is_repeated_only_where_that_was_approved(
    tmp_path: Path, rule: ToolRule | None, *, pinned: bool, repeated: bool
):
    """By the settings, or else by the pin; what the server says of itself is not enough (H12)."""
    asked: list[tuple[str, str]] = []

    def idempotent(spec: ServerSpec, tool: str) -> bool:
        asked.append((spec.name, tool))
        return pinned

    spec = crashing_once(tmp_path, rule)
    async with open_pool(spec, workspace=tmp_path, idempotent=idempotent) as pool:
        outcome = await called(pool, "a", "echo", text="x")
    assert outcome.is_error != repeated
    if not repeated:
        assert fate(outcome) == "server_lost"
    assert len(FaultyLog(tmp_path / "log").events("start")) == (2 if repeated else 1)
    assert asked in ([], [("a", "echo")])


async def test_a_call_that_is_lost_twice_is_not_sent_a_third_time(tmp_path: Path):
    """Even where it may be repeated (H10, H12)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "crash_on_call=7", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path, idempotent=lambda spec, tool: True) as pool:
        assert fate(await called(pool, "a", "echo", text="x")) == "server_lost"
    assert len(log.events("start")) == 2


async def test_a_call_that_ran_out_of_time_is_not_repeated(tmp_path: Path):
    """Its limit is the user's; a second wait as long would break it (A48)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", "call_never", log=tmp_path / "log", call=0.5)
    async with open_pool(spec, workspace=tmp_path, idempotent=lambda spec, tool: True) as pool:
        assert fate(await called(pool, "a", "echo", text="x")) == "timeout"
    assert len(log.events("call")) == 1


@pytest.mark.parametrize("code", [-32000, -32603])
async def test_an_error_of_the_server_is_not_taken_for_a_lost_connection(tmp_path: Path, code: int):
    """Whatever its code: many servers use the one of a closed connection themselves (H12)."""
    log = FaultyLog(tmp_path / "log")
    spec = faulty("a", f"call_error={code}", log=tmp_path / "log")
    async with open_pool(spec, workspace=tmp_path) as pool:
        for _ in range(2):
            outcome = await called(pool, "a", "echo", text="x")
            assert outcome.kind == "server_error"
            assert str(code) in outcome.text
    assert len(log.events("start")) == 1
