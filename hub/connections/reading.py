"""Reads a server's resources and prompts, with the limits and the errors of a call."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

import anyio
from mcp import Client, MCPError, types
from pydantic import ValidationError

from hub.connections.link import Link
from hub.connections.sampling import Refused
from hub.core.errors import ServerError

_Found = TypeVar("_Found")
_Ask = Callable[
    [Client, types.InputResponses | None, str | None],
    Awaitable[_Found | types.InputRequiredResult],
]
"""Sends a request, with answers to what the server asked before."""


async def read_resource(link: Link, uri: str) -> tuple[dict[str, Any], ...]:
    """Return the contents of a resource: each with ``uri`` and ``text`` or ``blob``.

    Raises:
        ServerError: the server is gone, silent, or refuses.
    """

    def ask(
        client: Client, responses: types.InputResponses | None, state: str | None
    ) -> Awaitable[types.ReadResourceResult | types.InputRequiredResult]:
        return client.session.read_resource(
            uri, input_responses=responses, request_state=state, allow_input_required=True
        )

    result = await _asked(link, f"the resource {uri!r:.200}", ask)
    return tuple(_plain(part) for part in result.contents)


async def get_prompt(
    link: Link, prompt: str, arguments: Mapping[str, str]
) -> tuple[dict[str, Any], ...]:
    """Return the messages of a prompt: each with ``role`` and ``content``.

    Raises:
        ServerError: the server is gone, silent, or refuses.
    """

    def ask(
        client: Client, responses: types.InputResponses | None, state: str | None
    ) -> Awaitable[types.GetPromptResult | types.InputRequiredResult]:
        return client.session.get_prompt(
            prompt,
            dict(arguments),
            input_responses=responses,
            request_state=state,
            allow_input_required=True,
        )

    result = await _asked(link, f"the prompt {prompt!r:.200}", ask)
    return tuple(_plain(message) for message in result.messages)


async def _asked(link: Link, what: str, ask: _Ask[_Found]) -> _Found:
    async with link.turn or nullcontext():
        return await _answered(link, what, ask)


async def _answered(link: Link, what: str, ask: _Ask[_Found]) -> _Found:
    connection = await link.connect()
    asking = connection.asking
    with (
        anyio.move_on_after(link.spec.call_timeout) as scope,
        asking.requests.request(scope) as pending,
    ):
        connection.calls += 1
        try:
            return await asking.resolve(pending, partial(ask, connection.client))
        except Refused as refused:
            reason = f"{what} cannot be read: the server asks for input: {refused}"
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
