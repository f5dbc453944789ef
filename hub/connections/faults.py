"""Says what went wrong with a server, in the words of a user."""

from mcp import MCPError, types

from hub.connections.watch import Watch
from hub.core.errors import HubError
from hub_servers.processes import LaunchError

UNREACHED = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""Names of HTTP errors after which a request was surely never sent."""
UNANSWERED = "ReadTimeout"
"""Name of the HTTP error of a request that got no answer within a limit of its own."""
CLOSED_WORDS = ("Connection closed", "SSE stream")
"""How the SDK begins to say that the answer to a request cannot come any more."""
_STATUS_LOST = "Server returned an error response"
"""What the SDK says of an HTTP error without a JSON-RPC body; the status is in the watch."""


def leaves(error: BaseException) -> list[BaseException]:
    """Return the single errors of a group, however deep."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def telling_leaf(error: BaseException) -> BaseException:
    """Return the error of a group that says most: our own first, a closed connection last."""
    return min(leaves(error), key=_rank)


def _rank(error: BaseException) -> int:
    if isinstance(error, HubError | LaunchError | TimeoutError):
        return 0
    if isinstance(error, MCPError):
        return 3 if is_closed(error) else 1
    return 2


def is_closed(error: BaseException | None) -> bool:
    """Say whether an error is that of a connection that has ended.

    Many servers use the same code for errors of their own, so the words count as well.
    """
    if not isinstance(error, MCPError) or error.code != types.CONNECTION_CLOSED:
        return False
    return error.message.startswith(CLOSED_WORDS)


def is_unreached(error: BaseException | None) -> bool:
    """Say whether an HTTP server was surely not reached."""
    return type(error).__name__ in UNREACHED


def is_unanswered(error: BaseException | None) -> bool:
    """Say whether an HTTP server took a request and was silent."""
    return type(error).__name__ == UNANSWERED


def reason_of(error: BaseException | None, watch: Watch) -> str:
    """Return what happened, with what is known of the process."""
    if isinstance(error, HubError):
        return str(error)
    if watch.refusal and error is not None:
        return watch.refusal
    text = watch.told(_words(error, watch))
    details = watch.describe()
    return f"{text} ({details})" if details else text


def remedy_for(error: BaseException | None, server: str, watch: Watch) -> str:
    """Return what a user can do about a server that failed."""
    if watch.remedy:
        return watch.remedy
    if isinstance(error, LaunchError):
        return f"Correct servers.{server}, or leave it out: --set servers.{server}.enabled=false"
    return f"Look at it alone with: hub mcp test {server}"


def _words(error: BaseException | None, watch: Watch) -> str:
    if error is None:
        return "the connection ended"
    if isinstance(error, MCPError):
        if is_closed(error):
            return "the connection closed"
        if error.message == _STATUS_LOST and watch.status:
            return "it refused the request"
        return f"it answered: {error.message} ({error.code})"
    if isinstance(error, LaunchError | TimeoutError):
        return str(error)
    if is_unreached(error):
        return f"it cannot be reached: {error}"
    return f"{type(error).__name__}: {error}"
