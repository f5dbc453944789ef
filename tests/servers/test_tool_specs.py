"""What the servers tell a client about their tools."""

import json
from pathlib import Path

from mcp import Client

from hub_servers import files, notes, shell


async def test_the_specs_of_all_bundled_tools_fit_into_their_budget(tmp_path: Path) -> None:
    """As function tools of a model request they have at most 3,600 characters together."""
    total = 0
    for name, module in (("files", files), ("shell", shell), ("notes", notes)):
        async with Client(module.create_server(tmp_path)) as client:
            for tool in (await client.list_tools()).tools:
                function = {
                    "name": f"{name}__{tool.name}",
                    "description": tool.description,
                    "parameters": tool.input_schema,
                }
                spec = {"type": "function", "function": function}
                total += len(json.dumps(spec, separators=(",", ":"))) + 1
    assert total <= 3600


async def test_each_server_lists_its_tools_with_true_annotations(tmp_path: Path, mode: str) -> None:
    """A client can tell from the hints which tools only read."""
    read_only, destructive = set(), set()
    for module in (files, shell, notes):
        async with Client(module.create_server(tmp_path), mode=mode) as client:
            for tool in (await client.list_tools()).tools:
                assert tool.annotations is not None
                if tool.annotations.read_only_hint:
                    read_only.add(tool.name)
                if tool.annotations.destructive_hint:
                    destructive.add(tool.name)
    assert read_only == {"read", "list", "glob", "grep"}
    assert destructive == {"write", "edit", "run", "memory"}
