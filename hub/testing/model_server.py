"""The scripted model server as a program: ``python -m hub.testing.model_server FILE``."""

import argparse
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import TaskStatus

from hub.core.errors import HubError
from hub.core.text import printable
from hub.testing.serving import serve_model


def main(argv: list[str] | None = None) -> int:
    """Serve a script until SIGINT or SIGTERM; the first line of output says where."""
    parser = argparse.ArgumentParser(
        prog="python -m hub.testing.model_server",
        description="Serve a script as an OpenAI-compatible model on 127.0.0.1.",
    )
    parser.add_argument("file", type=Path, help="the script, a YAML file")
    parser.add_argument("--port", type=_port, default=0, help="port; 0 takes a free one")
    parser.add_argument(
        "--lenient", action="store_true", help="accept histories that strict servers refuse"
    )
    parser.add_argument(
        "--exit-with-parent", action="store_true", help="end when standard input is closed"
    )
    given = parser.parse_args(argv)
    try:
        anyio.run(_serve, given)
    except HubError as error:
        sys.stderr.write(printable(f"error: {error}\n"))
        return error.exit_code
    except OSError as error:
        reason = error.strerror or type(error).__name__
        sys.stderr.write(f"error: cannot listen on port {given.port}: {reason}; try --port 0\n")
        return 2
    return 0


async def _serve(given: argparse.Namespace) -> None:
    async with (
        serve_model(
            given.file, strict=not given.lenient, port=given.port, keep_bodies=False
        ) as server,
        anyio.create_task_group() as group,
    ):
        await group.start(_until_signal, group.cancel_scope)
        if given.exit_with_parent:
            group.start_soon(_until_eof, group.cancel_scope)
        sys.stdout.write(json.dumps({"base_url": server.base_url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


async def _until_signal(
    scope: anyio.CancelScope, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()


async def _until_eof(scope: anyio.CancelScope) -> None:
    """Read standard input to its end, without a thread: one that waits would outlive a signal."""
    while sys.stdin is not None:
        with suppress(PermissionError):  # a file and the null device are always readable
            await anyio.wait_readable(0)
        if not os.read(0, 4096):
            break
    scope.cancel()


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port")
    return port


if __name__ == "__main__":
    sys.exit(main())
