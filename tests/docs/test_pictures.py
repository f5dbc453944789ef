"""The pictures of the guides are those of the code."""

import os
from pathlib import Path

from hub.app.drawing import team_svg
from hub.app.inspect import load_team
from tests.conftest import UPDATE_GOLDEN

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "roles.svg"


def test_the_picture_of_the_shipped_team_is_up_to_date(tmp_path: Path) -> None:
    """``hub roles matrix --svg`` in an empty folder; ``pytest --update-golden`` draws it anew."""
    environ = {
        "HOME": str(tmp_path),
        "HUB_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    picture = team_svg(load_team(tmp_path, environ=environ))
    if os.environ.get(UPDATE_GOLDEN):
        PICTURE.write_text(picture, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == picture
