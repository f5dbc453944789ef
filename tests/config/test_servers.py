"""From settings to launch specs."""

import importlib.util
import sys
from typing import Any

import pytest

from hub.config.servers import server_specs
from hub.core.errors import ConfigError


def test_the_bundled_servers_come_first_and_run_in_memory(place: Any) -> None:
    """They are on without any settings."""
    place.mcp('{"mcpServers": {"aaa": {"command": "x"}}}')
    specs = server_specs(place.load())
    assert [spec.name for spec in specs] == ["files", "shell", "notes", "aaa"]
    assert [(spec.transport, spec.command) for spec in specs[:3]] == [
        ("memory", "files"),
        ("memory", "shell"),
        ("memory", "notes"),
    ]
    assert specs[0].origin.layer == "default"


def test_a_bundled_server_may_be_switched_off_or_run_as_a_process(place: Any) -> None:
    """As a process it is started by the interpreter that runs the hub."""
    place.user("servers:\n  shell: {enabled: false}\n  files: {transport: stdio}\n")
    specs = server_specs(place.load())
    assert [spec.name for spec in specs] == ["files", "notes"]
    files = specs[0]
    assert (files.transport, files.command) == ("stdio", sys.executable)
    assert files.args == ("-P", "-m", "hub_servers.files")
    assert importlib.util.find_spec("hub_servers") is not None


def test_a_server_of_the_settings_keeps_all_that_was_said_of_it(place: Any) -> None:
    """Relative folders start from the project."""
    path = place.user(
        "servers:\n"
        "  git:\n"
        "    command: uvx\n"
        "    args: [mcp-server-git, --repository, .]\n"
        "    env: {TOKEN: '${env:TOKEN}'}\n"
        "    cwd: sub\n"
        "    start_timeout: 5\n"
        "    call_timeout: 60\n"
        "    allow: [git_log]\n"
        "    deny: [git_push]\n"
        "  docs:\n"
        "    url: https://h.test/mcp\n"
        "    headers: {Authorization: 'Bearer ${env:TOKEN}'}\n"
    )
    git, docs = server_specs(place.load())[3:]
    assert (git.command, git.args) == ("uvx", ("mcp-server-git", "--repository", "."))
    assert git.env == {"TOKEN": "${env:TOKEN}"}
    assert git.cwd == str(place.project / "sub")
    assert (git.start_timeout, git.call_timeout) == (5.0, 60.0)
    assert (git.allow, git.deny) == (("git_log",), ("git_push",))
    assert str(git.origin) == f"{path}:3"
    assert (docs.transport, docs.headers["Authorization"]) == ("http", "Bearer ${env:TOKEN}")


def test_an_entry_that_says_anew_what_the_server_is_replaces_the_one_below(place: Any) -> None:
    """Arguments and variables of another program would only harm."""
    place.user("servers:\n  a: {command: one, args: [x], env: {K: v}}\n")
    place.shared("servers:\n  a: {url: 'https://h.test'}\n")
    spec = server_specs(place.load())[-1]
    assert (spec.transport, spec.command, spec.args, dict(spec.env)) == ("http", "", (), {})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a: {}", "it has none of them"),
        ("a: {command: x, url: 'https://h.test'}", "it has command and url"),
        ("a: {url: 'ftp://h.test'}", "has to begin with https://"),
        ("a: {url: 'https://h.test', args: [x]}", "args cannot stand beside url"),
        ("a: {command: x, headers: {A: b}}", "headers cannot stand beside command"),
        ("a__b: {command: x}", "cannot be the name of a server"),
        ("'a b': {command: x}", "cannot be the name of a server"),
        ("files: {env: {A: b}}", "env cannot stand beside bundled"),
    ],
)
def test_an_entry_that_cannot_be_used_is_an_error_with_its_line(
    place: Any, entry: str, message: str
) -> None:
    """Settings belong to the hub alone, so a wrong entry stops the start."""
    path = place.user(f"servers:\n  {entry}\n")
    with pytest.raises(ConfigError) as caught:
        server_specs(place.load())
    assert message in caught.value.message
    assert caught.value.where.startswith((f"{path}:2", "default"))


def test_all_wrong_entries_are_told_at_once(place: Any) -> None:
    """One message for all of them."""
    place.user("servers:\n  a: {}\n  b: {}\n")
    with pytest.raises(ConfigError, match="2 problems"):
        server_specs(place.load())
