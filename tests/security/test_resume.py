"""A session goes on where it began."""

from pathlib import Path

import pytest

from hub.core.errors import UsageError
from hub.testing.serving import serve_model
from tests.teams import ask, team

SCRIPT = {"script": 1, "turns": [{"text": "the code is 1234"}, {"text": "more", "optional": True}]}


async def test_a_session_does_not_go_on_in_the_folder_of_somebody_else(tmp_path: Path) -> None:
    """The roles of a clone would read what was said elsewhere; a folder that moved is no other."""
    mine, clone = tmp_path / "mine", tmp_path / "clone"
    mine.mkdir()
    clone.mkdir()
    (tmp_path / "link").symlink_to(mine)
    async with serve_model(SCRIPT) as server:
        async with team(server, mine, tmp_path) as hub:
            await ask(hub, "hi")
        with pytest.raises(UsageError, match="worked on") as caught:
            async with team(server, clone, tmp_path, resume=hub.session_id):
                pass
        assert f"-C {mine}" in caught.value.remedy
        async with team(server, tmp_path / "link", tmp_path, resume=hub.session_id) as again:
            result, _ = await ask(again, "go on")
        assert result.outcome == "done"
        mine.rename(tmp_path / "moved")
        async with team(server, tmp_path / "moved", tmp_path, resume=hub.session_id):
            pass
