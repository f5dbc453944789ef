"""Every client whose list of servers can be read: where it is, and how it is written."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from hub.config.clients import preparing
from hub.config.clients.dialect import Dialect
from hub.config.clients.variables import dollar_style, editor_style, shell_style
from hub.config.documents import Document, parse_yaml
from hub.config.json_lines import parse_json
from hub.config.jsonc import parse_jsonc
from hub.config.toml_lines import parse_toml

Parse = Callable[[str, str], Document]


class Client(Struct, frozen=True):
    """One MCP client."""

    name: str
    title: str
    parse: Parse
    keys: tuple[str, ...]
    """Keys that lead to the entries."""
    dialect: Dialect
    in_project: str = ""
    """Its file in a project; empty when it has none, or none beside ``.mcp.json``."""


class Surroundings(Struct, frozen=True):
    """The user's folders, out of the environment that a run was given."""

    environ: Mapping[str, str]
    platform: str = sys.platform

    @property
    def home(self) -> Path:
        """The home folder."""
        given = self.environ.get("HOME") or self.environ.get("USERPROFILE")
        return Path(given) if given else Path.home()

    @property
    def config(self) -> Path:
        """The folder for settings as command-line programs use it."""
        given = self.environ.get("XDG_CONFIG_HOME", "")
        return Path(given) if Path(given).is_absolute() else self.home / ".config"

    @property
    def application(self) -> Path:
        """The folder for settings as programs with windows use it."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            given = self.environ.get("APPDATA", "")
            return Path(given) if given else self.home / "AppData" / "Roaming"
        return self.config

    def named(self, variable: str, fallback: Path) -> Path:
        """Return the folder that a variable names, or else another one."""
        given = self.environ.get(variable, "")
        return Path(given).expanduser() if given else fallback


def user_files(client: str, around: Surroundings) -> list[Path]:
    """Return where a client keeps its list for all projects, the usual place first."""
    home, config = around.home, around.config
    unix = around.platform != "win32"
    places: dict[str, list[Path]] = {
        "claude-desktop": [around.application / "Claude" / "claude_desktop_config.json"],
        "claude-code": [around.named("CLAUDE_CONFIG_DIR", home) / ".claude.json"],
        "vscode": [around.application / "Code" / "User" / "mcp.json"],
        "cursor": [home / ".cursor" / "mcp.json"],
        "windsurf": [home / ".codeium" / "windsurf" / "mcp_config.json"],
        "codex": [around.named("CODEX_HOME", home / ".codex") / "config.toml"],
        "gemini": [home / ".gemini" / "settings.json"],
        "goose": [
            config / "goose" / "config.yaml"
            if unix
            else around.application / "Block" / "goose" / "config" / "config.yaml"
        ],
        "zed": [_zed(around)],
    }
    return places[client]


def _zed(around: Surroundings) -> Path:
    if around.platform == "darwin":
        return around.home / ".config" / "zed" / "settings.json"
    return (around.application if around.platform == "win32" else around.config) / (
        "Zed/settings.json" if around.platform == "win32" else "zed/settings.json"
    )


MCP_SERVERS = ("mcpServers",)

_EDITOR = Dialect(translate=editor_style, prepare=preparing.cursor)

CLIENTS: Mapping[str, Client] = MappingProxyType({
    client.name: client
    for client in (
        Client("claude-desktop", "Claude Desktop", parse_json, MCP_SERVERS, Dialect()),
        Client(
            "claude-code", "Claude Code", parse_json, MCP_SERVERS, Dialect(translate=shell_style)
        ),
        Client(
            "vscode",
            "VS Code",
            parse_jsonc,
            ("servers",),
            Dialect(translate=editor_style, prepare=preparing.vscode, quiet=frozenset({"dev"})),
            ".vscode/mcp.json",
        ),
        Client("cursor", "Cursor", parse_jsonc, MCP_SERVERS, _EDITOR, ".cursor/mcp.json"),
        Client(
            "windsurf",
            "Windsurf",
            parse_json,
            MCP_SERVERS,
            Dialect(
                translate=editor_style,
                addresses={"serverUrl": "", "url": ""},
                deny="disabledTools",
            ),
        ),
        Client(
            "codex",
            "Codex",
            parse_toml,
            ("mcp_servers",),
            Dialect(
                prepare=preparing.codex,
                renames={"http_headers": "headers"},
                start_limit=("startup_timeout_sec", 1.0),
                call_limit=("tool_timeout_sec", 1.0),
                allow="enabled_tools",
                deny="disabled_tools",
                quiet=frozenset({"required"}),
            ),
            ".codex/config.toml",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            parse_jsonc,
            MCP_SERVERS,
            Dialect(
                translate=dollar_style,
                addresses={"httpUrl": "http", "url": "sse"},
                allow="includeTools",
                deny="excludeTools",
                quiet=frozenset({"trust"}),
            ),
            ".gemini/settings.json",
        ),
        Client(
            "goose",
            "Goose",
            parse_yaml,
            ("extensions",),
            Dialect(
                translate=shell_style,
                prepare=preparing.goose,
                renames={"cmd": "command", "envs": "env", "uri": "url"},
                call_limit=("timeout", 1.0),
                allow="available_tools",
                quiet=frozenset({"bundled", "display_name", "available_tools"}),
            ),
        ),
        Client(
            "zed",
            "Zed",
            parse_jsonc,
            ("context_servers",),
            Dialect(
                prepare=preparing.zed,
                call_limit=("timeout", 1.0),
                quiet=frozenset({"source", "settings", "remote"}),
            ),
            ".zed/settings.json",
        ),
    )
})
"""The clients by name, in the order of ``layer_names.CLIENTS``."""
