"""What the tests of ``hub mcp`` share."""

from pathlib import Path

import pytest

from tests.cli.mcp.desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A home and a project with nothing in them."""
    return Desk(tmp_path, monkeypatch)
