"""Searches skip what Git ignores, compared with Git itself."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hub_servers.walking import Budget, Walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git to compare with")

NAMES = st.sampled_from(["a", "b", "ab", "a.o", "b.o", "build", "x y", ".env", "[a]", "#c", "!d"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = st.sampled_from(
    [
        "a", "*.o", "build/", "/a", "/b/", "a/b", "**/ab", "a/**", "a/**/b", "!a", "!*.o", "!a.o",
        "[ab]", "[!a]b", "?", "*", "!build/", "# a", r"\#c", r"\!d", "x y", "a ", r"a\ ", "**",
        "/**/b", "b/*", "!b/a", "a*", "*b", "[a]", r"\[a\]", ".env", "build/*", "!build/a", "a/",
        "", "/", "a//b", "ab/**/",
    ]
)  # fmt: skip
RULES = st.lists(PATTERNS, max_size=6)


def walked(root: Path) -> set[str]:
    """Return the files that a walk comes to."""
    return {
        entry.name
        for entry in Walk(root, root, Budget.of(10))
        if entry.kind == "file" and not entry.name.endswith(".gitignore")
    }


def listed_by_git(root: Path) -> set[str]:
    """Return the files that Git does not ignore."""
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-co", "--exclude-standard", "-z"]
    output = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout.decode()
    return {name for name in output.split("\0") if name and not name.endswith(".gitignore")}


def make(root: Path, paths: list[str]) -> None:
    """Create files, leaving out those whose place is taken."""
    for path in paths:
        file = root / path
        if not file.exists() and not any(one.is_file() for one in file.parents):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x")


@needs_git
@settings(deadline=None, max_examples=60)
@given(st.lists(PATHS, max_size=12), RULES, RULES, RULES)
@example(["a/b/a", "a/a", "b"], ["a/**", "!a/b"], [], [])
@example(["a/b", "b"], ["*", "!*/", "!b"], [], [])
def test_a_walk_comes_to_the_files_that_git_does_not_ignore(
    paths: list[str], top: list[str], nested: list[str], excluded: list[str]
) -> None:
    """Rules at the top, in a folder and in ``.git/info/exclude`` work together as in Git."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        subprocess.run(["git", "init", "-q", folder], check=True, capture_output=True)
        make(root, paths)
        (root / ".gitignore").write_text("\n".join(top))
        if (root / "a").is_dir():
            (root / "a" / ".gitignore").write_text("\n".join(nested))
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text("\n".join(excluded))
        assert walked(root) == listed_by_git(root)


@needs_git
def test_rules_above_the_root_hold_as_well(tmp_path: Path) -> None:
    """The root may be a folder inside a repository."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    (tmp_path / ".gitignore").write_text("*.o\n/sub/only\n/kept\n")
    make(tmp_path, ["sub/a.o", "sub/only", "sub/kept"])
    assert walked(tmp_path / "sub") == listed_by_git(tmp_path / "sub") == {"kept"}


def test_outside_a_repository_only_heavy_folders_are_skipped(tmp_path: Path) -> None:
    """A ``.gitignore`` has no meaning there."""
    (tmp_path / ".gitignore").write_text("a\n")
    make(tmp_path, ["a", "node_modules/x/y", ".venv/z", "src/__pycache__/c", "src/d"])
    assert walked(tmp_path) == {"a", "src/d"}


def test_a_folder_that_is_named_is_walked_even_if_it_is_ignored(tmp_path: Path) -> None:
    """Who names it wants to see it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n*.o\n")
    make(tmp_path, ["build/a", "build/b.o", "node_modules/c"])
    names = {entry.name for entry in Walk(tmp_path, tmp_path / "build", Budget.of(10))}
    assert names == {"build/a"}
    names = {entry.name for entry in Walk(tmp_path, tmp_path / "node_modules", Budget.of(10))}
    assert names == {"node_modules/c"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A loop of links has an end, and a link to the outside shows nothing of it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / "out").symlink_to("/etc")
    kinds = {entry.name: entry.kind for entry in Walk(tmp_path, tmp_path, Budget.of(10))}
    assert kinds == {"out": "link", "sub": "dir", "sub/loop": "link"}
