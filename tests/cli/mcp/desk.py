"""A user's desk for the tests of ``hub mcp``: a home, a project, servers with faults on demand."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.app.mcp.looks import View, look_around
from hub.app.pinned import pin_store
from hub.catalog.cache import ListingCache
from hub.cli.main import app
from hub.connections.records import FileRecords, Record
from hub.core.ports import RemoteTool, ServerListing
from hub.core.servers import ServerSpec
from hub.pins.store import PinStore
from hub.testing.faulty.launch import FaultyLog, faulty_command


class Desk:
    """One project with the servers of its user and its own."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("STATE", "CONFIG", "CACHE"):
            monkeypatch.setenv(f"XDG_{name}_HOME", str(root / name.lower()))
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        self.log = FaultyLog(root / "faulty.jsonl")
        self.entries: dict[str, dict[str, Any]] = {}
        self.more: dict[str, Any] = {}

    def server(self, name: str, *knobs: str, **fields: Any) -> None:
        """Give the user a faulty server on stdio."""
        command, args = faulty_command(*knobs, log=self.root / "faulty.jsonl")
        self.entry(name, command=command, args=args, **fields)

    def entry(self, name: str, **fields: Any) -> None:
        """Write an entry into the user's own settings."""
        self.entries[name] = fields
        self.settings()

    def settings(self, **more: Any) -> None:
        """Write the user's own settings."""
        self.more |= more
        folder = self.root / "config" / "hub"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"servers": self.entries, **self.more}, indent=1)
        (folder / "config.yaml").write_text(text, encoding="utf-8")

    def asked_for(self, name: str, *knobs: str, **fields: Any) -> None:
        """Let the project ask for a server that nobody has approved."""
        command, args = faulty_command(*knobs, log=self.root / "faulty.jsonl")
        entry = {"command": command, "args": args, **fields}
        text = json.dumps({"mcpServers": {name: entry}}, indent=1)
        (self.project / ".mcp.json").write_text(text, encoding="utf-8")

    def run(self, *words: str) -> Result:
        """Run ``hub mcp`` in the project."""
        return CliRunner().invoke(app, ["mcp", *words, "-C", str(self.project)])

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """Run a command with ``--json`` and return the objects that it prints."""
        result = self.run(*words, "--json")
        return [json.loads(line) for line in result.stdout.splitlines()]

    def view(self) -> View:
        """Look at the servers as the commands do."""
        return look_around(self.project)

    def spec(self, name: str) -> ServerSpec:
        """Return the launch spec of a server."""
        return self.view().find(name).spec

    def lived(self, name: str, **fields: Any) -> None:
        """Leave the record of a life, as a hub that ran the server would."""
        state = self.root / "state" / "hub"
        spec = self.spec(name)
        record = Record(name, transport=spec.transport, **{"started": time.time() - 90, **fields})
        FileRecords(state).write(spec, record)

    def listed(self, name: str, *tools: RemoteTool, **fields: Any) -> None:
        """Keep a list, as a hub that asked the server would."""
        cache = ListingCache(self.root / "cache" / "hub" / "catalog")
        listing = ServerListing(name, "2025-11-25", tuple(tools), **fields)
        cache.save(self.spec(name), listing)

    def pins(self) -> PinStore:
        """Return the pins of the project's servers."""
        return pin_store(self.view().setup)

    def started(self) -> bool:
        """Say whether any of the faulty servers was started."""
        return bool(self.log.events())


def tool(name: str, description: str = "Does it.", **fields: Any) -> RemoteTool:
    """Return a tool with one text argument."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return RemoteTool(name, description, **{"input_schema": schema, **fields})
