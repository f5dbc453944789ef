"""An agent loop as the SDK is commonly used: AsyncOpenAI, one model object per chunk."""

import json
from pathlib import Path
from typing import Any

import anyio
import httpx2
from openai import AsyncOpenAI

from bench.programs.work import INSTRUCTIONS, TOOLS, Meter, given, read_file


class Loop:
    """An agent loop over one client."""

    def __init__(self, client: AsyncOpenAI, model: str, folder: Path) -> None:
        self._client, self._model, self._folder = client, model, folder
        self.reports = 0

    async def run(self, role: str, task: str) -> str:
        """Ask and run tools until there is an answer, or a report."""
        messages: list[Any] = [
            {"role": "system", "content": INSTRUCTIONS[role]},
            {"role": "user", "content": task},
        ]
        while True:
            text, calls = await self._ask(messages)
            if not calls:
                return text
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
            if calls[0]["function"]["name"] == "report":
                self.reports += 1
                return str(json.loads(calls[0]["function"]["arguments"])["summary"])
            for call, result in zip(calls, await self._results(calls), strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _results(self, calls: list[dict[str, Any]]) -> list[str]:
        results = [""] * len(calls)

        async def one(index: int, function: dict[str, str]) -> None:
            arguments = json.loads(function["arguments"])
            if function["name"] == "dispatch":
                results[index] = await self.run("child", arguments["task"])
            else:
                results[index] = read_file(self._folder, arguments)

        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(one, index, call["function"])
        return results

    async def _ask(self, messages: list[Any]) -> tuple[str, list[dict[str, Any]]]:
        text: list[str] = []
        calls: list[dict[str, Any]] = []
        stream: Any = await self._client.chat.completions.create(
            model=self._model,
            messages=messages,
            tools=TOOLS,  # type: ignore[arg-type]
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in stream:
            for choice in chunk.choices:
                if choice.delta.content:
                    text.append(choice.delta.content)
                for piece in choice.delta.tool_calls or ():
                    _take(piece, calls)
        return "".join(text), calls


def _take(piece: Any, calls: list[dict[str, Any]]) -> None:
    if piece.index == len(calls):
        function = {"name": piece.function.name, "arguments": ""}
        calls.append({"id": piece.id, "type": "function", "function": function})
    calls[piece.index]["function"]["arguments"] += piece.function.arguments or ""


async def main() -> None:
    base_url, model, folder = given()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    http = httpx2.AsyncClient(timeout=None, limits=limits, verify=False)
    async with AsyncOpenAI(base_url=base_url, api_key="none", http_client=http) as client:
        loop = Loop(client, model, folder)
        meter = Meter()
        text = await loop.run("lead", "Do the benchmark.")
        meter.tell(reports=loop.reports, characters=len(text))


if __name__ == "__main__":
    anyio.run(main)
