"""The servers of ``.mcp.json``: what is taken, what is left out, and who wins."""

import json
from typing import Any

import pytest

from hub.config.references import resolve_server
from hub.config.servers import server_specs
from hub.core.errors import ConfigError


def entries(**servers: Any) -> str:
    return json.dumps({"mcpServers": servers}, indent=2)


def specs(place: Any, **how: Any) -> dict[str, Any]:
    return {spec.name: spec for spec in server_specs(place.load(**how))}


def test_stdio_and_http_servers_are_taken_with_the_line_of_their_entry(place: Any) -> None:
    """``type`` may be left out where command or url says it."""
    path = place.mcp(
        entries(
            git={"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "b"}},
            docs={"type": "http", "url": "https://h.test/mcp", "headers": {"X": "y"}},
            more={"url": "https://m.test/mcp", "timeout": 5000},
        )
    )
    found = specs(place)
    git, docs = found["git"], found["docs"]
    assert (git.transport, git.command, git.args, git.env) == (
        "stdio",
        "uvx",
        ("mcp-server-git",),
        {"A": "b"},
    )
    assert (docs.transport, docs.url, docs.headers) == ("http", "https://h.test/mcp", {"X": "y"})
    assert found["more"].call_timeout == 5.0
    assert str(git.origin) == f"{path}:4"
    assert git.origin.layer == "mcp_json"


def test_references_of_the_file_are_resolved_when_the_server_starts(place: Any) -> None:
    """Until then neither spec nor fingerprint holds the secret."""
    place.mcp(
        entries(
            a={
                "command": "${HOME_DIR}/bin/run",
                "args": ["--level=${LEVEL:-info}", "$PLAIN", "${env:OURS}"],
                "env": {"TOKEN": "${SECRET}"},
            }
        )
    )
    spec = specs(place)["a"]
    assert spec.env == {"TOKEN": "${env:SECRET}"}
    environ = {"HOME_DIR": "/h", "SECRET": "s3cret", "OURS": "o", "LEVEL": ""}
    started = resolve_server(spec, environ)
    assert started.command == "/h/bin/run"
    assert started.args == ("--level=info", "$PLAIN", "o")
    assert started.env == {"TOKEN": "s3cret"}


def test_a_reference_to_a_missing_variable_names_server_file_and_line(place: Any) -> None:
    """The literal text is never handed to the server."""
    path = place.mcp(entries(a={"command": "x", "env": {"T": "${MISSING}"}}))
    spec = specs(place)["a"]
    with pytest.raises(ConfigError) as caught:
        resolve_server(spec, {})
    assert caught.value.where == f"{path}:4 (servers.a.env.T)"
    assert "MISSING is not set" in caught.value.message
    assert "export MISSING=" in caught.value.remedy


def test_settings_win_over_an_entry_of_the_same_name_with_a_notice(place: Any) -> None:
    """Nothing of the hidden entry is mixed into the one that wins."""
    mcp = place.mcp(entries(git={"command": "evil", "args": ["--x"]}))
    user = place.user("servers:\n  git:\n    command: good\n")
    loaded = place.load()
    git = next(spec for spec in server_specs(loaded) if spec.name == "git")
    assert (git.command, git.args) == ("good", ())
    assert loaded.notices == (
        f"The server 'git' of {mcp}:4 is not used: {user}:2 has one of the same name.",
    )


def test_no_entry_can_take_the_name_of_a_bundled_server(place: Any) -> None:
    """Otherwise files__read would suddenly be somebody else's tool (H35)."""
    place.mcp(entries(files={"command": "evil"}))
    loaded = place.load()
    files = server_specs(loaded)[0]
    assert (files.name, files.transport, files.command) == ("files", "memory", "files")
    assert "the hub has one of the same name" in loaded.notices[0]


def test_settings_may_adjust_an_entry_without_repeating_it(place: Any) -> None:
    """A setting that does not say what the server is leaves it as the file has it."""
    place.mcp(entries(git={"command": "uvx"}, old={"command": "x"}))
    place.user("servers:\n  git: {deny: [git_push]}\n  old: {enabled: false}\n")
    found = specs(place)
    assert (found["git"].command, found["git"].deny) == ("uvx", ("git_push",))
    assert "old" not in found


def test_an_entry_that_cannot_be_used_costs_only_itself(place: Any) -> None:
    """The file belongs to other programs as well."""
    place.mcp(
        entries(
            good={"command": "x", "oauth": {}},
            sse={"type": "sse", "url": "https://h.test"},
            ws={"type": "ws", "url": "wss://h.test"},
            empty={},
            odd=5,
            numbers={"command": "x", "env": {"PORT": 8080}},
            off={"command": "x", "disabled": True},
        )
    )
    loaded = place.load()
    assert server_specs(loaded)[-1].transport == "sse"
    assert [spec.name for spec in server_specs(loaded)] == [
        *("files", "shell", "notes", "good", "sse"),
    ]
    told = "\n".join(loaded.notices)
    assert "'good' has keys that are not used here: oauth" in told
    assert "the transport 'ws' is not supported; stdio, http and sse are" in told
    assert "'empty' is left out: the transport 'http' needs 'url'" in told
    assert "'odd' is left out: it is no object" in told
    assert "'numbers' is left out: (env.PORT) expected text, got a number" in told


def test_names_become_names_that_tools_can_carry(place: Any) -> None:
    """Other clients allow spaces; two names that come to the same are not mixed up."""
    place.mcp(entries(**{"My Server!": {"command": "a"}, "My-Server": {"command": "b"}}))
    loaded = place.load()
    assert server_specs(loaded)[-1].name == "My-Server"
    assert server_specs(loaded)[-1].command == "a"
    assert "'My-Server' is left out" in loaded.notices[0]


@pytest.mark.parametrize(
    ("text", "message", "place_in_file"),
    [
        ('{"mcpServers": {\n  "a": {"command": "x",}\n}}', "broken JSON", ":2:"),
        ('{"mcpServers": []}', "'mcpServers' has to be an object", ""),
        ("[1]", "'mcpServers' has to be an object", ""),
        ('{"mcpServers": {\n"a": {},\n"a": {}}}', "'a' stands here twice, first in line 2", ":3"),
        ("[" * 100_000, "broken JSON", ""),
    ],
)
def test_a_broken_file_is_an_error_with_its_place(
    place: Any, text: str, message: str, place_in_file: str
) -> None:
    """It is the project's own file, so it can be mended."""
    path = place.mcp(text)
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert message in caught.value.message
    assert f"{path}{place_in_file}" in caught.value.where


def test_json_that_yaml_would_not_read_is_read(place: Any) -> None:
    """Tabs, escaped slashes and surrogate pairs are fine in JSON."""
    place.mcp('{\n\t"mcpServers": {\n\t\t"a": {"command": "\\ud83d\\ude00\\/x"}\n\t}\n}')
    spec = specs(place)["a"]
    assert spec.command == "😀/x"
    assert spec.origin.line == 3
