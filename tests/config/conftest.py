from collections.abc import Mapping
from pathlib import Path

import pytest

from hub.config.layers import Loaded, Sources, load_settings
from hub.config.paths import Paths


class Place:
    """A user's and a project's folder, to be filled with files."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.paths = Paths(root / "state", root / "user", root / "cache")
        self.user_file = self.paths.user_settings
        self.project_file = self.project / ".hub" / "config.yaml"
        self.local_file = self.project / ".hub" / "config.local.yaml"
        self.mcp_file = self.project / ".mcp.json"

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def user(self, text: str) -> Path:
        return self.write(self.user_file, text)

    def shared(self, text: str) -> Path:
        return self.write(self.project_file, text)

    def local(self, text: str) -> Path:
        return self.write(self.local_file, text)

    def mcp(self, text: str) -> Path:
        return self.write(self.mcp_file, text)

    def load(
        self,
        *,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, tuple[object, str]] | None = None,
        sets: tuple[str, ...] = (),
        file: Path | None = None,
    ) -> Loaded:
        return load_settings(
            Sources(
                project=self.project,
                paths=self.paths,
                environ=env or {},
                cwd=self.project,
                flags=flags or {},
                assignments=sets,
                file=file,
            )
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
