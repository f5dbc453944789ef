"""A server under test, over stdio and HTTP, with a fault in each place that is looked at."""

import os
from pathlib import Path

import anyio
import pytest

from hub.app.mcp.checks import Check, profile_check
from hub.app.mcp.trial import try_server
from hub.core.servers import ServerSpec
from hub.testing.faulty.launch import (
    FaultyLog,
    faulty_command,
    faulty_http,
    is_running,
    wait_until_gone,
)
from tests.connections.test_oauth import identity, log_in, spec_of
from tests.third_party.servers import everything_http, launch

LIMIT = 40
"""Seconds that one test of a server may take on a busy machine."""


async def tried(spec: ServerSpec, folder: Path) -> dict[str, Check]:
    """Test a server; return the last check of each name."""
    found: list[Check] = []
    with anyio.fail_after(LIMIT):
        await try_server(spec, workspace=folder, environ=dict(os.environ), tell=found.append)
    return {check.name: check for check in found}


async def faulty(folder: Path, *knobs: str) -> dict[str, Check]:
    """Test a faulty server on stdio."""
    command, args = faulty_command(*knobs, log=folder / "log")
    spec = ServerSpec("faulty", "stdio", command, tuple(args), start_timeout=5.0)
    return await tried(spec, folder)


def failures(checks: dict[str, Check]) -> set[str]:
    """Return the names of the checks that failed."""
    return {name for name, check in checks.items() if check.state == "fail"}


async def test_a_healthy_server_fails_nothing(tmp_path: Path) -> None:
    """Both eras, the list, its schemas, the end: all is in order."""
    checks = await faulty(tmp_path, "era=both")
    assert failures(checks) == set()
    assert {"start", "initialize", "discover", "eras", "end", "orphans"} <= set(checks)
    assert {"for openai", "for anthropic", "for gemini", "for generic"} <= set(checks)


FAULTS = [
    # knobs, check, state, words of its message
    (("exit_on_start",), "initialize", "fail", "no licence file was found"),
    (("initialize_error",), "initialize", "fail", "-32603"),
    (("version",), "initialize", "fail", "1999-01-01"),
    (("no_server_info",), "initialize", "fail", "serverInfo"),
    (("era=modern",), "initialize", "warn", "only clients of 2026-07-28"),
    (("discover=exit",), "discover", "warn", "start it twice"),
    (("ping_unsupported",), "ping", "warn", "sign of life"),
    (("pages", "repeat_cursor"), "tools/list", "fail", "repeats the cursor"),
    (("pages", "empty_cursor"), "tools/list", "warn", "empty cursor"),
    (("pages", "reject_cursor"), "tools/list", "fail", "gave itself"),
    (("list_error",), "tools/list", "fail", "-32603"),
    (("exit_after_list",), "life", "fail", "ended by itself with exit code 0"),
    (("duplicate_names",), "duplicates", "fail", "twin"),
    (("colliding_names",), "duplicates", "warn", "read-file"),
    (("long_names",), "names", "warn", "shortens"),
    (("no_schema",), "schemas", "fail", "no inputSchema"),
    (("invalid_members",), "schemas", "fail", "inputSchema"),
    (("any_of",), "for generic", "warn", "anyOf"),
    (("any_of",), "for openai", "warn", "as for generic"),
    (("banner",), "stdout", "fail", "Welcome"),
    (("json_noise",), "stdout", "fail", "hello"),
    (("bom",), "messages", "fail", "byte order mark"),
    (("non_utf8",), "encoding", "fail", "UTF-8"),
    (("double_replies",), "replies", "warn", "nobody made"),
    (("stderr_flood",), "stderr", "warn", "1000 kB"),
    (("ignore_eof",), "end", "fail", "has to be killed"),
    (("grandchild=group",), "orphans", "fail", "still running"),
    (("grandchild=session",), "orphans", "fail", "still running"),
]


@pytest.mark.parametrize(
    ("knobs", "name", "state", "words"), FAULTS, ids=[f"{k[0]}-{n}" for k, n, _, _ in FAULTS]
)
async def test_a_fault_is_found_and_told_with_its_reason(
    tmp_path: Path, knobs: tuple[str, ...], name: str, state: str, words: str
) -> None:
    """H8, H17, H19, H31, H34, H38, H39, H40: each by the check that is there for it."""
    checks = await faulty(tmp_path, *knobs)
    assert checks[name].state == state
    assert words in checks[name].message


async def test_nothing_of_a_tested_server_is_left(tmp_path: Path) -> None:
    """H9: what a server leaves behind is told, and ended."""
    log = FaultyLog(tmp_path / "log")
    await faulty(tmp_path, "grandchild=session", "ignore_eof", "ignore_term")
    spawned = [event["child"] for event in log.events("spawned")]
    assert spawned
    with anyio.fail_after(5):
        for pid in spawned:
            await wait_until_gone(pid)
    assert not any(is_running(pid) for pid in spawned)


async def test_a_program_that_is_not_there_is_one_failure(tmp_path: Path) -> None:
    """The test of a server that cannot be started ends at once."""
    checks = await tried(ServerSpec("x", "stdio", "no-such-program"), tmp_path)
    assert failures(checks) == {"start"}
    assert "not installed" in checks["start"].message


async def test_a_server_over_http_is_tested_in_both_eras(tmp_path: Path) -> None:
    """The same questions over another transport; nothing about processes."""
    async with faulty_http("era=both") as url:
        checks = await tried(ServerSpec("faulty", "http", url=url), tmp_path)
    assert failures(checks) == set()
    assert checks["eras"].state == "ok"
    assert "end" not in checks


@pytest.mark.parametrize(
    ("knobs", "name", "words"),
    [
        (("http_status=503",), "initialize", "HTTP status 503"),
        (("pages", "repeat_cursor"), "tools/list", "repeats the cursor"),
    ],
)
async def test_a_fault_over_http_is_told_with_its_reason(
    tmp_path: Path, knobs: tuple[str, ...], name: str, words: str
) -> None:
    """A status that is no answer is named."""
    async with faulty_http(*knobs) as url:
        checks = await tried(ServerSpec("faulty", "http", url=url), tmp_path)
    assert checks[name].state == "fail"
    assert words in checks[name].message


async def test_an_address_where_nobody_listens_is_one_failure(tmp_path: Path) -> None:
    """The reason is that of the system."""
    checks = await tried(ServerSpec("x", "http", url="http://127.0.0.1:9/mcp"), tmp_path)
    assert failures(checks) == {"start"}
    assert "ConnectError" in checks["start"].message


async def test_a_bundled_server_is_tested_as_the_program_that_it_is(tmp_path: Path) -> None:
    """Our own servers keep what we ask of others."""
    for name in ("files", "notes"):
        checks = await tried(ServerSpec(name, "memory", name), tmp_path)
        assert failures(checks) == set()


@pytest.mark.parametrize("name", ["filesystem", "time"])
async def test_servers_of_others_pass(tmp_path: Path, name: str) -> None:
    """An npm server of the handshake era, a Python server of both."""
    found = launch(name, tmp_path)
    spec = ServerSpec(name, "stdio", found.command, tuple(found.args), found.env)
    checks = await tried(spec, tmp_path)
    assert failures(checks) == set()
    assert checks["initialize"].state == "ok"


async def test_a_server_of_others_passes_over_the_older_http_transport(tmp_path: Path) -> None:
    """SSE knows only the handshake, so the newer era is left out."""
    async with everything_http("sse") as url:
        checks = await tried(ServerSpec("everything", "sse", url=url), tmp_path)
    assert checks["initialize"].state == "ok"
    assert checks["tools/list"].state == "ok"
    assert "discover" not in checks


async def test_a_server_that_wants_a_sign_in_is_tested_with_the_one_of_the_user(
    tmp_path: Path,
) -> None:
    """Without one, the command that signs in is named."""
    async with identity() as site:
        found: list[Check] = []
        spec, environ = spec_of(site), dict(os.environ)

        async def ask() -> dict[str, Check]:
            found.clear()
            with anyio.fail_after(LIMIT):
                await try_server(
                    spec, workspace=tmp_path, environ=environ, tell=found.append, state=tmp_path
                )
            return {check.name: check for check in found}

        stranger = await ask()
        assert failures(stranger) == {"initialize"}
        assert f"hub mcp login {spec.name}" in stranger["initialize"].message
        await log_in(site, tmp_path)
        assert (await ask())["initialize"].state == "ok"


def test_leaving_out_a_mark_that_nobody_refuses_is_no_warning() -> None:
    """Most npm servers name a dialect; what is told is what matters."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    whole = {"name": "t", "inputSchema": {**schema, "properties": {}}}
    assert profile_check("s", [whole], "openai").state == "ok"
    assert profile_check("s", [{"name": "t", "inputSchema": schema}], "openai").state == "warn"
