"""The files of other clients: each key that counts, references, and the line of each entry."""

from typing import Any

import pytest

from hub.config.references import resolve_server
from hub.core.errors import ConfigError

CODE = ".config/Code/User/mcp.json"


def test_claude_desktop_takes_every_text_as_it_stands(machine: Any) -> None:
    """It resolves no variables, so neither do we."""
    path = machine.write(
        ".config/Claude/claude_desktop_config.json",
        {"mcpServers": {"fs": {"command": "npx", "args": ["-y", "$X", "${X}"], "env": {"A": "b"}}}},
    )
    spec = machine.specs_from("claude-desktop")["fs"]
    assert (spec.command, spec.args, spec.env) == ("npx", ("-y", "$X", "${X}"), {"A": "b"})
    assert str(spec.origin) == f"{path}:4"
    assert spec.origin.layer == "claude-desktop"
    assert resolve_server(spec, {}).args == ("-y", "$X", "${X}")


def test_claude_code_has_servers_for_all_projects_and_for_one(machine: Any) -> None:
    """Those of the project win; those of other projects are not seen."""
    path = machine.write(
        ".claude.json",
        {
            "mcpServers": {
                "docs": {"type": "http", "url": "https://h.test/${P:-mcp}", "timeout": 5000},
                "db": {"command": "user-db"},
            },
            "projects": {
                str(machine.project): {
                    "history": ["x"],
                    "mcpServers": {"db": {"type": "stdio", "command": "project-db", "env": {}}},
                },
                "/elsewhere": {"mcpServers": {"other": {"command": "x"}}},
            },
        },
    )
    specs = machine.specs_from("claude-code")
    assert specs.keys() == {"docs", "db"}
    assert (specs["docs"].url, specs["docs"].call_timeout) == (
        "https://h.test/${env:P:-mcp}",
        5.0,
    )
    assert specs["db"].command == "project-db"
    lines = path.read_text().split("\n")
    assert '"project-db"' in lines[specs["db"].origin.line - 1]
    assert str(machine.load().origins["servers.db.command"].origin) == str(specs["db"].origin)


def test_claude_code_may_live_elsewhere(machine: Any) -> None:
    """CLAUDE_CONFIG_DIR moves its file."""
    machine.environ["CLAUDE_CONFIG_DIR"] = str(machine.home / "cc")
    machine.write("cc/.claude.json", {"mcpServers": {"a": {"command": "x"}}})
    assert machine.specs_from("claude-code").keys() == {"a"}


VSCODE = """\
// comments are allowed
{
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "Key of ${the} API", "password": true},
    {"type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu"},
  ],
  /* and trailing commas */
  "servers": {
    "perplexity": { // here
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "${workspaceFolder}/x", "--at=${userHome}", "${input:region}"],
      "env": {"KEY": "${input:api-key}", "HOST": "${env:HOST_NAME}", "PORT": 80, "GONE": null},
      "envFile": "${workspaceFolder}/.env",
    },
    "remote": {"type": "sse", "url": "https://h.test/events", "headers": {"A": "${input:x}"}},
    "odd": {"command": "${command:pick}"},
  },
}
"""


def test_vscode_inputs_become_variables_that_say_what_is_missing(machine: Any) -> None:
    """Nobody can be asked by an editor here; the entry is kept and its start says what it needs."""
    path = machine.write(CODE, VSCODE)
    specs = machine.specs_from("vscode")
    spec = specs["perplexity"]
    assert str(spec.origin) == f"{path}:11"
    environ = {"HOST_NAME": "h", "API_KEY": "k"}
    with pytest.raises(ConfigError) as caught:
        resolve_server(spec, {"HOST_NAME": "h"})
    assert caught.value.message == (
        "the input 'api-key' (Key of the API) is missing: "
        "the environment variable API_KEY is not set"
    )
    assert caught.value.where == f"{path}:11 (servers.perplexity.env.KEY)"
    assert "export API_KEY=" in caught.value.remedy
    started = resolve_server(spec, environ)
    assert started.env == {"KEY": "k", "HOST": "h", "PORT": "80"}
    assert started.args == (*("-y", f"{machine.project}/x", f"--at={machine.home}", "eu"),)
    assert resolve_server(spec, environ | {"REGION": "us"}).args[-1] == "us"


def test_vscode_entries_keep_their_lines_and_say_what_is_left_out(machine: Any) -> None:
    """Comments move nothing, and one bad entry costs only itself."""
    path = machine.write(CODE, VSCODE)
    specs = machine.specs_from("vscode")
    assert specs.keys() == {"perplexity", "remote"}
    assert (specs["remote"].transport, specs["remote"].origin.line) == ("sse", 16)
    loaded = machine.load()
    assert loaded.origin("servers.perplexity.args").line == 12
    assert loaded.origin("servers.perplexity.env.PORT").line == 13
    assert loaded.notices == (
        f"{path}:9: the server 'perplexity' has keys that are not used here: envFile",
        f"{path}:17: the server 'odd' is left out: only the editor knows what ${{command:pick}} is",
    )


def test_cursor_tells_addresses_of_sse_apart_and_signs_in(machine: Any) -> None:
    """It has no type for remote servers, so the address tells."""
    machine.write(
        ".cursor/mcp.json",
        {
            "mcpServers": {
                "sse": {"url": "https://h.test/sse"},
                "http": {
                    "url": "https://h.test/mcp",
                    "auth": {"CLIENT_ID": "${env:CID}", "CLIENT_SECRET": "s", "scopes": ["r"]},
                },
            }
        },
    )
    specs = machine.specs_from("cursor")
    assert (specs["sse"].transport, specs["http"].transport) == ("sse", "http")
    oauth = specs["http"].oauth
    assert (oauth.client_id, oauth.client_secret, oauth.scopes) == ("${env:CID}", "s", ("r",))


def test_windsurf_has_another_key_for_addresses(machine: Any) -> None:
    """And a list of tools that are not offered, and a switch."""
    machine.write(
        ".codeium/windsurf/mcp_config.json",
        {
            "mcpServers": {
                "a": {
                    "serverUrl": "https://h.test/mcp",
                    "headers": {"Authorization": "Bearer ${env:T}"},
                    "disabledTools": ["drop", "x[1]"],
                },
                "off": {"command": "x", "disabled": True},
            }
        },
    )
    specs = machine.specs_from("windsurf")
    assert specs.keys() == {"a"}
    assert specs["a"].url == "https://h.test/mcp"
    assert specs["a"].headers == {"Authorization": "Bearer ${env:T}"}
    assert specs["a"].deny == ("drop", "x[[]1]")
    assert machine.load().origin("servers.a.url").line == 4


CODEX = """\
model = "gpt-5.1"

[mcp_servers.docs]
url = "https://h.test/mcp"
bearer_token_env_var = "DOCS_TOKEN"
http_headers = { X-Region = "eu" }
env_http_headers = { X-Key = "KEY" }
tool_timeout_sec = 90.5
enabled_tools = ["search"]
disabled_tools = ["write"]

[mcp_servers.local]
command = "uvx"
args = [
  "mcp-server-git",
]
env_vars = ["TOKEN", { name = "PROXY" }]
cwd = "/srv"
startup_timeout_sec = 20
[mcp_servers.local.env]
A = "1"

[mcp_servers.off]
command = "x"
enabled = false

[mcp_servers.bad]
http_headers = 5
"""


def test_codex_keeps_names_of_variables_in_keys_of_their_own(machine: Any) -> None:
    """They become references; a variable that is handed on may be missing there, so here too."""
    path = machine.write(".codex/config.toml", CODEX)
    specs = machine.specs_from("codex")
    assert specs.keys() == {"docs", "local"}
    docs, local = specs["docs"], specs["local"]
    assert docs.headers == {
        "X-Region": "eu",
        "Authorization": "Bearer ${env:DOCS_TOKEN}",
        "X-Key": "${env:KEY}",
    }
    assert (docs.call_timeout, docs.allow, docs.deny) == (90.5, ("search",), ("write",))
    assert (local.cwd, local.start_timeout) == ("/srv", 20.0)
    assert resolve_server(local, {"TOKEN": "t"}).env == {"TOKEN": "t", "PROXY": "", "A": "1"}
    assert (str(docs.origin), str(local.origin)) == (f"{path}:4", f"{path}:13")
    loaded = machine.load()
    assert loaded.origin("servers.local.args").line == 14
    assert loaded.origin("servers.local.start_timeout").line == 19
    assert loaded.origin("servers.docs.headers.X-Region").line == 6
    assert "'bad' is left out: (headers) expected a mapping" in "".join(loaded.notices)


def test_gemini_has_one_key_for_each_transport(machine: Any) -> None:
    """``httpUrl`` is streamable HTTP and ``url`` SSE; limits are in milliseconds."""
    machine.write(
        ".gemini/settings.json",
        {
            "theme": "x",
            "mcpServers": {
                "h": {
                    "httpUrl": "https://h.test/mcp",
                    "headers": {"A": "Bearer $TOKEN"},
                    "timeout": 30000,
                    "includeTools": ["a"],
                    "excludeTools": ["b"],
                    "trust": True,
                },
                "s": {"url": "https://h.test/x"},
                "t": {"type": "http", "url": "https://h.test/x"},
                "c": {"command": "x", "env": {"K": "${KEY}", "L": "$5"}, "cwd": "./sub"},
            },
        },
    )
    specs = machine.specs_from("gemini")
    assert [specs[name].transport for name in "hst"] == ["http", "sse", "http"]
    assert specs["h"].headers == {"A": "Bearer ${env:TOKEN}"}
    assert (specs["h"].call_timeout, specs["h"].allow, specs["h"].deny) == (30.0, ("a",), ("b",))
    assert specs["c"].env == {"K": "${env:KEY}", "L": "$5"}
    assert specs["c"].cwd == str(machine.project / "sub")


GOOSE = """\
GOOSE_MODEL: x
extensions:
  developer:
    enabled: true
    type: builtin
    name: developer
  tickets:
    enabled: true
    type: stdio
    cmd: npx
    args:
    - -y
    - tickets-mcp
    envs: {LEVEL: info}
    env_keys: [TICKETS_TOKEN]
    timeout: 300
    available_tools: []
  web:
    type: streamable_http
    uri: https://h.test/mcp
    headers: {Authorization: "Bearer ${WEB}"}
    enabled: true
    available_tools: [search]
  old: {type: sse, uri: 'https://h.test/e', enabled: false}
"""


def test_goose_keeps_secrets_of_its_own_that_become_variables(machine: Any) -> None:
    """What is a part of Goose is left out with a word."""
    path = machine.write(".config/goose/config.yaml", GOOSE)
    specs = machine.specs_from("goose")
    assert specs.keys() == {"tickets", "web"}
    tickets, web = specs["tickets"], specs["web"]
    assert (tickets.command, tickets.args) == ("npx", ("-y", "tickets-mcp"))
    assert tickets.env == {"TICKETS_TOKEN": "${env:TICKETS_TOKEN}", "LEVEL": "info"}
    assert (tickets.call_timeout, tickets.allow) == (300.0, ("*",))
    assert (web.url, web.allow) == ("https://h.test/mcp", ("search",))
    assert web.headers == {"Authorization": "Bearer ${env:WEB}"}
    assert tickets.origin.line == 10
    loaded = machine.load()
    assert loaded.origin("servers.tickets.args").line == 11
    assert loaded.notices == (
        f"{path}:3: the server 'developer' is left out: "
        "it is a part of Goose itself (type: builtin)",
    )


ZED = """\
// Zed settings
{
  "theme": "One",
  "context_servers": {
    "new": {
      "source": "custom",
      "command": "run",
      "args": ["a"],
      "env": {},
    },
    "old": {"command": {"path": "/bin/run", "args": ["b"], "env": {"A": "b"}}, "settings": {}},
    "remote": {"url": "https://h.test/mcp", "headers": {"A": "b"}, "timeout": 30},
    "extension": {"source": "extension", "settings": {}},
    "off": {"enabled": false, "command": "x", "args": []},
  },
}
"""


def test_zed_has_two_forms_of_a_command_and_extensions(machine: Any) -> None:
    """What an extension starts is left out, since only the editor knows how."""
    path = machine.write(".config/zed/settings.json", ZED)
    specs = machine.specs_from("zed")
    assert specs.keys() == {"new", "old", "remote"}
    old = specs["old"]
    assert (old.command, old.args, old.env) == ("/bin/run", ("b",), {"A": "b"})
    assert specs["remote"].call_timeout == 30.0
    assert specs["new"].origin.line == 7
    assert machine.load().notices == (
        f"{path}:13: the server 'extension' is left out: an extension of the editor starts it",
    )


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", '{"mcpServers": {"a": 1}}'),
        ("claude-code", ".claude.json", '{"projects": 1, "mcpServers": {"a": {"args": 1}}}'),
        ("vscode", CODE, '{"inputs": 5, "servers": {"a": {"command": "${input:x}", "env": 1}}}'),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": {"a": {"url": 5, "auth": 1}}}'),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            '{"mcpServers": {"a": {"serverUrl": 1}}}',
        ),
        ("codex", ".codex/config.toml", "[mcp_servers.a]\nenv_vars = 5\ncommand = 1"),
        ("codex", ".codex/config.toml", "[mcp_servers.a]\nenv_http_headers = [1]\nurl = 'x'"),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"a": {"httpUrl": [], "type": {}}}}'),
        ("goose", ".config/goose/config.yaml", "extensions: {a: {config: 5, env_keys: 1}}"),
        ("zed", ".config/zed/settings.json", '{"context_servers": {"a": {"command": {}}}}'),
    ],
)
def test_nonsense_in_an_entry_costs_only_the_entry(
    machine: Any, client: str, file: str, text: str
) -> None:
    """Other programs write these files; what we do not understand is told and left out (H5)."""
    machine.write(file, text)
    assert machine.specs_from(client) == {}
    assert "the server 'a' is left out" in machine.load().notices[0]
