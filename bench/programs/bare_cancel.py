"""The least that stopping many streams can cost: httpx2, one task for each, one cancel scope."""

import json
import sys
import time
from typing import Any

import anyio
import httpx2

from bench.programs.work import given


async def main() -> None:
    base_url, model, _ = given()
    count, busy = int(sys.argv[4]), 0
    all_busy = anyio.Event()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(timeout=None, limits=limits, verify=False) as client:

        async def one() -> None:
            nonlocal busy
            messages = [{"role": "system", "content": "You are a child of the benchmark."}]
            body: dict[str, Any] = {"model": model, "stream": True, "messages": messages}
            async with client.stream("POST", f"{base_url}/chat/completions", json=body) as response:
                first = True
                async for _ in response.aiter_lines():
                    busy += first
                    first = False
                    if busy == count:
                        all_busy.set()

        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)
            await all_busy.wait()
            cancelled = time.monotonic()
            group.cancel_scope.cancel()
    print(json.dumps({"cancelled": cancelled}))


if __name__ == "__main__":
    anyio.run(main)
