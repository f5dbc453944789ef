"""Reads a server's resources and prompts, with the limits and the errors of a call."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

import anyio
from mcp import Client, MCPError
from pydantic import ValidationError

from hub.connections.link import Link
from hub.core.errors import ServerError

_Found = TypeVar("_Found")


async def read_resource(link: Link, uri: str) -> tuple[dict[str, Any], ...]:
    """Return the contents of a resource: each with ``uri`` and ``text`` or ``blob``.

    Raises:
        ServerError: the server is gone, silent, or refuses.
    """
    result = await _asked(
        link, f"the resource {uri!r:.200}", lambda client: client.session.read_resource(uri)
    )
    return tuple(_plain(part) for part in result.contents)


async def get_prompt(
    link: Link, prompt: str, arguments: Mapping[str, str]
) -> tuple[dict[str, Any], ...]:
    """Return the messages of a prompt: each with ``role`` and ``content``.

    Raises:
        ServerError: the server is gone, silent, or refuses.
    """
    result = await _asked(
        link,
        f"the prompt {prompt!r:.200}",
        lambda client: client.session.get_prompt(prompt, dict(arguments)),
    )
    return tuple(_plain(message) for message in result.messages)


async def _asked(link: Link, what: str, ask: Callable[[Client], Awaitable[_Found]]) -> _Found:
    async with link.turn or nullcontext():
        return await _answered(link, what, ask)


async def _answered(link: Link, what: str, ask: Callable[[Client], Awaitable[_Found]]) -> _Found:
    connection = await link.connect()
    with anyio.move_on_after(link.spec.call_timeout):
        connection.calls += 1
        try:
            return await ask(connection.client)
        except MCPError as error:
            said = connection.watch.told(error.message)
            reason = f"{what} cannot be read: the server answered: {said} ({error.code})"
        except ValidationError:
            reason = f"{what} cannot be read: the answer does not follow the protocol"
        except (RuntimeError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            link.drop(connection)
            reason = f"{what} cannot be read: the connection was lost"
        finally:
            connection.done()
        raise _fault(link, reason)
    raise _fault(link, f"{what} cannot be read: no answer within {link.spec.call_timeout:g} s")


def _fault(link: Link, reason: str) -> ServerError:
    return ServerError(
        f"MCP server {link.spec.name!r}: {reason}",
        server=link.spec.name,
        where=str(link.spec.origin),
    )


def _plain(part: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = part.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped
