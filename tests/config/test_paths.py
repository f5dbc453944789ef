"""The hub's folders and the project's folder."""

from pathlib import Path

from hub.config.paths import find_paths, find_project, tidied, write_private


def test_state_goes_where_hub_state_dir_says_then_xdg_then_home(tmp_path: Path) -> None:
    """The hub's own variable names the folder itself."""
    home = tmp_path / "home"
    assert find_paths({}, home=home).state == home / ".local" / "state" / "hub"
    xdg = {"XDG_STATE_HOME": str(tmp_path / "x")}
    assert find_paths(xdg, home=home).state == tmp_path / "x" / "hub"
    both = {**xdg, "HUB_STATE_DIR": str(tmp_path / "mine")}
    assert find_paths(both, home=home).state == tmp_path / "mine"


def test_settings_and_caches_follow_xdg(tmp_path: Path) -> None:
    """Config and cache are looked up each by its own variable."""
    paths = find_paths({"XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k"}, home=tmp_path)
    assert paths.user_settings == Path("/c/hub/config.yaml")
    assert paths.user_roles == Path("/c/hub/roles")
    assert paths.cache == Path("/k/hub")


def test_a_relative_or_empty_xdg_folder_counts_as_not_given(tmp_path: Path) -> None:
    """So say the XDG rules."""
    paths = find_paths({"XDG_CONFIG_HOME": "etc", "XDG_STATE_HOME": ""}, home=tmp_path)
    assert paths.config == tmp_path / ".config" / "hub"
    assert paths.state == tmp_path / ".local" / "state" / "hub"


def test_looking_up_folders_creates_none(tmp_path: Path) -> None:
    """Nothing is created before it is needed."""
    find_paths({}, home=tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_what_is_written_is_private_and_leaves_no_draft(tmp_path: Path) -> None:
    """Folders 0700, files 0600, whatever the umask is."""
    path = tmp_path / "a" / "b" / "file.json"
    write_private(path, "one")
    write_private(path, "two")
    assert path.read_text(encoding="utf-8") == "two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.parent.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_the_project_is_the_nearest_folder_with_settings_inside_the_repository(
    tmp_path: Path,
) -> None:
    """From a subfolder the settings at the root are found."""
    deep = tmp_path / "repo" / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    assert find_project(deep, home=tmp_path) == deep
    (tmp_path / "repo" / ".hub").mkdir()
    assert find_project(deep, home=tmp_path) == tmp_path / "repo"
    (deep / ".mcp.json").touch()
    assert find_project(deep, home=tmp_path) == deep


def test_settings_above_the_repository_or_at_home_are_not_the_projects(tmp_path: Path) -> None:
    """A folder above belongs to somebody else's purpose."""
    repo = tmp_path / "home" / "repo"
    (repo / ".git").mkdir(parents=True)
    (tmp_path / "home" / ".hub").mkdir()
    (tmp_path / ".hub").mkdir()
    assert find_project(repo, home=tmp_path / "home") == repo
    loose = tmp_path / "home" / "loose"
    loose.mkdir()
    assert find_project(loose, home=tmp_path / "home") == loose


def test_a_path_is_told_without_detours_unless_a_link_makes_them_mean_more(tmp_path: Path) -> None:
    """``a/../b`` is ``b``, but not where ``a`` leads elsewhere."""
    (tmp_path / "a").mkdir()
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    assert tidied(tmp_path / "a" / ".." / "b") == tmp_path / "b"
    assert tidied(tmp_path / "link" / ".." / "b") == tmp_path / "link" / ".." / "b"
    assert tidied(tmp_path / "link") == tmp_path / "link"
