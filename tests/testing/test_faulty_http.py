"""The faulty server over HTTP: each knob does what its line says."""

from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from hub.testing.faulty.launch import FaultyLog, faulty_http

HEADERS = {"Accept": "application/json, text/event-stream"}
BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "hi"}},
}


def slow_call(seconds: float) -> dict:
    """A call of the tool slow."""
    return {**CALL, "params": {"name": "slow", "arguments": {"seconds": seconds}}}


async def begin(client: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """Open a session and return the header that names it."""
    response = await client.post(url, json=BEGIN, headers=HEADERS)
    return {"Mcp-Session-Id": response.headers["mcp-session-id"], **HEADERS}


@pytest.mark.parametrize(("code", "header"), [(503, "retry-after"), (401, "www-authenticate")])
async def test_every_post_can_be_refused(code, header):
    """A status and no JSON-RPC, with the header that belongs to it."""
    with anyio.fail_after(20):
        async with faulty_http(f"http_status={code}") as url, httpx2.AsyncClient() as client:
            response = await client.post(url, json=BEGIN, headers=HEADERS)
            assert response.status_code == code
            assert header in response.headers


async def test_a_post_can_be_redirected():
    """Elsewhere, with the method kept."""
    with anyio.fail_after(20):
        async with (
            faulty_http("redirect=http://127.0.0.1:9/elsewhere") as url,
            httpx2.AsyncClient() as client,
        ):
            response = await client.post(url, json=BEGIN, headers=HEADERS)
            assert response.status_code == 307
            assert response.headers["location"] == "http://127.0.0.1:9/elsewhere"


@pytest.mark.parametrize("code", [404, 400, 503, 200])
async def test_a_session_can_be_lost_after_a_call(tmp_path: Path, code):
    """H27: the next call did not run, whatever the status says."""
    log = FaultyLog(tmp_path / "log")
    knobs = ("lose_after=1", f"lose_session={code}")
    with anyio.fail_after(20):
        async with faulty_http(*knobs, log=tmp_path / "log") as url, httpx2.AsyncClient() as client:
            headers = await begin(client, url)
            assert "result" in (await client.post(url, json=CALL, headers=headers)).json()
            lost = await client.post(url, json=CALL, headers=headers)
            assert lost.status_code == code
            assert lost.json()["error"]["message"] == "Session not found"
    assert len(log.events("call")) == 1
    assert log.events("forgotten")


async def test_a_connection_can_drop_after_the_call_has_run(tmp_path: Path):
    """A48: the side effect is there, the answer is not."""
    log = FaultyLog(tmp_path / "log")
    with anyio.fail_after(20):
        async with (
            faulty_http("drop_connection", log=tmp_path / "log") as url,
            httpx2.AsyncClient() as client,
        ):
            headers = await begin(client, url)
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.post(url, json=CALL, headers=headers)
    assert log.events("called", name="echo")


async def test_a_body_can_break_off():
    """H12: fewer bytes than the header promised."""
    with anyio.fail_after(20):
        async with faulty_http("torn_reply") as url, httpx2.AsyncClient() as client:
            headers = await begin(client, url)
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.post(url, json=CALL, headers=headers)


async def test_a_call_can_stay_without_an_answer():
    """A48: the connection is open and nothing comes."""
    with anyio.fail_after(20):
        async with faulty_http("call_never") as url, httpx2.AsyncClient(timeout=0.3) as client:
            headers = await begin(client, url)
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(url, json=CALL, headers=headers)


async def test_replies_can_be_event_streams_that_never_end():
    """The reply is there, and the stream stays open after it."""
    with anyio.fail_after(20):
        async with (
            faulty_http("sse_replies", "endless_sse") as url,
            httpx2.AsyncClient(timeout=0.5) as client,
            client.stream("POST", url, json=BEGIN, headers=HEADERS) as response,
        ):
            assert response.headers["content-type"] == "text/event-stream"
            lines = response.aiter_lines()
            assert await anext(lines) == "event: message"
            assert '"result"' in await anext(lines)
            assert await anext(lines) == ""
            with pytest.raises(httpx2.ReadTimeout):
                await anext(lines)


async def test_a_modern_call_is_cancelled_by_closing_its_response(tmp_path: Path):
    """H22: over HTTP, the 2026 era has no other cancel."""
    log = FaultyLog(tmp_path / "log")
    with anyio.fail_after(20):
        async with (
            faulty_http("era=both", log=tmp_path / "log") as url,
            Client(url, mode="auto") as client,
        ):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "slow", {"seconds": 60})
                await log.wait_for("call", name="slow")
                group.cancel_scope.cancel()
            await log.wait_for("disconnect")
            await log.wait_for("called", name="slow", answered=False)


async def test_a_handshake_call_is_cancelled_by_a_notification_and_not_by_leaving(tmp_path: Path):
    """H22: a client that only closes the connection has cancelled nothing."""
    log = FaultyLog(tmp_path / "log")
    with anyio.fail_after(20):
        async with faulty_http(log=tmp_path / "log") as url, httpx2.AsyncClient() as client:
            headers = await begin(client, url)
            with anyio.move_on_after(0.2):
                await client.post(url, json=slow_call(0.5), headers=headers)
            await log.wait_for("called", name="slow", answered=True)
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: client.post(url, json=slow_call(60), headers=headers))
                await log.wait_for("call", count=2)
                gone = {"method": "notifications/cancelled", "params": {"requestId": 2}}
                await client.post(url, json={"jsonrpc": "2.0", **gone}, headers=headers)
                await log.wait_for("called", answered=False)
                group.cancel_scope.cancel()


async def test_progress_questions_and_announcements_travel_on_the_call_s_stream():
    """H20, H23, H30: the SDK gets them over HTTP as it does over a pipe."""
    seen: list[float] = []

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    knobs = ("progress_every=50", "call_delay=0.3", "list_changed_storm=3", "ask=roots")
    with anyio.fail_after(20):
        async with faulty_http(*knobs) as url, Client(url, mode="legacy") as client:
            result = await client.call_tool("echo", {"text": "hi"}, progress_callback=note)
    assert "error" in result.content[0].text
    assert seen


async def test_sessions_keep_what_they_are_told_apart():
    """H14: two clients, two users."""
    with anyio.fail_after(20):
        async with (
            faulty_http() as url,
            Client(url, mode="legacy") as one,
            Client(url, mode="legacy") as two,
        ):
            await one.call_tool("login", {"user": "ada"})
            await two.call_tool("login", {"user": "bob"})
            assert '"ada"' in (await one.call_tool("whoami")).content[0].text


async def test_a_dead_server_is_an_error_at_once():
    """H12: the call that killed it does not wait for a timeout."""
    with anyio.fail_after(20):
        async with faulty_http() as url, httpx2.AsyncClient() as client:
            headers = await begin(client, url)
            crash = {**CALL, "params": {"name": "crash", "arguments": {"code": 3}}}
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.post(url, json=crash, headers=headers)


async def test_a_late_tool_is_announced_on_the_stream_that_the_client_keeps_open():
    """H4: over HTTP, announcements between calls need a stream of their own."""
    heard = anyio.Event()

    async def listen(message: object) -> None:
        heard.set()

    with anyio.fail_after(20):
        async with (
            faulty_http("late_tools=0.5") as url,
            Client(url, mode="legacy", message_handler=listen) as client,
        ):
            await heard.wait()
            assert "late" in [tool.name for tool in (await client.list_tools()).tools]


async def test_the_sdk_sees_a_lost_session_as_an_error():
    """H27: what a hub has to recover from."""
    with anyio.fail_after(20):
        async with faulty_http("lose_after=1") as url, Client(url, mode="legacy") as client:
            await client.list_tools()
            await client.call_tool("echo", {"text": "hi"})
            with pytest.raises(MCPError):
                await client.call_tool("echo", {"text": "hi"})
