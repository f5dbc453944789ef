"""What the tests of other clients' files share."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.config.layers import Loaded, Sources, load_settings
from hub.config.paths import Paths
from hub.config.servers import server_specs
from hub.core.servers import ServerSpec


class Machine:
    """A home with files of other clients, and a project."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "work" / "site"
        self.project.mkdir(parents=True)
        self.paths = Paths(root / "state", self.home / ".config" / "hub", root / "cache")
        self.environ: dict[str, str] = {"HOME": str(self.home)}

    def write(self, path: str, text: str | Mapping[str, Any], *, project: bool = False) -> Path:
        """Write a file below the home, or below the project; a mapping is written as JSON."""
        full = (self.project if project else self.home) / path
        full.parent.mkdir(parents=True, exist_ok=True)
        content = text if isinstance(text, str) else json.dumps(text, indent=2)
        full.write_text(content, encoding="utf-8")
        return full

    def settings(self, text: str) -> Path:
        """Write the user's own settings."""
        return self.write(".config/hub/config.yaml", text)

    def load(self, **more: Any) -> Loaded:
        """Read all settings."""
        return load_settings(
            Sources(self.project, self.paths, self.environ, cwd=self.project, **more)
        )

    def loaded_from(self, *clients: str) -> Loaded:
        """Read all settings with the servers of these clients."""
        self.settings(f"servers_from: [{', '.join(clients)}]\n")
        return self.load()

    def specs_from(self, *clients: str) -> dict[str, ServerSpec]:
        """Return the servers of these clients."""
        specs = server_specs(self.loaded_from(*clients))
        return {spec.name: spec for spec in specs if spec.origin.layer != "default"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty machine."""
    return Machine(tmp_path)
