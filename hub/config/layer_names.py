"""Names of layers, told apart by who wrote what is in them."""

CLIENTS = (
    "claude-desktop",
    "claude-code",
    "vscode",
    "cursor",
    "windsurf",
    "codex",
    "gemini",
    "goose",
    "zed",
)
"""Other MCP clients whose server lists can be read; the name is that of the layer as well."""

OF_PROJECT = ":project"
"""What follows a client's name where the file lies in the project."""

CLIENT_LAYERS = frozenset(CLIENTS)
"""Layers of files that other clients keep in the user's home; a server in there was never meant
for hub, so it needs an approval."""

PROJECT_LAYERS = frozenset({"mcp_json", "project", "local"}) | {
    f"{client}{OF_PROJECT}" for client in CLIENTS
}
"""Layers whose files come with the project, so possibly from strangers."""

FOREIGN_LAYERS = PROJECT_LAYERS | CLIENT_LAYERS
"""Layers whose servers need an approval of the user; those of all others are the user's own."""
