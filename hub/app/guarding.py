"""Looks at prompts and resources before they are handed on: only what was approved passes."""

from hub.core.errors import ServerError
from hub.core.ports import Servers
from hub.core.servers import ServerSpec
from hub.pins.canonical import canonical_prompt
from hub.pins.offer import probe_arguments
from hub.pins.store import PinStore


async def require_prompt(pins: PinStore, servers: Servers, spec: ServerSpec, prompt: str) -> None:
    """Refuse a prompt that is described otherwise, or says something else, than was approved.

    What it says is asked for with the names of its arguments in braces, so that it can be compared
    whatever the arguments are. A prompt that cannot be asked in that way is compared by its
    description alone.

    Raises:
        ServerError: it is held back, or the server does not start.
    """
    listing = await servers.listing(spec.name)
    why = pins.check(spec, listing).prompts.get(prompt, "")
    described = next((one for one in listing.prompts if one.name == prompt), None)
    if not why and described is not None:
        why = await _text_refusal(pins, servers, spec, prompt, canonical_prompt(described))
    if why:
        raise _held_back(spec, "prompt", prompt, why)


async def require_resource(pins: PinStore, servers: Servers, spec: ServerSpec, uri: str) -> None:
    """Refuse a resource that is described otherwise than was approved.

    Raises:
        ServerError: it is held back, or the server does not start.
    """
    listing = await servers.listing(spec.name)
    if why := pins.check(spec, listing).resources.get(uri, ""):
        raise _held_back(spec, "resource", uri, why)


async def _text_refusal(
    pins: PinStore, servers: Servers, spec: ServerSpec, prompt: str, form: dict[str, object]
) -> str:
    try:
        messages = await servers.get_prompt(spec.name, prompt, probe_arguments(form))
    except ServerError:
        return ""
    return pins.check_text(spec, prompt, messages)


def _held_back(spec: ServerSpec, noun: str, name: str, why: str) -> ServerError:
    return ServerError(
        f"the {noun} {name!r} of MCP server {spec.name!r} is held back: {why}",
        server=spec.name,
        where=str(spec.origin),
        remedy=f"Look at it with: hub mcp diff {spec.name}, and accept it with: "
        f"hub mcp approve {spec.name}/{name}",
    )
