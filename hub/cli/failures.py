"""What a failed server is told as, the same in every view."""

from hub.core.events import ServerFailed


def server_failure(event: ServerFailed) -> str:
    """Return what happened, where it is written, what to do, and the server's last words."""
    place = f"{event.where}: " if event.where else ""
    remedy = f" {event.remedy}" if event.remedy else ""
    last = event.stderr.strip().rpartition("\n")[2]
    said = f" ({last})" if last and last not in event.error else ""
    return f"{place}server {event.server} failed: {event.error}{said}.{remedy}"
