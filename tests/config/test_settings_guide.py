"""What the settings guide shows can be loaded."""

import re
from pathlib import Path
from typing import Any

import pytest

from hub.config.layer_names import OF_PROJECT, PROJECT_LAYERS
from hub.config.schema import Settings
from hub.config.servers import server_specs
from hub.core.team import MODE_ORDER

GUIDE = (Path(__file__).parents[2] / "docs" / "settings-guide.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_example_loads_as_a_users_settings(place: Any, text: str) -> None:
    """Together with the ``.mcp.json`` of the guide, since one example adjusts it."""
    place.mcp(blocks("json")[0])
    place.user(text)
    loaded = place.load()
    assert loaded.notices == ()
    assert server_specs(loaded)


def test_the_mcp_json_of_the_guide_gives_the_server_that_it_shows(place: Any) -> None:
    """With its references turned into ours."""
    place.mcp(blocks("json")[0])
    tickets = server_specs(place.load())[-1]
    assert (tickets.name, tickets.command) == ("tickets", "npx")
    assert tickets.args[-1] == "--level=${env:LEVEL:-info}"


def test_the_guide_speaks_of_every_section_and_mode() -> None:
    """A section that is added has to be told."""
    for name in Settings.model_fields.keys() - {"claude_agents", "role"}:
        assert f"`{name}`" in GUIDE or f"{name}:" in GUIDE, name
    for mode in MODE_ORDER:
        assert f"| `{mode}` |" in GUIDE
    assert {name for name in PROJECT_LAYERS if OF_PROJECT not in name} == {
        *("mcp_json", "project", "local"),
    }
    for file in (".mcp.json", ".hub/config.yaml", ".hub/config.local.yaml"):
        assert f"`{file}`" in GUIDE
