"""Whether the models that a run would use are there: endpoints that answer, scripts that parse."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from msgspec import Struct, field
from msgspec.structs import replace

from hub.app.findings import Finding, broken
from hub.app.reach import roles_in_reach
from hub.app.setup import Setup
from hub.config.models import SCRIPT, model_spec
from hub.core.errors import HubError
from hub.core.modelspec import ModelSpec
from hub.core.team import Role

MODEL_SECONDS = 20.0
"""How long a model's endpoint may take to list its models."""


class _Wanted(Struct):
    """One model, or why there is none, and the roles that use it."""

    spec: ModelSpec | str | HubError
    roles: list[str] = field(default_factory=list)


async def tell_models(
    setup: Setup, *, named: bool = False, tell: Callable[[Finding], None]
) -> None:
    """Look at the models of the role that a run starts with and of those in its reach.

    ``named`` says that the run's model was named by a flag: it is looked at in any case.
    """
    start = setup.book.roles.get(setup.loaded.settings.role)
    reach = [] if start is None else roles_in_reach(setup.book, start)
    wanted = _wanted(setup, reach, always=named or start is None)

    async def look(one: _Wanted) -> None:
        finding = await _look(one.spec)
        if len(wanted) > 1 and one.roles:
            words = f"{finding.message} (for {', '.join(one.roles)})"
            finding = replace(finding, message=words)
        tell(finding)

    async with anyio.create_task_group() as group:
        for one in wanted:
            group.start_soon(look, one)


def start_role(setup: Setup) -> Finding | None:
    """Return what is wrong with the role that a run starts with, if anything is."""
    key = "role"
    try:
        setup.book.get(setup.loaded.settings.role)
    except HubError as error:
        origin = setup.loaded.origin(key)
        return Finding("roles", "error", f"{origin} ({key}): {error.message}", error.remedy)
    return None


def _wanted(setup: Setup, roles: Iterable[Role], *, always: bool) -> list[_Wanted]:
    found: list[_Wanted] = [_Wanted(_spec(setup, None))] if always else []
    for role in roles:
        spec = _spec(setup, role)
        one = next((one for one in found if _same(one.spec, spec)), None)
        if one is None:
            one = _Wanted(spec)
            found.append(one)
        one.roles.append(role.name)
    return found


def _spec(setup: Setup, role: Role | None) -> ModelSpec | str | HubError:
    try:
        if role is not None and role.model:
            return model_spec(setup.loaded, role.model, origin=role.origin)
        return model_spec(setup.loaded)
    except HubError as error:
        return error


def _same(a: ModelSpec | str | HubError, b: ModelSpec | str | HubError) -> bool:
    if isinstance(a, HubError) and isinstance(b, HubError):
        return str(a) == str(b)
    return a == b


async def _look(spec: ModelSpec | str | HubError) -> Finding:
    try:
        if isinstance(spec, HubError):
            return broken("model", spec)
        return _script(spec) if isinstance(spec, str) else await _endpoint(spec)
    except HubError as error:
        return broken("model", error)


def _script(spec: str) -> Finding:
    """Look at whether a script can be read.

    Raises:
        ScriptFileError: it cannot.
    """
    import_module("hub.models.script.model").open_script(Path(spec.removeprefix(SCRIPT)))
    return Finding("model", "ok", f"{spec}, which needs no endpoint")


async def _endpoint(spec: ModelSpec) -> Finding:
    """Look at whether the model's endpoint answers and knows the model.

    Raises:
        HubError: it does not answer as an endpoint should.
    """
    # The package behind it takes 0.4 s to import.
    listing = await anyio.to_thread.run_sync(import_module, "hub.models.chat.listing")
    ask = cast(Callable[[ModelSpec], Awaitable[Sequence[str] | None]], listing.list_models)
    where = _address(spec.base_url) or "the default endpoint"
    started = anyio.current_time()
    names: Sequence[str] | None = None
    with anyio.move_on_after(MODEL_SECONDS) as limit:
        names = await ask(spec)
    if limit.cancelled_caught:
        text = f"{where} did not answer within {MODEL_SECONDS:g} s"
        return Finding("model", "error", text, "Check that the server is up and can be reached.")
    if names is None:
        text = f"{where} answers, but has no list of models to find {spec.model!r} in"
        return Finding("model", "warning", text, "Most base URLs end with /v1; check this one.")
    if spec.model not in names:
        return _unlisted(spec.model, where, names)
    took = anyio.current_time() - started
    return Finding("model", "ok", f"{spec.model} at {where}, {took:.1f} s")


def _address(url: str) -> str:
    """Return a URL without user, password and query, which may be secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if url else ""


def _unlisted(model: str, where: str, names: Sequence[str]) -> Finding:
    near = get_close_matches(model, names, n=1)
    known = f"It lists: {', '.join(sorted(names)[:8])}." if names else "It lists none."
    remedy = f"Did you mean {near[0]!r}? {known}" if near else known
    return Finding("model", "warning", f"{where} answers, but does not list {model!r}", remedy)
