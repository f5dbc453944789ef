"""What each kind of model servers is told of a tool: description and schema in a form it accepts.

``openai`` limits a description to 1024 characters, ``anthropic`` the names of arguments, ``gemini``
takes a subset of OpenAPI. ``generic`` is what servers of JSON Schema accept in common: a sound
schema with names of arguments that all of them take. Pure.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.catalog.arguments import Restore
from hub.catalog.explain import Profile
from hub.catalog.gemini import for_gemini
from hub.catalog.keywords import Json
from hub.catalog.schemas import Untranslatable, as_mapping, names_in

MAX_DESCRIPTION = 1024
"""Characters of a description that OpenAI accepts; more is told in the schema's own."""
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_GEMINI_NAME = re.compile(r"[A-Za-z_]")
_HASH_DIGITS = 8


class Form(Struct, frozen=True):
    """One tool as the model servers of one profile are sent it."""

    description: str
    parameters: Json
    changes: tuple[str, ...] = ()
    """What was changed for this profile alone."""
    restores: tuple[Restore, ...] = ()
    """What a call has to undo."""


def translated(name: str, description: str, schema: Json, profile: Profile) -> Form:
    """Return a tool with a sound schema in the form that a profile accepts.

    Raises:
        Untranslatable: there is no such form.
    """
    match profile:
        case "openai":
            return _for_openai(description, schema)
        case "gemini":
            if not _GEMINI_NAME.match(name):
                raise Untranslatable(
                    f"gemini accepts no name that begins with {name[:1]!r}; give it an alias"
                )
            parameters, changes, restores = for_gemini(schema)
            return Form(description, parameters, tuple(changes), tuple(restores))
        case "anthropic" | "generic":
            return _with_safe_names(description, schema)


def _for_openai(description: str, schema: Json) -> Form:
    if len(description) <= MAX_DESCRIPTION:
        return Form(description, schema)
    cut = description.rfind(" ", MAX_DESCRIPTION // 2, MAX_DESCRIPTION - 1)
    cut = cut if cut > 0 else MAX_DESCRIPTION - 1
    more = description[cut:].strip()
    own = schema.get("description")
    told = f"{own}\n\n{more}" if isinstance(own, str) and own else more
    change = (
        f"the description is longer than {MAX_DESCRIPTION} characters; the rest of it stands in "
        "that of the schema"
    )
    return Form(description[:cut].rstrip() + "…", {**schema, "description": told}, (change,))


def _with_safe_names(description: str, schema: Json) -> Form:
    properties = as_mapping(schema.get("properties"))
    unsafe = [name for name in properties if not _ARGUMENT.fullmatch(name)]
    if not unsafe:
        return Form(description, schema)
    names = {name: _safe(name, properties) for name in unsafe}
    low = {
        **schema,
        "properties": {names.get(name, name): part for name, part in properties.items()},
    }
    if required := names_in(schema.get("required")):
        low["required"] = [names.get(name, name) for name in required]
    changes = tuple(f"/properties: {old!r:.100} is called {new}" for old, new in names.items())
    restores = tuple(Restore((old,), "name", new) for old, new in names.items())
    return Form(description, low, changes, restores)


def _safe(name: str, taken: Mapping[str, Any]) -> str:
    """Return a legal name for an argument: its own where that is free, else one with a hash."""
    plain = _ILLEGAL.sub("_", name).strip("_")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    tail = f"_{digest[:_HASH_DIGITS]}"
    safe = plain[: 64 - len(tail)] + tail
    while safe in taken:
        safe = f"{safe[:63]}_"
        if safe in taken:
            raise Untranslatable(f"the name of its argument {name!r:.100} cannot be made legal")
    return safe


def profile_of(model: str, base_url: str = "") -> Profile:
    """Return what a model's servers accept, by its name and address; ``generic`` in doubt."""
    host = re.sub(r"^\w+://|[/:?#].*$", "", base_url.lower())
    name = model.lower()
    if host.endswith("googleapis.com") or "gemini" in name:
        return "gemini"
    if host.endswith("anthropic.com") or "claude" in name:
        return "anthropic"
    if host.endswith(("openai.com", "openai.azure.com")) or name.startswith("openai/"):
        return "openai"
    if not host and re.match(r"(gpt-|o\d|chatgpt)", name):
        return "openai"
    return "generic"
