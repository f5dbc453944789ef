"""What a server gains by a name: nothing."""

import sys
from pathlib import Path

import pytest

from hub.config.layers import Sources, load_settings
from hub.config.paths import Paths
from hub.config.servers import bundled_servers, server_specs
from hub.core.errors import ConfigError


def sources(root: Path, text: str) -> Sources:
    paths = Paths(root / "state", root / "user", root / "cache")
    paths.config.mkdir()
    paths.user_settings.write_text(text, encoding="utf-8")
    return Sources(project=root, paths=paths, cwd=root)


def test_only_servers_under_their_own_names_count_as_bundled(tmp_path: Path) -> None:
    """A command that is called files is not ours, and neither is a shell that is called notes."""
    text = f"servers: {{files: {{command: {sys.executable}}}, notes: {{bundled: shell}}}}\n"
    assert bundled_servers(load_settings(sources(tmp_path, text))) == {"shell"}


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "а", "a b", "a\nb", "a/b", "ﬁles"])
def test_a_server_with_a_name_that_could_be_mistaken_is_refused(tmp_path: Path, name: str) -> None:
    """Two underscores part a server from its tools, and look-alikes are other letters."""
    text = f"servers: {{{ascii(name).replace(chr(39), chr(34))}: {{command: x}}}}\n"
    with pytest.raises(ConfigError, match="cannot be the name"):
        server_specs(load_settings(sources(tmp_path, text)))
