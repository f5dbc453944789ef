"""The scripted model server as a process that can be asked what has reached it.

Runs as ``python -m bench.serving SCRIPT``. The first line of output says where it listens; then
each line of input is a command, and each command is answered with one line of JSON:

``wait N``    wait for the Nth request, at most half a minute, and return the arrivals so far
``arrivals``  the arrivals so far: monotonic seconds, which all processes of a machine share
``ends``      when each answer ended or its client left, null while it is open; clients that left
``first``     characters of the first request's body, and how many tools it offers
``reset``     forget the requests
"""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from hub.testing.serving import ModelServer, serve_model

PATIENCE = 30.0


async def main() -> None:
    async with serve_model(Path(sys.argv[1]), strict=False) as server:
        answer(server.base_url)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            word, _, number = line.strip().partition(" ")
            answer(await obey(server, word, int(number or 0)))


async def obey(server: ModelServer, word: str, number: int) -> Any:
    if word == "wait":
        with anyio.move_on_after(PATIENCE):
            await server.wait_for_requests(number)
    if word == "reset":
        server.requests.clear()
    if word == "ends":
        left = sum(record.client_left for record in server.requests)
        return {"ended": [record.ended for record in server.requests], "left": left}
    if word == "first":
        body = server.requests[0].body
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return {"characters": len(text), "tools": len(body.get("tools", ()))}
    return [record.at for record in server.requests]


def answer(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    anyio.run(main)
