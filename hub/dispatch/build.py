"""Whether a dispatch may happen, and the job that it becomes."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from msgspec import Struct

from hub.core.acceptance import KINDS, Acceptance
from hub.core.cancel import CancelToken
from hub.core.changes import Changes
from hub.core.ids import new_id
from hub.core.jobs import Job
from hub.core.ledger import Ledger
from hub.core.limits import Limits
from hub.core.team import Edge, Grant, Role
from hub.core.text import one_line, printable

MAX_TASK = 20_000
"""Characters of a task."""
MAX_CONTEXT = 60_000
"""Characters of the context that a parent hands on."""
MAX_FILES = 50
"""Paths that a parent may hand on."""

DeriveGrant = Callable[[Role, Grant, Edge], Grant]
"""Narrows a parent's grant to that of a child over an edge."""


class Parent(Struct, frozen=True):
    """The dispatching side of an edge."""

    role: Role
    grant: Grant
    ledger: Ledger
    cancel: CancelToken
    session: str
    agent: str
    depth: int
    """0 for a root."""
    workspace: Path
    roles: Mapping[str, Role]
    derive: DeriveGrant
    no_isolation: Callable[[Path], str] = lambda workspace: ""
    """Says why a child cannot have a work tree of its own; empty when it may."""
    changes_of: Callable[[str], Changes | None] = lambda job: None
    """Tells what was saved of a job that was stopped from outside."""


class Refusal(Exception):
    """A dispatch that may not happen; the message tells the model what to do instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def build_job(
    parent: Parent, arguments: Mapping[str, Any], *, call_id: str, numbers: Iterator[int]
) -> Job:
    """Check a dispatch against edge, depth, sizes, files, budget and cancel, and build its job.

    ``numbers`` tells the parent's children apart; a refused dispatch takes none.

    Raises:
        Refusal: with the check that failed.
    """
    role = _role(parent, str(arguments["role"]))
    edge = parent.role.edge_to(role.name)
    if edge is None:
        raise Refusal(_no_edge(parent, role.name))
    _check_state(parent)
    task = _sized("task", str(arguments["task"]).strip(), MAX_TASK)
    if not task:
        raise Refusal("The task is empty; say what the child is to do.")
    context = _sized("context", str(arguments.get("context") or ""), MAX_CONTEXT)
    files = _files(parent.workspace, arguments.get("files") or [])
    acceptance = _acceptance(role, arguments.get("acceptance"))
    isolated = _isolated(parent, role, edge, arguments.get("isolation"))
    agent = f"{parent.agent}/{role.name}#{next(numbers)}"
    limits = role.limits.narrowed(_bounds_of(edge, role))
    return Job(
        id=new_id("j"),
        role=role.name,
        task=task,
        session=new_id("s"),
        parent_session=parent.session,
        call_id=call_id,
        agent=agent,
        depth=parent.depth + 1,
        grant=parent.derive(role, parent.grant, edge),
        ledger=parent.ledger.child(agent, limits),
        cancel=parent.cancel.child(),
        context=context,
        files=files,
        acceptance=acceptance,
        isolated=isolated,
    )


def _bounds_of(edge: Edge, role: Role) -> Limits:
    return Limits(
        steps=None,
        tool_calls=None,
        tokens=edge.tokens,
        usd=edge.usd,
        depth=role.limits.depth,
    )


def _isolated(parent: Parent, role: Role, edge: Edge, asked: Any) -> bool:
    """Say whether the job gets a work tree of its own; a dispatch can only ask for more of it."""
    if not (role.isolated or edge.isolated or asked):
        return False
    if why := parent.no_isolation(parent.workspace):
        raise Refusal(f"The child cannot have a work tree of its own: {why}.")
    return True


def _acceptance(role: Role, chosen: Any) -> Acceptance:
    """Return what is asked of the report; a parent chooses among kinds and brings no command."""
    if chosen is None or chosen == role.acceptance.kind:
        return role.acceptance
    kind = next((kind for kind in KINDS if kind == chosen), None)
    if kind is None:
        raise Refusal(f"There is no acceptance {chosen!r:.80}; there are {', '.join(KINDS)}.")
    if kind == "command":
        raise Refusal(f"Role {role.name!r} has no command for its acceptance.")
    return Acceptance(kind)


def _role(parent: Parent, name: str) -> Role:
    role = parent.roles.get(name)
    if role is not None:
        return role
    near = get_close_matches(name, list(parent.roles), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise Refusal(f"There is no role {name!r}.{hint}")


def _no_edge(parent: Parent, role: str) -> str:
    may = ", ".join(edge.role for edge in parent.role.dispatch) or "nobody"
    return f"Role {parent.role.name!r} may not dispatch to {role!r}; it may dispatch to: {may}."


def _check_state(parent: Parent) -> None:
    if parent.cancel.cancelled:
        raise Refusal("The run is being cancelled; nothing new is started.")
    allowed = _root_limits(parent.ledger).depth
    if parent.depth >= allowed:
        raise Refusal(
            f"The depth limit of {allowed} is reached; do the work yourself or report what is left."
        )
    if parent.ledger.remaining_tokens() == 0:
        raise Refusal("The token budget is used up; report what you have.")
    if parent.ledger.remaining_usd() == 0:
        raise Refusal("The budget of money is used up; report what you have.")


def _root_limits(ledger: Ledger) -> Limits:
    while ledger.parent is not None:
        ledger = ledger.parent
    return ledger.limits


def _sized(what: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise Refusal(
            f"The {what} has {len(text)} characters, {limit} are allowed. "
            "Put long material into a file and name it in files."
        )
    return text


def _problem(root: Path, name: str) -> str:
    """Say why a file cannot be handed on; empty when it can."""
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            return "is outside of the workspace"
        if not path.exists():
            return "does not exist in the workspace"
    except (OSError, RuntimeError, ValueError):  # too long, a circle of links, a NUL
        return "cannot be read"
    if printable(name) != name or len(name.splitlines()) > 1:
        return "has a name that is not printable; name its folder"
    return ""


def _files(workspace: Path, names: list[Any]) -> tuple[str, ...]:
    if len(names) > MAX_FILES:
        raise Refusal(f"{len(names)} files are named, {MAX_FILES} are allowed; name folders.")
    root = workspace.resolve()
    for name in names:
        if problem := _problem(root, str(name)):
            raise Refusal(f"The file {one_line(repr(name), 200)} {problem}.")
    return tuple(str(name) for name in names)
