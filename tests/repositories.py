"""Git repositories for tests, made with the git of the machine and no settings of anybody."""

import os
import subprocess
from pathlib import Path

ALONE = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=ALONE, check=True, capture_output=True, timeout=30
    )
    return os.fsdecode(done.stdout)


def repository(folder: Path, **files: str) -> Path:
    """Make a repository with one commit of these files; ``__`` in a name stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def untouched(folder: Path) -> tuple[str, str, str, str]:
    """Return all that must not change in a workspace whose children work elsewhere."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_relative_to(folder / ".git")
    }
    return (
        repr(files),
        git(folder, "status", "--porcelain=v2", "--branch"),
        git(folder, "for-each-ref"),
        git(folder, "worktree", "list"),
    )
