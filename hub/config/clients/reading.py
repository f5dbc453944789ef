"""Reads the files of other clients: those that the settings name, or one that a user names."""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from hub.config.clients.dialect import Around
from hub.config.clients.entries import Taken, entries_at, layer_of
from hub.config.clients.table import CLIENTS, Client, Surroundings, user_files
from hub.config.documents import Document, read_text
from hub.config.layer_names import OF_PROJECT
from hub.config.problems import BadFile, Problem
from hub.config.sources import Layer
from hub.core.team import Origin

MAX_CLIENT_BYTES = 32_000_000
"""Size of the largest file of a client in the user's home; some keep much more than servers."""


class Found(Struct, frozen=True):
    """One file of one client that exists."""

    client: str
    title: str
    path: Path
    taken: Taken
    broken: Problem | None = None
    """Why nothing of it can be used."""
    of_project: bool = False
    """It lies in the project, not in the user's home."""


def client_layers(
    wanted: Sequence[str], own: Collection[str], around: Around, where: Surroundings
) -> tuple[list[Layer], list[str]]:
    """Return the layers of the clients that the settings name, lowest first, and notices.

    Files of the project are above those of the user's home; among equals the client that is named
    first wins. ``own`` are the clients that the user's own settings name; of all others only the
    files of the project are read.
    """
    layers: list[Layer] = []
    notices: list[str] = []
    for of_project in (False, True):
        for name in reversed(wanted):
            if not of_project and name not in own:
                continue
            for found in files_of(name, around, where, of_project=of_project):
                layers.append(found.taken.layer)
                notices += found.taken.notices
                if found.broken is not None:
                    notices.append(_not_used(found, found.broken))
    return layers, notices


def all_files(around: Around, where: Surroundings) -> list[Found]:
    """Return every file of every client that exists."""
    return [
        found
        for name in CLIENTS
        for of_project in (False, True)
        for found in files_of(name, around, where, of_project=of_project)
    ]


def files_of(name: str, around: Around, where: Surroundings, *, of_project: bool) -> list[Found]:
    """Return the files of a client that exist, in the project or in the user's home."""
    client = CLIENTS[name]
    paths = user_files(name, where)
    if of_project:
        in_project = around.project / client.in_project
        # In the home folder itself the two are one file, and the user's own.
        paths = [in_project] if client.in_project and in_project not in paths else []
    return [_found(client, path, around, of_project=of_project) for path in paths if path.is_file()]


def _found(client: Client, path: Path, around: Around, *, of_project: bool) -> Found:
    layer = f"{client.name}{OF_PROJECT}" if of_project else client.name
    taken, broken = take(client, layer, path, around)
    return Found(client.name, client.title, path, taken, broken, of_project)


def take(client: Client, layer: str, path: Path, around: Around) -> tuple[Taken, Problem | None]:
    """Read one file of a client; what makes it unusable comes back as a problem."""
    nothing = Taken(Layer(layer, {}, Origin(layer, str(path))))
    try:
        document = client.parse(read_text(path, limit=MAX_CLIENT_BYTES), str(path))
    except BadFile as error:
        return nothing, error.problem
    if document.problems and not isinstance(document.data, dict):
        return nothing, document.problems[0]
    return taken_of(client, layer, document, around)


def taken_of(
    client: Client, layer: str, document: Document, around: Around
) -> tuple[Taken, Problem | None]:
    """Return the entries of a file that has been read."""
    around = Around(around.project, around.home, document.data)
    if entries_at(document, client.keys) is None:
        named = ".".join(client.keys)
        problem = Problem(f"{named!r} has to be a mapping of servers", document.path)
        return Taken(Layer(layer, {}, Origin(layer, document.path))), problem
    taken = layer_of(layer, document, client.keys, client.dialect, around)
    if client.name == "claude-code":
        taken = _with_project(taken, client, document, around)
    return taken, None


def _with_project(taken: Taken, client: Client, document: Document, around: Around) -> Taken:
    """Put the entries over it that the client keeps for this project alone."""
    for folder in dict.fromkeys((around.project, around.project.resolve())):
        keys = ("projects", str(folder), *client.keys)
        if entries_at(document, keys):
            local = layer_of(taken.layer.name, document, keys, client.dialect, around)
            servers = taken.layer.data["servers"] | local.layer.data["servers"]
            kept = {
                path: origin
                for path, origin in taken.layer.origins.items()
                if path[1] not in local.layer.data["servers"]
            }
            origins = kept | dict(local.layer.origins)
            layer = Layer(taken.layer.name, {"servers": servers}, taken.layer.origin, origins)
            left_out = taken.left_out + local.left_out
            return Taken(layer, taken.notices + local.notices, left_out)
    return taken


def _not_used(found: Found, problem: Problem) -> str:
    where = f"{problem.where}: " if problem.where else ""
    message = problem.message.partition("\n")[0]
    return f"{where}the servers of {found.title} are not used: {message}"
