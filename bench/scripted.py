"""The scripted model itself: what one answer far into a conversation costs the model server.

It is in every other figure's wall time, so it has to be small. The conversation has 200 steps that
one turn repeats; the request is new at its end, as a client's is.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio

from bench.figures import Figure, Goal, from_runs
from hub.models.script.file import scripts_from
from hub.models.script.player import Player
from hub.testing.reading import Reader
from hub.testing.serving import serve_model

STEPS = 200
REQUESTS = 20
SCRIPT = {
    "script": 1,
    "turns": [
        {
            "repeat": 300,
            "calls": [{"tool": "files__read", "args": {"path": "{{ turn_index }}.txt"}}],
        }
    ],
}


def measure(runs: int) -> Iterator[Figure]:
    """Answer a request of 401 messages: the script alone, and the whole server, strict."""
    player = Player(scripts_from(SCRIPT)[0])
    body = json.dumps(_request(STEPS)).encode()
    before = _asked(_request(STEPS - 1))
    spent: dict[str, list[float]] = {"json.loads": [], "script": [], "server, strict": []}
    for _ in range(runs):
        spent["json.loads"].append(_cost(lambda: json.loads(body)))
        player.play(before)
        fresh = [_asked(json.loads(body)) for _ in range(REQUESTS)]
        spent["script"].append(_cost(lambda left=fresh: player.play(left.pop())))
        spent["server, strict"].append(anyio.run(_served))
    goals = [Goal("script", 4.0, "json.loads"), Goal("server, strict", 8.0, "json.loads")]
    yield from_runs(f"one request after {STEPS} steps", "CPU ms", spent, goals)


def _cost(run: Callable[[], Any]) -> float:
    started = time.process_time()
    for _ in range(REQUESTS):
        run()
    return (time.process_time() - started) / REQUESTS * 1000


async def _served() -> float:
    """Grow a conversation to its end over HTTP; return the CPU of its last requests, both sides."""
    requests = [_post(_request(steps)) for steps in range(STEPS - REQUESTS, STEPS + 1)]
    async with serve_model(SCRIPT, keep_bodies=False) as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            started = 0.0
            for number, data in enumerate(requests):
                if number == 1:
                    started = time.process_time()
                await stream.send(data)
                got = b""
                while not got.endswith(b"0\r\n\r\n"):
                    got += await stream.receive()
            spent = time.process_time() - started
    return spent / REQUESTS * 1000


def _asked(body: dict[str, Any]) -> list[Any]:
    return Reader().read(body, {})[0].messages


def _request(steps: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read the files."}]
    for step in range(steps):
        function = {"name": "files__read", "arguments": f'{{"path": "{step}.txt"}}'}
        call = {"id": f"call_{step}_0", "type": "function", "function": function}
        text = f"{step}: a line of a small file\n" * 20
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return {"model": "scripted", "messages": messages, "stream": True}


def _post(body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(data) + data
