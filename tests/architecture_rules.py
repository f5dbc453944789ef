"""The tables of the architecture: who may import whom, where libraries live, what may be larger.

``test_architecture.py`` and ``test_start_up.py`` hold the code to them. An entry is a decision:
adding one is a line that a reviewer sees, with its reason. An exception that nothing needs any
more fails as well.
"""

ALL_PARTS = frozenset({
    "config",
    "roles",
    "permissions",
    "hooks",
    "pipeline",
    "connections",
    "pins",
    "catalog",
    "models",
    "context",
    "sessions",
    "engine",
    "dispatch",
    "results",
    "worktrees",
})
"""What stands between ``core`` and ``app``; a part imports ``core`` and itself."""

TOP = {
    "core": frozenset[str](),
    "version": frozenset[str](),
    "app": ALL_PARTS | {"core", "version"},
    "cli": frozenset({"app", "core", "version"}),
    "serve": frozenset({"app", "core", "version"}),
    "testing": frozenset({"core", "version"}),
    "(root)": frozenset({"app", "core", "version"}),
    "__main__": frozenset({"cli"}),
}
"""What everything that is no part may import; ``(root)`` is ``hub/__init__.py``."""

EDGES = {
    ("engine", "context"): "a request is fitted into the model's window before it is sent",
    ("engine", "pipeline"): "the turn runs its calls through the one path",
    ("pipeline", "permissions"): "the path asks the policy",
    ("pipeline", "hooks"): "the path runs the hooks around a call",
    ("connections", "config"): "tokens are written like the other private files of the user",
    ("pins", "config"): "records are written like the other private files of the user",
    ("worktrees", "config"): "records are written like the other private files of the user",
    ("worktrees", "sessions"): "a work tree names its process as a lease does",
    ("roles", "config"): "a role file is read, located and complained of like a settings file",
    ("testing", "models"): "the scripted model server speaks the script language of models",
}
"""Imports between parts beyond the rule, each with its reason."""

BUNDLED_SERVERS = {
    "connections": "bundled servers run inside of the hub by default",
    "dispatch": "a command that accepts a child's work runs like a command of the shell server",
}
"""Parts that may import ``hub_servers``, each with its reason."""

HOMES = {
    "anyio": ("hub", "hub_servers"),
    "pydantic": ("hub", "hub_servers"),
    "pydantic_core": ("hub", "hub_servers"),
    "openai": ("hub.models",),
    "httpx2": ("hub.models", "hub.connections"),
    "msgspec": ("hub",),
    "mcp": ("hub.connections", "hub.catalog", "hub.serve", "hub.testing", "hub_servers"),
    "mcp_types": ("hub.connections", "hub.catalog", "hub.serve", "hub.testing", "hub_servers"),
    "rich": ("hub.cli",),
    "typer": ("hub.cli",),
    "yaml": ("hub.config", "hub.roles", "hub.models.script", "hub.testing"),
    "jinja2": ("hub.models.script",),
    "jsonschema": ("hub.pipeline", "hub.roles"),
    "keyring": ("hub.config", "hub.connections"),
}
"""Beginnings of the modules that may import a library; what is not here may not be imported."""

COMES_WITH = {
    "mcp_types": "mcp",
    "yaml": "pyyaml",
}
"""The declared dependency that brings a library of another name."""

LATE = frozenset({"mcp", "openai", "jinja2", "jsonschema", "keyring"})
"""Libraries that are slow to import, or optional, so that a function may import them."""

SLOW = frozenset({"mcp", "openai", "httpx2", "jinja2", "jsonschema", "keyring"})
"""Libraries that no command may load unless it talks to a model or a server."""

QUICK_COMMANDS = (
    ("--help",),
    ("--version",),
    ("version",),
    ("run", "--help"),
    ("roles", "list"),
    ("roles", "show", "lead"),
    ("sessions", "list"),
    ("jobs", "list"),
    ("config", "show"),
    ("trust", "--show"),
    ("mcp", "import"),
    ("mcp", "add", "x", "--", "y"),
    ("mcp", "remove", "--help"),
    ("mcp", "list"),
)
"""Commands that must start without any of ``SLOW``; those that do not exist yet are passed over."""

QUICK_WHEN_WARM = (("roles", "matrix"),)
"""The same for commands that have to ask servers for their tools the first time."""

MODULE_LINES = 300
FUNCTION_LINES = 50
POSITIONAL = 6

LARGER = {
    "hub/cli/run.py run": "each option is a parameter for typer; the body is one call",
}
"""Modules and functions above the limits, each with its reason."""

LAZY_FACES = {
    "hub/__init__.py": "public names are imported when first asked for; type checkers see them",
    "hub/testing/__init__.py": "as above, for the shipped doubles",
}
"""Modules that may import under ``TYPE_CHECKING``, each with its reason."""

DRAWERS = frozenset({
    "base",
    "common",
    "helper",
    "helpers",
    "manager",
    "managers",
    "misc",
    "util",
    "utils",
})
"""Words that say nothing of what is inside; no module has one in its name."""

EMPTY_ENDINGS = ("Manager", "Helper", "Helpers", "Utils")
"""Endings of class names that say nothing."""

TEST_MODES = ("test_mode", "testmode", "_called_from_test", "pytest_current_test")
"""Words by which product code would behave differently under test."""

SUPPRESSIONS = 14
"""How many ``noqa`` and ``type: ignore`` the product may have; each has a code and a reason."""
