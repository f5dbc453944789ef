"""The faulty MCP server: its knobs, its normal behaviour, its start and its end."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from hub.testing.faulty.knobs import KnobError, Knobs, parse_knob, parse_mapping
from hub.testing.faulty.launch import (
    FaultyLog,
    faulty_command,
    faulty_http,
    forget_sessions,
    is_running,
    wait_until_gone,
)
from hub.testing.faulty.registry import KNOBS, knob_table
from tests.testing.raw_server import exit_of, raw_server

PLAIN = ["echo", "add", "slow", "crash", "env", "spawn", "login", "whoami"]

ROOT = Path(__file__).parents[2]


def stdio(*knobs: str, log: Path | None = None) -> StdioServerParameters:
    """The launch parameters of the SDK for a faulty server."""
    command, args = faulty_command(*knobs, log=log)
    return StdioServerParameters(command=command, args=args, encoding_error_handler="replace")


@pytest.mark.parametrize(
    ("mode", "era", "version"),
    [("legacy", "handshake", "2025-11-25"), ("auto", "both", "2026-07-28")],
)
async def test_without_faults_it_is_an_ordinary_server_in_either_era(mode, era, version):
    """The SDK's client lists and calls the plain tools over stdio."""
    with anyio.fail_after(20):
        async with Client(stdio(f"era={era}"), mode=mode) as client:
            assert client.protocol_version == version
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == PLAIN
            said = await client.call_tool("echo", {"text": "hi", "style": {"case": "upper"}})
            assert said.content[0].text == "HI"
            total = await client.call_tool("add", {"a": 2, "b": 3})
            assert total.structured_content == {"sum": 5}
            await client.call_tool("login", {"user": "ada"})
            me = json.loads((await client.call_tool("whoami")).content[0].text)
            assert me["user"] == "ada"
            greeting = await client.get_prompt("greet", {"name": "Ada"})
            assert greeting.messages[0].content.text == "Say hello to Ada."


@pytest.mark.parametrize(
    ("mode", "era", "version"),
    [("legacy", "handshake", "2025-11-25"), ("auto", "both", "2026-07-28")],
)
async def test_over_http_it_is_an_ordinary_server_in_either_era(mode, era, version):
    """The SDK's client lists and calls the plain tools over streamable HTTP."""
    with anyio.fail_after(20):
        async with faulty_http(f"era={era}") as url, Client(url, mode=mode) as client:
            assert client.protocol_version == version
            assert [tool.name for tool in (await client.list_tools()).tools] == PLAIN
            said = await client.call_tool("echo", {"text": "hi"})
            assert said.content[0].text == "hi"


async def test_a_tool_that_fails_says_so_in_its_result_and_an_unknown_one_in_an_error():
    """The two kinds of failure that the protocol knows are kept apart."""
    async with raw_server() as server:
        missing = await server.call("echo")
        assert missing["result"]["isError"]
        unknown = await server.call("nothing")
        assert unknown["error"]["code"] == -32602


async def test_the_environment_of_the_server_can_be_read_through_it(monkeypatch):
    """H49: a hub that leaks its environment is seen through the tool env."""
    monkeypatch.setenv("MY_SECRET_KEY", "hush")
    async with raw_server() as server:
        seen = json.loads((await server.call("env"))["result"]["content"][0]["text"])
        assert seen["MY_SECRET_KEY"] == "hush"


async def test_the_log_tells_of_start_requests_calls_and_end(tmp_path):
    """Tests wait on the log instead of on the clock."""
    log = FaultyLog(tmp_path / "log")
    async with raw_server(log=tmp_path / "log") as server:
        await server.call("echo", text="hi")
        await server.close_input()
        assert await exit_of(server) == (0, "")
    names = [event["event"] for event in log.events()]
    assert names == ["start", "request", "request", "call", "called", "eof", "exit"]
    assert log.events("call", name="echo")[0]["arguments"] == {"text": "hi"}


def test_it_imports_neither_the_sdk_nor_anything_heavy():
    """It starts in a few hundredths of a second because it does without them."""
    program = "import hub.testing.faulty_server, sys; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    ).stdout
    heavy = {"mcp", "mcp_types", "pydantic", "anyio", "openai", "asyncio", "http.server"}
    assert not heavy & set(output.split())


@pytest.mark.parametrize(
    ("spelled", "complaint"),
    [
        ("mut", "did you mean 'mute'"),
        ("mute=3", "is a switch"),
        ("slow_start=soon", "takes SECONDS"),
        ("era=stone", "handshake, both, modern"),
        ("change=description,colour", "cannot be 'colour'"),
        ("era", "needs a value"),
        ("mute@", "needs its starts"),
        ("mute!", "is not NAME"),
    ],
)
def test_a_wrong_knob_is_refused_with_the_way_to_spell_it(spelled, complaint):
    """Neither a test nor a user is left to guess."""
    with pytest.raises(KnobError, match=complaint):
        parse_knob(spelled)


def test_a_knob_holds_only_for_the_starts_that_it_names():
    """`@2-` is from the second start on, `@1-3` the first three, `@2` the second alone."""
    settings = [parse_knob(item) for item in ("mute@2-", "bom@1-2", "crlf@2")]
    held = [
        [name for name in ("mute", "bom", "crlf") if Knobs(settings, start).on(name)]
        for start in (1, 2, 3)
    ]
    assert held == [["bom"], ["mute", "bom", "crlf"], ["mute"]]


def test_a_mapping_says_the_same_as_the_command_line():
    """true is the default, false is nothing, a list is joined."""
    mapping = {"mute": True, "bom": False, "slow_start@1": 40, "change@2-": ["title", "enum"]}
    spelled = ["mute", "slow_start@1=40", "change@2-=title,enum"]
    assert parse_mapping(mapping) == [parse_knob(item) for item in spelled]


@pytest.mark.parametrize("kind", ["yaml", "json"])
async def test_a_file_of_knobs_is_read(tmp_path, kind):
    """`--config` takes the knobs from YAML or JSON."""
    text = '{"ping_unsupported": true}' if kind == "json" else "ping_unsupported: true\n"
    (tmp_path / f"knobs.{kind}").write_text(text)
    command, arguments = faulty_command()
    process = await anyio.run_process(
        [command, *arguments, "--config", str(tmp_path / f"knobs.{kind}")],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    )
    assert json.loads(process.stdout)["error"]["code"] == -32601


async def test_a_broken_file_of_knobs_is_named_and_nothing_is_served(tmp_path):
    """Exit code 2, one line, no traceback."""
    (tmp_path / "knobs.yaml").write_text("mut: true\n")
    command, arguments = faulty_command()
    process = await anyio.run_process(
        [command, *arguments, "--config", str(tmp_path / "knobs.yaml")], check=False
    )
    assert process.returncode == 2
    assert process.stderr.decode().count("\n") == 1
    assert "knobs.yaml: no knob is named 'mut'; did you mean 'mute'?" in process.stderr.decode()


async def test_starts_have_to_be_counted_where_a_knob_depends_on_them():
    """A knob for some starts without a file to count in would hold for ever."""
    command, arguments = faulty_command("mute@2-")
    process = await anyio.run_process([command, *arguments], check=False)
    assert process.returncode == 2
    assert "add --knob starts=FILE" in process.stderr.decode()


async def test_a_fault_of_the_first_start_is_gone_at_the_second(tmp_path):
    """H2, H11: a server that needs several starts, which a file counts."""
    knobs = (f"starts={tmp_path / 'starts'}", "exit_on_initialize@1=4")
    async with raw_server(*knobs, handshake=False) as server:
        await server.request("initialize")
        code, stderr = await exit_of(server)
        assert code == 4
        assert "cannot open its database" in stderr
    async with raw_server(*knobs) as server:
        me = json.loads((await server.call("whoami"))["result"]["content"][0]["text"])
        assert me["start"] == 2
    assert len((tmp_path / "starts").read_text().splitlines()) == 2


async def test_an_http_server_is_gone_when_its_context_is_left(tmp_path):
    """Even one that ignores SIGTERM and has started a process that does too."""
    log = FaultyLog(tmp_path / "log")
    with anyio.fail_after(20):
        async with faulty_http("ignore_term", "grandchild", log=tmp_path / "log") as url:
            assert url.endswith("/mcp")
        (child,), (started,) = log.events("spawned"), log.events("start")
        await wait_until_gone(child["child"])
        assert not is_running(started["pid"])


async def test_an_http_server_that_cannot_start_is_an_error_and_not_a_wait():
    """The reason stands on stderr, and the message says so."""
    with anyio.fail_after(10), pytest.raises(RuntimeError, match="did not listen"):
        async with faulty_http("exit_on_start"):
            pass


async def test_sessions_are_forgotten_on_demand():
    """H27: the server answers 404 to a session that it knew a moment ago."""
    with anyio.fail_after(20):
        async with faulty_http() as url, Client(url, mode="legacy") as client:
            await client.call_tool("echo", {"text": "hi"})
            await forget_sessions(url)
            with pytest.raises(MCPError, match="Session not found"):
                await client.call_tool("echo", {"text": "hi"})


def test_the_documentation_shows_every_knob():
    """docs/testing-servers.md holds the table that --list-knobs prints."""
    text = (ROOT / "docs" / "testing-servers.md").read_text(encoding="utf-8")
    assert knob_table() in text
    assert all(f"`{name}`" in text for name in KNOBS)


def test_every_knob_is_turned_by_a_test():
    """A knob that no test turns may do nothing."""
    tests = Path(__file__).parent.glob("test_faulty_*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    assert [name for name in KNOBS if f'"{name}' not in text and f"{name}=" not in text] == []
