"""A repository that wants its servers started cannot approve them itself (H52)."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.app.inspect import trust, trust_state
from hub.app.mcp.approval import Discovered, approve_server, discovered, require_spec
from hub.app.setup import Setup, find_sources, load_setup
from hub.core.errors import ConfigError
from hub.pins.approvals import Approvals
from hub.testing.faulty.launch import FaultyLog, faulty_command
from hub.testing.serving import serve_model
from tests.teams import environment, team

SAY = {"script": 1, "turns": [{"text": "done"}]}


class Repository:
    """A clone with a `.mcp.json`, and a user elsewhere."""

    def __init__(self, root: Path) -> None:
        self.path = root / "clone"
        self.path.mkdir()
        self.root = root
        self.started = root / "started"
        self.environ: Mapping[str, str] = environment("http://127.0.0.1:9/v1", root)
        self.entry: dict[str, Any] = {}
        command, args = faulty_command(log=self.started)
        self.write(command=command, args=args, env={"NODE_OPTIONS": "--enable", "API_KEY": "one"})

    def write(self, **entry: Any) -> None:
        """Change parts of the server's entry."""
        self.entry |= entry
        text = json.dumps({"mcpServers": {"own": self.entry}})
        (self.path / ".mcp.json").write_text(text, encoding="utf-8")

    def setup(self) -> Setup:
        return load_setup(self.path, find_sources(self.path, environ=self.environ))

    def server(self) -> Discovered:
        return next(one for one in discovered(self.setup()) if one.spec.name == "own")

    def state(self) -> str:
        return self.server().standing.state

    def approve(self) -> None:
        setup = self.setup()
        approve_server(require_spec(setup, "own"), setup)

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line with its output in a pipe."""
        return subprocess.run(
            [sys.executable, "-m", "hub", *words],
            cwd=self.path,
            env=dict(self.environ),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )


@pytest.fixture
def clone(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


APPROVING = {
    "settings.json": {"enableAllProjectMcpServers": True, "enabledMcpjsonServers": ["own"]},
    "approvals.json": {"version": 1, "servers": [{"server": "own", "project": ""}]},
    "trust.json": {"version": 1, "workspaces": []},
}
"""Files by which a repository would approve itself at some client, or at us."""


@pytest.mark.parametrize("words", [("mcp", "list"), ("mcp", "status"), ("mcp", "diff")])
def test_looking_at_a_clone_starts_nothing_whatever_it_ships(
    clone: Repository, words: tuple[str, ...]
) -> None:
    """H52: an "approve all" of the repository is not read, and the output is a pipe."""
    for folder in (".claude", ".hub"):
        (clone.path / folder).mkdir()
        for name, content in APPROVING.items():
            (clone.path / folder / name).write_text(json.dumps(content), encoding="utf-8")
    shown = clone.command(*words)
    assert shown.returncode == 0, shown.stderr
    assert "not approved" in shown.stdout
    assert not clone.started.exists()


async def test_a_run_in_a_clone_starts_nothing_of_it(clone: Repository) -> None:
    """H52: the tools of its server are not there, and the run says why."""
    async with serve_model(SAY) as server:
        async with team(server, clone.path, clone.root) as hub:
            async with hub.ask("go") as stream:
                async for _ in stream:
                    pass
            assert [part for part in hub.init.withheld if "own" in part]
            assert [one.state for one in hub.init.servers if one.name == "own"] == ["withheld"]
    assert not clone.started.exists()


def test_without_a_terminal_approving_needs_a_word(clone: Repository) -> None:
    """H52: a script has to say --yes; until then nothing is started or recorded."""
    refused = clone.command("mcp", "approve", "own")
    assert refused.returncode == 2
    assert "hub mcp approve own --yes" in refused.stderr
    assert "NODE_OPTIONS=--enable" in refused.stdout
    assert "API_KEY=***" in refused.stdout
    assert not clone.started.exists()
    agreed = clone.command("mcp", "approve", "own", "--yes")
    assert agreed.returncode == 0, agreed.stderr
    assert "destructive" in agreed.stdout
    assert len(FaultyLog(clone.started).events("start")) == 1
    assert clone.state() == "approved"


async def test_an_approved_server_of_an_untrusted_workspace_is_used(clone: Repository) -> None:
    """One server is approved, everything else of the workspace stays withheld."""
    (clone.path / ".hub").mkdir()
    settings = "permissions: {mode: bypass}\nservers: {other: {command: ./other}}\n"
    (clone.path / ".hub" / "config.yaml").write_text(settings, encoding="utf-8")
    clone.approve()
    async with serve_model(SAY) as server:
        async with team(server, clone.path, clone.root, mode=None) as hub:
            assert "own__echo" in hub.init.tools
            assert hub.init.mode == "default"
            assert {part.split()[1] for part in hub.init.withheld} == {"other", "bypass"}


@pytest.mark.parametrize(
    "change",
    [
        {"command": "/bin/sh"},
        {"args": ["-c", "evil"]},
        {"env": {"NODE_OPTIONS": "--enable", "API_KEY": "one", "LD_PRELOAD": "./x.so"}},
        {"env": {"API_KEY": "one"}},
        {"env": {"NODE_OPTIONS": "--require ./x.js", "API_KEY": "one"}},
    ],
    ids=["command", "args", "new variable", "variable gone", "value that loads code"],
)
def test_a_changed_launch_is_not_approved_any_more(
    clone: Repository, change: dict[str, Any]
) -> None:
    """H52: command, arguments, names of variables, and values that are no secrets."""
    clone.approve()
    assert clone.state() == "approved"
    clone.write(**change)
    assert clone.state() == "changed"
    assert not clone.setup().loaded.settings.servers.get("own")
    shown = clone.command("mcp", "list")
    assert "not approved" in shown.stdout
    assert not clone.started.exists()


@pytest.mark.parametrize(
    "change",
    [{"env": {"NODE_OPTIONS": "--enable", "API_KEY": "two"}}, {"timeout": 5}],
    ids=["another token", "a limit"],
)
def test_a_new_token_is_no_other_launch(clone: Repository, change: dict[str, Any]) -> None:
    """Neither is what says nothing of what is started."""
    clone.approve()
    clone.write(**change)
    assert clone.state() == "approved"


def test_an_address_and_the_names_of_headers_count(clone: Repository) -> None:
    """H52: their values do not."""
    clone.entry = {}
    clone.write(type="http", url="https://one.example/mcp", headers={"Authorization": "Bearer a"})
    clone.approve()
    clone.write(headers={"Authorization": "Bearer b"})
    assert clone.state() == "approved"
    clone.write(headers={"Authorization": "Bearer b", "X-More": "1"})
    assert clone.state() == "changed"
    clone.write(headers={"Authorization": "Bearer b"}, url="https://two.example/mcp")
    assert clone.state() == "changed"


def test_an_approval_holds_for_one_project(clone: Repository, tmp_path: Path) -> None:
    """The same words may start another program in the next clone."""
    clone.approve()
    other = tmp_path / "other"
    other.mkdir()
    (other / ".mcp.json").write_bytes((clone.path / ".mcp.json").read_bytes())
    setup = load_setup(other, find_sources(other, environ=clone.environ))
    (spec,) = setup.pending
    assert spec.name == "own"


def test_what_a_project_adds_to_a_users_own_server_needs_an_approval(clone: Repository) -> None:
    """H52: the user's command with the project's arguments is another launch."""
    user = clone.root / "config" / "hub" / "config.yaml"
    user.parent.mkdir(parents=True)
    user.write_text("servers: {mine: {command: python3, args: [-V]}}\n", encoding="utf-8")
    (clone.path / ".hub").mkdir()
    project = clone.path / ".hub" / "config.yaml"
    project.write_text("servers: {mine: {args: [-c, evil]}}\n", encoding="utf-8")
    setup = clone.setup()
    assert setup.loaded.settings.servers["mine"].args == ("-V",)
    pending = {spec.name: spec for spec in setup.pending}
    assert pending["mine"].args == ("-c", "evil")
    approve_server(pending["mine"], setup)
    assert clone.setup().loaded.settings.servers["mine"].args == ("-c", "evil")
    project.write_text("servers: {mine: {args: [-c, worse]}}\n", encoding="utf-8")
    assert clone.setup().loaded.settings.servers["mine"].args == ("-V",)


def test_what_a_project_says_of_tools_is_part_of_the_approval(clone: Repository) -> None:
    """A rule that widens or describes otherwise is one more thing to agree to."""
    (clone.path / ".hub").mkdir()
    project = clone.path / ".hub" / "config.yaml"
    project.write_text("servers: {own: {deny: [env]}}\n", encoding="utf-8")
    clone.approve()
    assert clone.state() == "approved"
    project.write_text("servers: {own: {tools: {echo: {description: Send keys.}}}}\n", "utf-8")
    assert clone.state() == "changed"


def test_trust_in_the_workspace_approves_its_servers(clone: Repository) -> None:
    """Nothing more is needed then, and a change asks again."""
    trust(trust_state(clone.path, environ=clone.environ), environ=clone.environ)
    assert clone.state() == "trusted"
    clone.write(args=["-c", "evil"])
    assert clone.state() == "none"


def test_a_users_own_entry_needs_no_record(clone: Repository) -> None:
    """The user wrote it."""
    user = clone.root / "config" / "hub" / "config.yaml"
    user.parent.mkdir(parents=True)
    user.write_text("servers: {mine: {command: python3}}\n", encoding="utf-8")
    found = {one.spec.name: one.standing.state for one in discovered(clone.setup())}
    assert found["mine"] == "own"
    assert found["own"] == "none"


def test_a_server_of_another_client_needs_an_approval_whatever_is_trusted(
    clone: Repository, tmp_path: Path
) -> None:
    """It was never meant for hub; once approved it may be started in every workspace."""
    user = clone.root / "config" / "hub" / "config.yaml"
    user.parent.mkdir(parents=True)
    user.write_text("servers_from: [cursor]\n", encoding="utf-8")
    cursor = clone.root / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    text = json.dumps({"mcpServers": {"theirs": {"command": "their-server"}}})
    cursor.write_text(text, encoding="utf-8")
    trust(trust_state(clone.path, environ=clone.environ), environ=clone.environ)
    setup = clone.setup()
    assert [spec.name for spec in setup.pending] == ["theirs"]
    assert "theirs" not in setup.loaded.settings.servers
    assert "own" in setup.loaded.settings.servers
    approve_server(setup.pending[0], setup)
    assert "theirs" in clone.setup().loaded.settings.servers
    other = tmp_path / "other"
    other.mkdir()
    there = load_setup(other, find_sources(other, environ=clone.environ))
    assert "theirs" in there.loaded.settings.servers


def test_records_are_private_and_only_the_users(clone: Repository) -> None:
    """One file in the state folder, readable by its owner; nothing is written into the project."""
    before = sorted(path.name for path in clone.path.iterdir())
    clone.approve()
    path = clone.root / "state" / "approvals.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in clone.path.iterdir()) == before
    approvals = Approvals(clone.root / "state")
    assert [record.server for record in approvals.show()] == ["own"]
    assert approvals.revoke("own", clone.path)
    assert not approvals.revoke("own", clone.path)
    assert clone.state() == "none"


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9}', '{"version": 1, "servers": [{}]}'])
def test_records_that_cannot_be_read_approve_nothing(clone: Repository, text: str) -> None:
    """The error names the file and what to do."""
    path = clone.root / "state" / "approvals.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="approvals cannot be read") as caught:
        clone.setup()
    assert caught.value.where == str(path)
