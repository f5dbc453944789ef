"""Where the hub keeps state, settings and caches, and which folder is the project."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

SETTINGS = "config.yaml"
LOCAL_SETTINGS = "config.local.yaml"
MCP_JSON = ".mcp.json"
PROJECT_DIR = ".hub"
PRIVATE_DIR_MODE = 0o700
PRIVATE_FILE_MODE = 0o600


class Paths(Struct, frozen=True):
    """The hub's own folders; none of them exists before something is written there."""

    state: Path
    """Sessions, approvals and trust records."""
    config: Path
    """The user's settings and roles."""
    cache: Path
    """What may be deleted at any time."""

    @property
    def user_settings(self) -> Path:
        """The user's settings file."""
        return self.config / SETTINGS

    @property
    def user_roles(self) -> Path:
        """The user's role files."""
        return self.config / "roles"


def find_paths(environ: Mapping[str, str], *, home: Path | None = None) -> Paths:
    """Work out the hub's folders from the environment; nothing is created.

    ``HUB_STATE_DIR`` names the state folder itself. As the XDG rules say, a base folder that is
    empty or not absolute counts as not given.
    """
    base = home or Path.home()
    own = environ.get("HUB_STATE_DIR", "")
    state = Path(own).expanduser().absolute() if own else None
    return Paths(
        state=state or _xdg(environ, "XDG_STATE_HOME", base / ".local" / "state"),
        config=_xdg(environ, "XDG_CONFIG_HOME", base / ".config"),
        cache=_xdg(environ, "XDG_CACHE_HOME", base / ".cache"),
    )


def find_project(start: Path, *, home: Path | None = None) -> Path:
    """Return the nearest folder from ``start`` upwards that holds ``.hub`` or ``.mcp.json``.

    The search ends at the root of the git repository, below the home folder, and at a folder that
    belongs to somebody else; without a find it is ``start`` itself.
    """
    start = start.absolute()
    above = (home or Path.home()).absolute()
    for folder in (start, *start.parents):
        if folder != start and (folder == above or not _is_ours(folder)):
            break
        if (folder / PROJECT_DIR).is_dir() or (folder / MCP_JSON).is_file():
            return folder
        if (folder / ".git").exists():
            break
    return start


def tidied(path: Path) -> Path:
    """Return an absolute path without ``..``; where a link makes those mean more, they stay."""
    full = path.expanduser().absolute()
    if ".." not in full.parts:
        return full
    plain = os.path.normpath(full)
    return Path(plain) if os.path.realpath(plain) == os.path.realpath(full) else full


def make_private_dir(path: Path) -> None:
    """Create a folder and its missing parents, readable by the owner only."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_DIR_MODE, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by the owner only; a reader sees the old or the new."""
    make_private_dir(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with os.fdopen(os.open(draft, flags, PRIVATE_FILE_MODE), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _xdg(environ: Mapping[str, str], name: str, fallback: Path) -> Path:
    given = environ.get(name, "")
    return (Path(given) if Path(given).is_absolute() else fallback) / "hub"


def _is_ours(folder: Path) -> bool:
    try:
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False
