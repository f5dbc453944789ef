"""The least that an agent loop can cost: httpx2, a list of dictionaries, no events, no store.

With ``httpx`` as a fourth argument it uses that library, of which httpx2 is the faster successor.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import anyio

from bench.programs.work import INSTRUCTIONS, TOOLS, Meter, given, read_file


class Loop:
    """An agent loop over one client."""

    def __init__(self, client: Any, url: str, model: str, folder: Path) -> None:
        self._client, self._url, self._model, self._folder = client, url, model, folder
        self.reports = 0
        self.children: list[float] = []
        """Seconds that each child took."""

    async def run(self, role: str, task: str) -> str:
        """Ask and run tools until there is an answer, or a report."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": INSTRUCTIONS[role]},
            {"role": "user", "content": task},
        ]
        while True:
            text, calls = await self._ask(messages)
            if not calls:
                return text
            wire = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in calls
            ]
            messages.append({"role": "assistant", "content": text or None, "tool_calls": wire})
            if calls[0]["name"] == "report":
                self.reports += 1
                return str(json.loads(calls[0]["arguments"])["summary"])
            for call, result in zip(calls, await self._results(calls), strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _results(self, calls: list[dict[str, str]]) -> list[str]:
        results = [""] * len(calls)

        async def one(index: int, call: dict[str, str]) -> None:
            arguments = json.loads(call["arguments"])
            if call["name"] == "dispatch":
                started = time.perf_counter()
                results[index] = await self.run("child", arguments["task"])
                self.children.append(time.perf_counter() - started)
            else:
                results[index] = read_file(self._folder, arguments)

        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(one, index, call)
        return results

    async def _ask(self, messages: list[dict[str, Any]]) -> tuple[str, list[dict[str, str]]]:
        body = {
            "model": self._model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": messages,
            "tools": TOOLS,
        }
        text: list[str] = []
        calls: list[dict[str, str]] = []
        async with self._client.stream("POST", self._url, json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    for choice in json.loads(line[6:])["choices"]:
                        _take(choice["delta"], text, calls)
        return "".join(text), calls


def _take(delta: dict[str, Any], text: list[str], calls: list[dict[str, str]]) -> None:
    if delta.get("content"):
        text.append(delta["content"])
    for piece in delta.get("tool_calls", ()):
        if piece["index"] == len(calls):
            calls.append({"id": piece["id"], "name": piece["function"]["name"], "arguments": ""})
        calls[piece["index"]]["arguments"] += piece["function"].get("arguments", "")


async def main() -> None:
    base_url, model, folder = given()
    library = importlib.import_module(sys.argv[4] if sys.argv[4:] else "httpx2")
    limits = library.Limits(max_connections=None, max_keepalive_connections=None)
    async with library.AsyncClient(timeout=None, limits=limits, verify=False) as client:
        loop = Loop(client, f"{base_url}/chat/completions", model, folder)
        meter = Meter()
        text = await loop.run("lead", "Do the benchmark.")
        meter.tell(reports=loop.reports, characters=len(text), children=loop.children)


if __name__ == "__main__":
    anyio.run(main)
