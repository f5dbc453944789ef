"""The faulty server's start, handshake and end: each knob does what its line says."""

import os
import signal

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from hub.testing.faulty.launch import FaultyLog, faulty_command, wait_until_gone
from tests.testing.raw_server import INITIALIZE, exit_of, is_silent, raw_server

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


def stdio(*knobs: str, log: object = None) -> StdioServerParameters:
    """The launch parameters of the SDK for a faulty server."""
    command, args = faulty_command(*knobs, log=log)
    return StdioServerParameters(command=command, args=args)


async def test_a_mute_server_reads_and_never_answers(tmp_path):
    """H1: the request arrives, the answer does not."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server("mute", log=tmp_path / "log", handshake=False) as server:
        await server.request("initialize", **INITIALIZE)
        await log.wait_for("request", method="initialize")
        assert await is_silent(server)


async def test_a_server_can_answer_everything_but_the_handshake():
    """H1: a ping is no sign that initialize will be answered."""
    async with raw_server("initialize_never", handshake=False) as server:
        await server.request("initialize", **INITIALIZE)
        assert (await server.ask("ping"))["result"] == {}


@pytest.mark.parametrize("knob", ["slow_start=0.4", "initialize_delay=0.4"])
async def test_a_slow_server_answers_late(knob):
    """H2, H3: the time until the first answer is as asked for."""
    async with raw_server(knob, handshake=False) as server:
        begin = anyio.current_time()
        await server.ask("initialize", **INITIALIZE)
        assert anyio.current_time() - begin >= 0.3


@pytest.mark.parametrize(
    ("knob", "code", "reason"),
    [("exit_on_start=5", 5, "no licence file"), ("exit_on_initialize", 1, "cannot open")],
)
async def test_a_server_that_dies_at_its_start_says_why_on_stderr(knob, code, reason):
    """H5, H11: the exit code and the reason are there to be shown."""
    async with raw_server(knob, handshake=False) as server:
        await server.request("initialize", **INITIALIZE)
        status, stderr = await exit_of(server)
        assert status == code
        assert reason in stderr


async def test_a_server_can_refuse_the_handshake():
    """H5: initialize is answered with an error."""
    async with raw_server("initialize_error=-32000", handshake=False) as server:
        assert (await server.ask("initialize", **INITIALIZE))["error"]["code"] == -32000


@pytest.mark.parametrize(
    ("knob", "method"), [("exit_after_initialize", "initialize"), ("exit_after_list", "tools/list")]
)
async def test_a_server_can_end_right_after_a_good_answer(knob, method):
    """H10: a handshake that succeeds is no sign of health."""
    async with raw_server(knob, handshake=False) as server:
        assert "result" in await server.ask(method)
        assert await exit_of(server) == (0, "")


async def test_every_start_is_counted(tmp_path):
    """H10, H13: one line per start, so that a storm can be seen."""
    for _ in range(3):
        async with raw_server(f"starts={tmp_path / 'starts'}"):
            pass
    assert len((tmp_path / "starts").read_text().splitlines()) == 3


async def test_a_version_that_nobody_knows_stops_the_sdk():
    """The answer to initialize names a protocol of its own."""
    with anyio.fail_after(20), pytest.raises(ExceptionGroup) as caught:
        async with Client(stdio("version=1999-01-01"), mode="legacy"):
            pass
    assert caught.group_contains(RuntimeError, match="1999-01-01", depth=None)


async def test_a_server_can_hide_who_it_is():
    """serverInfo is missing, and instructions come only where asked for."""
    async with raw_server("no_server_info", "instructions=Be quick.", handshake=False) as server:
        result = (await server.ask("initialize", **INITIALIZE))["result"]
        assert "serverInfo" not in result
        assert result["instructions"] == "Be quick."


@pytest.mark.parametrize(
    ("how", "code"), [("error", METHOD_NOT_FOUND), ("invalid_params", INVALID_PARAMS)]
)
async def test_a_handshake_server_refuses_the_probe(how, code):
    """H31: the probe gets an error and the handshake goes on."""
    async with raw_server(f"discover={how}", handshake=False) as server:
        assert (await server.ask("server/discover"))["error"]["code"] == code
        assert "result" in await server.ask("initialize", **INITIALIZE)


async def test_a_handshake_server_can_ignore_the_probe():
    """H31: silence, and then the handshake works."""
    async with raw_server("discover=silent", handshake=False) as server:
        await server.request("server/discover")
        assert "result" in await server.ask("initialize", **INITIALIZE)


async def test_a_handshake_server_can_die_of_the_probe(tmp_path):
    """H31: the SDK's automatic mode loses such a server."""
    log = FaultyLog(tmp_path / "log")
    with anyio.fail_after(20), pytest.raises(ExceptionGroup) as caught:
        async with Client(stdio("discover=exit", log=tmp_path / "log"), mode="auto"):
            pass
    assert caught.group_contains(MCPError, depth=None)
    assert log.events("exit", code=1)


async def test_a_modern_server_refuses_the_handshake():
    """H31: initialize is answered with the versions that are supported instead."""
    async with raw_server("era=modern", handshake=False) as server:
        error = (await server.ask("initialize", **INITIALIZE))["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": ["2026-07-28"]}


async def test_ping_can_be_unknown_or_unanswered():
    """H8: either says nothing about the server's health."""
    async with raw_server("ping_unsupported") as server:
        assert (await server.ask("ping"))["error"]["code"] == METHOD_NOT_FOUND
    async with raw_server("ping_never") as server:
        await server.request("ping")
        assert "result" in await server.ask("tools/list")


async def test_a_chatty_server_waits_until_its_stderr_is_read():
    """H31: more than a pipe holds, before anything is answered."""
    async with raw_server("stderr_flood=300000", handshake=False) as server:
        await server.request("initialize", **INITIALIZE)
        assert await is_silent(server)
        async with anyio.create_task_group() as group:
            group.start_soon(exit_of, server)
            assert "result" in await server.message()
            await server.close_input()


async def test_a_stubborn_server_ignores_the_end_of_its_input_and_sigterm(tmp_path):
    """H9: only SIGKILL ends it."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server("ignore_eof", "ignore_term", log=tmp_path / "log") as server:
        await server.close_input()
        await log.wait_for("eof", ignored=True)
        server.process.terminate()
        await log.wait_for("signal", ignored=True)
        assert server.process.returncode is None
        server.process.kill()
        assert await server.process.wait() == -signal.SIGKILL


async def test_an_ordinary_server_ends_on_sigterm(tmp_path):
    """The exit code says which signal it was."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server(log=tmp_path / "log") as server:
        server.process.terminate()
        assert await server.process.wait() == 128 + signal.SIGTERM
    assert log.events("exit", why="signal")


async def test_a_server_outlives_nobody_longer_than_its_lifetime(tmp_path):
    """A test that fails leaves nothing behind for ever."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server("lifetime=0.5", "ignore_eof", log=tmp_path / "log") as server:
        await server.close_input()
        assert await server.process.wait() == 70
    assert log.events("exit", why="lifetime")


@pytest.mark.parametrize(("how", "same_group"), [("group", True), ("session", False)])
async def test_a_grandchild_outlives_the_server_and_sigterm(tmp_path, how, same_group):
    """H9, A47: killing the direct child, or its group politely, is not enough."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server(f"grandchild={how}", log=tmp_path / "log") as server:
        try:
            (child,) = [event["child"] for event in log.events("spawned")]
            assert (os.getpgid(child) == server.process.pid) is same_group
            os.killpg(server.process.pid, signal.SIGTERM)
            await wait_until_gone(server.process.pid)
            os.kill(child, signal.SIGTERM)
            assert os.getpgid(child)
        finally:
            log.end_spawned()
        await wait_until_gone(child)


async def test_the_tool_spawn_leaves_a_grandchild_too(tmp_path):
    """H9: wrappers fork at any time, not only at their start."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server(log=tmp_path / "log") as server:
        reply = await server.call("spawn", how="session")
        child = int(reply["result"]["content"][0]["text"])
        try:
            os.kill(child, signal.SIGTERM)
            assert os.getsid(child) == child
        finally:
            log.end_spawned()
        await wait_until_gone(child)
