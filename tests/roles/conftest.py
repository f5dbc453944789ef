from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hub.roles.files import Defaults
from hub.roles.load import RoleBook, RoleFolder, load_roles

BUNDLED_TOOLS = (
    "files__read",
    "files__write",
    "files__edit",
    "files__list",
    "files__glob",
    "files__grep",
    "shell__run",
    "notes__memory",
    "notes__scratchpad",
    "notes__todo",
)


class Folders:
    """Role folders of all layers, to be filled with files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, layer: str, name: str, text: str) -> Path:
        path = self.root / layer / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def load(self, defaults: Defaults | None = None) -> RoleBook:
        layers = ("project", "claude_agents", "user", "shipped")
        return load_roles([RoleFolder(layer, self.root / layer) for layer in layers], defaults)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


@pytest.fixture
def tool_names() -> tuple[str, ...]:
    return BUNDLED_TOOLS


@pytest.fixture
def team(folders: Folders) -> Callable[..., RoleBook]:
    """Build a book of roles from front matters by name."""

    def build(**front_matters: Any) -> RoleBook:
        for name, text in front_matters.items():
            folders.write("user", f"{name}.md", f"---\n{text}\n---\nDo it.\n")
        return folders.load()

    return build
