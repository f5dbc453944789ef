"""Runs the survey team on a folder: what ``make demo`` does.

Usage: python examples/survey/demo.py [FOLDER]
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GIT_SERVER = ROOT / ".third-party" / "git" / "bin" / "mcp-server-git"


def command(folder: Path) -> list[str]:
    """Return the command line; the git server joins where there is a repository to read."""
    line = ["hub", "run", "Survey this folder", "--team", _short(HERE), "-C", _short(folder)]
    if GIT_SERVER.is_file() and _is_repository(folder):
        arguments = '["--repository", "."]'
        line += ["--set", f"servers.git.command={GIT_SERVER}"]
        line += ["--set", f"servers.git.args={arguments}"]
    return line


def _short(path: Path) -> str:
    """Return a path as a person would type it here."""
    path = path.resolve()
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _is_repository(folder: Path) -> bool:
    if shutil.which("git") is None:
        return False
    asked = ["git", "-C", str(folder), "rev-parse", "--is-inside-work-tree"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def main() -> None:
    """Show the command and become it."""
    line = command(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("$", shlex.join(line), file=sys.stderr, flush=True)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    os.execvpe(line[0], line, environment)


if __name__ == "__main__":
    main()
