"""All roles of a run, out of the folders that may hold them.

From the strongest: the project's ``.hub/roles``, the project's ``.claude/agents`` when the settings
ask for it, the user's ``roles`` folder, the shipped team. A role hides those of the same name in
weaker folders; two of one name within a folder are an error.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from hub.config.keys import KeyPath
from hub.config.problems import Problem, fault, nearest
from hub.core.errors import RoleError
from hub.core.team import Origin, Role
from hub.roles.files import CLAUDE_LAYER, Defaults, ReadRole, read_role

_SUFFIXES = frozenset({".md", ".yaml", ".yml"})
_NOT_ROLES = frozenset({"readme.md"})
_PACKAGE = Path(__file__).parents[1]


class RoleFolder(Struct, frozen=True):
    """One folder of role files."""

    layer: str
    """``project``, ``claude_agents``, ``user`` or ``shipped``."""
    path: Path


class RoleBook(Struct, frozen=True):
    """The roles in force, by name."""

    roles: Mapping[str, Role]
    lines: Mapping[str, Mapping[KeyPath, int]]
    """Per role, the line of each key and list item."""
    notes: tuple[str, ...] = ()
    """Which role hides which, and what in a file has no effect."""

    def get(self, name: str) -> Role:
        """Return a role.

        Raises:
            RoleError: there is none of this name.
        """
        if role := self.roles.get(name):
            return role
        known = f"The roles are: {', '.join(sorted(self.roles))}."
        advice = nearest(name, self.roles.keys())
        raise RoleError(f"there is no role {name!r}", remedy=f"{advice} {known}".strip())

    def place(self, name: str, key: KeyPath) -> Origin:
        """Return the file and line of a role's key, or of the nearest thing around it."""
        origin, lines = self.roles[name].origin, self.lines.get(name, {})
        while key and key not in lines:
            key = key[:-1]
        return Origin(origin.layer, origin.path, lines.get(key, origin.line))


def shipped_folder() -> Path:
    """Return the folder of the shipped team: inside of the wheel, or beside the sources."""
    installed = _PACKAGE / "shipped_roles"
    return installed if installed.is_dir() else _PACKAGE.parent / "roles"


def role_folders(
    project: Path, user_roles: Path, *, claude_agents: bool = False
) -> list[RoleFolder]:
    """Return the folders to search, the strongest first."""
    folders = [RoleFolder("project", project / ".hub" / "roles")]
    if claude_agents:
        folders.append(RoleFolder(CLAUDE_LAYER, project / ".claude" / "agents"))
    return [*folders, RoleFolder("user", user_roles), RoleFolder("shipped", shipped_folder())]


def load_roles(folders: Sequence[RoleFolder], defaults: Defaults | None = None) -> RoleBook:
    """Read every role file of the folders.

    Raises:
        RoleError: with all that is wrong in all files, each with its place.
    """
    found: dict[str, ReadRole] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for folder in folders:
        here, wrong = _read_folder(folder, defaults or Defaults())
        if folder.layer == CLAUDE_LAYER:
            notes += [f"{p.where}: the file is left out: {p.message}" for p in wrong]
        else:
            problems += wrong
        problems += _twins(here)
        for read in here:
            role = read.role
            if role.name in found:
                stronger = found[role.name].role
                if stronger.origin.path != role.origin.path:
                    notes.append(
                        f"role {role.name!r}: {stronger.origin.path} is used instead of "
                        f"{role.origin.path}"
                    )
                continue
            found[role.name] = read
            notes += read.notes
    if problems:
        raise fault(RoleError, problems)
    return RoleBook(
        {name: read.role for name, read in found.items()},
        {name: read.lines for name, read in found.items()},
        tuple(notes),
    )


def _read_folder(folder: RoleFolder, defaults: Defaults) -> tuple[list[ReadRole], list[Problem]]:
    roles: list[ReadRole] = []
    problems: list[Problem] = []
    if not folder.path.is_dir():
        return roles, problems
    for path in sorted(folder.path.iterdir()):
        if path.suffix not in _SUFFIXES or path.name.lower() in _NOT_ROLES:
            continue
        read = read_role(path, folder.layer, defaults)
        if isinstance(read, ReadRole):
            roles.append(read)
        else:
            problems += read
    return roles, problems


def _twins(roles: Sequence[ReadRole]) -> list[Problem]:
    first: dict[str, Role] = {}
    problems = []
    for read in roles:
        role = read.role
        twin = first.setdefault(role.name, role)
        if twin is not role:
            problems.append(
                Problem(
                    f"this is the second role named {role.name!r}, beside {twin.origin.path}",
                    str(role.origin),
                    "Rename one of them, or remove it.",
                )
            )
    return problems
