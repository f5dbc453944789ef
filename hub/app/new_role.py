"""Writes a role file to begin with, beside those that there are and never over one."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hub.app.setup import find_sources, load_setup
from hub.config.problems import fault
from hub.core.errors import RoleError, UsageError
from hub.roles.draft import draft
from hub.roles.files import Defaults, ReadRole, read_role
from hub.roles.load import RoleBook

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class NewRole(Struct, frozen=True):
    """A role file that was written."""

    path: Path
    next_steps: tuple[str, ...]
    """What to do now, in order."""


def new_role(
    workspace: Path,
    name: str,
    *,
    source: str | None = None,
    for_user: bool = False,
    team: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> NewRole:
    """Write a role file into the project or, ``for_user``, into the user's own folder.

    Raises:
        UsageError: the name is none, is taken, or nothing can be written there.
    """
    if not NAME.fullmatch(name) or name.lower() == "readme":
        raise UsageError(
            f"{name!r:.80} cannot be the name of a role",
            remedy="Take letters, digits, '-' and '_', at most 64, beginning with a letter or "
            "digit; files named readme are no roles.",
        )
    sources = find_sources(workspace, environ=environ, team=team)
    book = load_setup(workspace, sources).book
    project = sources.project.resolve()
    folder = sources.paths.user_roles if for_user else project / ".hub" / "roles"
    if not for_user and not folder.resolve().is_relative_to(project):
        raise UsageError(
            f"{folder} leads out of the project", remedy="Write it for yourself with --user."
        )
    _require_free(book, folder, name)
    role = None if source is None else book.get(source)
    lines = book.lines.get(role.name, {}) if role else {}
    path = folder / f"{name}.md"
    _write(path, draft(name, role, lines), "user" if for_user else "project")
    return NewRole(path, tuple(_next_steps(book, name, path, for_user=for_user)))


def _require_free(book: RoleBook, folder: Path, name: str) -> None:
    twins = [folder / f"{name}{suffix}" for suffix in (".md", ".yaml", ".yml")]
    taken = [path for path in twins if path.exists() or path.is_symlink()]
    role = book.roles.get(name)
    if role is not None and Path(role.origin.path).parent.resolve() == folder.resolve():
        taken.append(Path(role.origin.path))
    if taken:
        raise UsageError(
            f"there is a role {name!r} already: {taken[0]}",
            remedy=f"Edit that file, or take another name: hub roles new OTHER --from {name}",
        )


def _write(path: Path, text: str, layer: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already", remedy="Edit it.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    read = read_role(path, layer, Defaults())
    if not isinstance(read, ReadRole):
        path.unlink()
        raise fault(RoleError, read)


def _next_steps(book: RoleBook, name: str, path: Path, *, for_user: bool) -> list[str]:
    written = read_role(path, "user" if for_user else "project", Defaults())
    role = written.role if isinstance(written, ReadRole) else None
    steps = [f"Say in {path} what it is for and what it may use."]
    if (other := book.roles.get(name)) is not None:
        hides = "It hides" if other.origin.layer in ("shipped", "user") else "It is hidden by"
        steps.append(f"{hides} {other.origin.path}; give it another name if that is not meant.")
    if role is not None and role.user_facing:
        steps.append(f'Start it with: hub run --role {name} "TASK"')
    else:
        starts = [r for r in book.roles.values() if r.user_facing and r.origin.layer != "shipped"]
        where = starts[0].origin.path if starts else "a copy of the lead: hub roles new lead --from"
        where += "" if starts else " lead"
        steps.append(f"Let a role dispatch to it: add {name} under 'dispatch' in {where}")
    asks = role is not None and (role.allow or role.acceptance.command)
    if asks and not for_user:
        steps.append("Agree to its allow rules and its acceptance command with: hub trust")
    steps.append("Look whether it can work with: hub roles check")
    return steps
