"""Which files are read: ``servers_from``, projects, other systems, and one file alone."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hub.config.clients.table import CLIENTS, Surroundings, user_files
from hub.config.layer_names import CLIENTS as NAMES
from hub.config.layer_names import FOREIGN_LAYERS, PROJECT_LAYERS
from hub.config.servers import server_specs
from hub.config.trust import active_parts, apply_trust, digest
from hub.config.trust_store import TrustStore
from hub.core.errors import ConfigError

MINE = {"mcpServers": {"a": {"command": "cursor-a"}, "b": {"command": "cursor-b"}}}


def names(loaded: Any) -> dict[str, str]:
    """Return the command of each server that is not bundled, by name."""
    return {spec.name: spec.command for spec in server_specs(loaded) if spec.transport != "memory"}


def test_nothing_of_other_clients_is_read_unless_the_settings_say_so(machine: Any) -> None:
    """The default is an empty list."""
    machine.write(".cursor/mcp.json", MINE)
    machine.write(".cursor/mcp.json", MINE, project=True)
    assert names(machine.load()) == {}


def test_the_client_that_is_named_first_wins_and_the_clash_is_told(machine: Any) -> None:
    """Two that list the very same server do not clash."""
    cursor = machine.write(".cursor/mcp.json", MINE)
    machine.write(
        ".gemini/settings.json",
        {"mcpServers": {"a": {"command": "gemini-a"}, "b": {"command": "cursor-b"}}},
    )
    assert names(machine.loaded_from("gemini", "cursor")) == {"a": "gemini-a", "b": "cursor-b"}
    (notice,) = machine.load().notices
    assert notice.startswith(f"The server 'a' of {cursor}:4 is not used: ")
    assert "/.gemini/settings.json:3 has one of the same name." in notice
    assert names(machine.loaded_from("cursor", "gemini"))["a"] == "cursor-a"


def test_files_of_the_project_are_above_those_of_the_home_and_below_mcp_json(machine: Any) -> None:
    """Bundled names and the user's own settings are above all of them (H35)."""
    machine.write(".cursor/mcp.json", MINE)
    machine.write(
        ".vscode/mcp.json",
        {"servers": {"a": {"command": "project-a"}, "files": {"command": "evil"}}},
        project=True,
    )
    machine.write(".mcp.json", {"mcpServers": {"b": {"command": "shared-b"}}}, project=True)
    loaded = machine.loaded_from("cursor", "vscode")
    assert names(loaded) == {"a": "project-a", "b": "shared-b"}
    assert loaded.origin("servers.a.command").layer == "vscode:project"
    assert server_specs(loaded)[0].command == "files"
    machine.settings("servers_from: [cursor]\nservers:\n  b: {deny: [x]}\n  a: {command: own}\n")
    assert names(machine.load()) == {"a": "own", "b": "shared-b"}


def test_every_client_that_has_a_file_in_projects_is_read_there(machine: Any) -> None:
    """VS Code, Cursor, Codex, Gemini CLI and Zed."""
    texts = {
        "vscode": '{"servers": {"v": {"command": "x"}}}',
        "cursor": '{"mcpServers": {"c": {"command": "${workspaceFolder}/x"}}}',
        "codex": "[mcp_servers.d]\ncommand = 'x'\n",
        "gemini": '{"mcpServers": {"g": {"command": "x"}}}',
        "zed": '{"context_servers": {"z": {"command": "x", "args": []}}}',
    }
    for client, text in texts.items():
        machine.write(CLIENTS[client].in_project, text, project=True)
    found = machine.specs_from(*texts)
    assert {spec.origin.layer for spec in found.values()} == {f"{name}:project" for name in texts}
    assert found["c"].command == f"{machine.project}/x"
    assert set(found) == set("vcdgz")


def test_a_project_can_only_name_clients_for_files_of_its_own(machine: Any) -> None:
    """It must not make hub read the user's other files (H52)."""
    machine.write(".cursor/mcp.json", MINE)
    machine.write(".vscode/mcp.json", {"servers": {"v": {"command": "x"}}}, project=True)
    machine.write(".hub/config.yaml", "servers_from: [cursor, vscode]\n", project=True)
    loaded = machine.load()
    assert names(loaded) == {"v": "x"}
    assert [part.name for part in active_parts(loaded)] == ["v"]


def test_layers_of_other_clients_need_approval(machine: Any) -> None:
    """Those in the project need trust as well."""
    for client in NAMES:
        assert client in FOREIGN_LAYERS - PROJECT_LAYERS
        assert f"{client}:project" in PROJECT_LAYERS <= FOREIGN_LAYERS
    assert tuple(CLIENTS) == NAMES


def test_a_broken_file_of_another_client_costs_only_its_own_servers(machine: Any) -> None:
    """It is not ours to mend; the run goes on and says so (H5)."""
    broken = machine.write(".codex/config.toml", "[mcp_servers.a\n")
    listed = machine.write(".gemini/settings.json", '{"mcpServers": []}')
    machine.write(".cursor/mcp.json", MINE)
    loaded = machine.loaded_from("codex", "gemini", "cursor")
    assert names(loaded).keys() == {"a", "b"}
    told = "\n".join(loaded.notices)
    assert f"{broken}:1:15: the servers of Codex are not used: broken TOML" in told
    assert f"{listed}: the servers of Gemini CLI are not used: 'mcpServers' has to be" in told


def test_a_client_that_does_not_exist_is_an_error_with_its_place(machine: Any) -> None:
    """As any wrong value."""
    path = machine.settings("servers_from: [emacs]\n")
    with pytest.raises(ConfigError, match="expected one of 'claude-desktop'") as caught:
        machine.load()
    assert caught.value.where.startswith(f"{path}:1")


@pytest.mark.parametrize(
    ("platform", "client", "path"),
    [
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("darwin", "goose", ".config/goose/config.yaml"),
        ("win32", "goose", "AppData/Roaming/Block/goose/config/config.yaml"),
        ("linux", "windsurf", ".codeium/windsurf/mcp_config.json"),
    ],
)
def test_each_system_keeps_the_files_elsewhere(platform: str, client: str, path: str) -> None:
    """Found from the environment of the run alone."""
    home = Path("/h/me")
    assert user_files(client, Surroundings({"HOME": "/h/me"}, platform)) == [home / path]


def test_folders_of_the_environment_are_honoured() -> None:
    """XDG_CONFIG_HOME, CODEX_HOME."""
    around = Surroundings({"HOME": "/h", "XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c"}, "linux")
    assert user_files("goose", around) == [Path("/x/goose/config.yaml")]
    assert user_files("vscode", around) == [Path("/x/Code/User/mcp.json")]
    assert user_files("codex", around) == [Path("/c/config.toml")]


STRICT = {
    "any.json": '{"mcpServers": {"a": {"command": "x", "env": {"K": "${K}", "J": "${env:J}"}}}}',
    "code.json": '// code\n{"servers": {"a": {"command": "x"}},}',
    "ours.yaml": "model: m\nservers:\n  a: {command: x, deny: [y]}\n",
    "codex.toml": "[mcp_servers.a]\ncommand = 'x'\n",
    "goose.yaml": "extensions:\n  a: {type: stdio, cmd: x, args: []}\n",
    "zed.json": '{"context_servers": {"a": {"command": "x", "args": []}}}',
    "unnamed": "[mcp_servers.a]\ncommand = 'x'\n",
    "servers.yml": "mcpServers:\n  a:\n    command: x\n",
}


@pytest.mark.parametrize("name", STRICT)
def test_one_file_of_any_format_can_hold_all_servers(machine: Any, name: str) -> None:
    """No bundled server, no settings, no ``.mcp.json`` and no other client beside it."""
    machine.write(".cursor/mcp.json", MINE)
    machine.write(".mcp.json", MINE, project=True)
    machine.settings("servers_from: [cursor]\nservers:\n  own: {command: own}\nmodel: mine\n")
    machine.write(name, STRICT[name], project=True)
    loaded = machine.load(strict_mcp=Path(name))
    (spec,) = server_specs(loaded)
    assert (spec.name, spec.command) == ("a", "x")
    assert (spec.origin.layer, spec.origin.path) == ("strict", str(machine.project / name))
    assert spec.origin.line > 0
    assert "strict" not in FOREIGN_LAYERS
    assert loaded.settings.model == "mine"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.json", None, "cannot read the file: No such file or directory"),
        ("odd.json", '{"a": 1}', "there is no list of MCP servers in it"),
        ("bad.json", '{"mcpServers": {', "broken JSON"),
        ("bad.yaml", "servers:\n  a: {commnd: x}\n", "unknown key 'commnd'"),
        ("list.json", '{"mcpServers": []}', "'mcpServers' has to be a mapping of servers"),
    ],
)
def test_a_single_file_that_cannot_be_used_is_an_error(
    machine: Any, name: str, text: str | None, message: str
) -> None:
    """The user named it, so going on without would be wrong."""
    if text is not None:
        machine.write(name, text, project=True)
    with pytest.raises(ConfigError) as caught:
        machine.load(strict_mcp=Path(name))
    assert message in caught.value.message
    assert str(machine.project / name) in caught.value.where


def test_trust_in_a_project_holds_while_one_file_has_all_servers(machine: Any) -> None:
    """Leaving out servers that were agreed to is no change of what the project asks for."""
    machine.write(".mcp.json", MINE, project=True)
    machine.write(".hub/config.yaml", "permissions: {allow: [x]}\n", project=True)
    machine.write("only.json", '{"mcpServers": {}}', project=True)
    store = TrustStore(machine.paths.state)
    store.trust(machine.project, digest(active_parts(machine.load())), at=0.0)
    strict = machine.load(strict_mcp=Path("only.json"))
    assert apply_trust(strict, {}, store).withheld == ()
    assert server_specs(strict) == []
    machine.write(".hub/config.yaml", "permissions: {allow: [y]}\n", project=True)
    strict = machine.load(strict_mcp=Path("only.json"))
    assert [part.name for part in apply_trust(strict, {}, store).withheld] == ["y"]


def test_in_the_home_folder_a_file_is_the_users_own(machine: Any) -> None:
    """It is not read a second time as one that came with a project."""
    machine.write(".cursor/mcp.json", MINE)
    machine.project = machine.home
    specs = machine.specs_from("cursor")
    assert {spec.origin.layer for spec in specs.values()} == {"cursor"}


def test_the_readers_are_imported_only_when_there_is_something_to_read(tmp_path: Path) -> None:
    """Settings without other clients load as quickly as ever."""
    code = (
        "import sys; from pathlib import Path;"
        "from hub.config.layers import Sources, load_settings;"
        "from hub.config.paths import Paths; here = Path(sys.argv[1]);"
        "load_settings(Sources(here, Paths(here, here, here)));"
        "print(sorted(name for name in sys.modules if 'hub.config.clients' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.stdout == "[]\n", done.stderr
