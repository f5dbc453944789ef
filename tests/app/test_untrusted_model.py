"""A run that lacks its model because the workspace is not trusted says so."""

from pathlib import Path

import pytest

from hub.app.open import open_hub
from hub.app.options import RunOptions
from hub.core.errors import ConfigError


async def test_a_model_that_is_withheld_is_no_model_and_the_message_points_to_trust(
    tmp_path: Path,
) -> None:
    """It names the role, and what to do before anything else."""
    folder = tmp_path / "work"
    (folder / ".hub").mkdir(parents=True)
    (folder / "s.yaml").write_text("script: 1\nturns: [{text: hi}]\n", encoding="utf-8")
    settings = folder / ".hub" / "config.yaml"
    settings.write_text("model: script:../s.yaml\n", encoding="utf-8")
    env = {"HOME": str(tmp_path), "HUB_STATE_DIR": str(tmp_path / "state")}
    with pytest.raises(ConfigError) as caught:
        async with open_hub(RunOptions(workspace=folder, env=env)):
            pass
    assert "role 'lead'" in caught.value.message
    assert "hub trust" in caught.value.remedy
