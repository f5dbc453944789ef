"""``hub mcp login`` and ``logout`` against a provider on loopback."""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from typer.testing import CliRunner, Result

from hub.cli.main import app
from hub.testing.identity.server import serve_identity

KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a keyring, and a project."""
    for name, folder in (("HUB_STATE_DIR", "state"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, value in KEYRING.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "project").mkdir()
    return tmp_path


@pytest.fixture
def hub(home: Path) -> Callable[..., Result]:
    """``hub mcp …`` on the project."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, ["mcp", *words, "-C", str(home / "project")])

    return run


def configure(home: Path, text: str) -> None:
    path = home / "config" / "hub" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def test_the_address_is_printed_and_the_token_is_not(home: Path) -> None:
    """Without a browser the user opens it; afterwards a private file holds the token."""
    with anyio.fail_after(40):
        async with serve_identity() as site:
            configure(home, f"servers:\n  vault:\n    url: {site.url}\n")
            argv = [sys.executable, "-m", "hub", "mcp", "login", "vault", "--no-browser"]
            argv += ["-C", str(home / "project")]
            async with await anyio.open_process(argv, env=os.environ, stderr=None) as process:
                assert process.stdout is not None
                output = BufferedByteReceiveStream(process.stdout)
                said = await output.receive_until(b"\n", 1000)
                while not said.startswith(b"http"):
                    said = await output.receive_until(b"\n", 4000)
                assert await site.browse(said.decode().strip()) == 200
                rest = b""
                with suppress(anyio.EndOfStream):
                    while True:
                        rest += await output.receive()
                assert await process.wait() == 0
            assert b"Signed in at vault" in rest
            (path,) = (home / "state" / "tokens").glob("*.json")
            token = re.findall(r"access-\d+-verysecret", path.read_text())[0]
            assert token.encode() not in rest


def test_logout_forgets_and_says_so_when_there_is_nothing(
    home: Path, hub: Callable[..., Result]
) -> None:
    """Nothing is reached for it."""
    configure(home, "servers:\n  vault:\n    url: https://vault.example/mcp\n")
    result = hub("logout", "vault")
    assert result.exit_code == 0
    assert "no sign-in at vault" in result.output


@pytest.mark.parametrize("command", ["login", "logout"])
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("command: python3", "runs on this machine"),
        ('url: https://v.example/mcp\n    headers: {Authorization: "Bearer x"}', "give 'vault' a"),
    ],
)
def test_servers_that_nobody_signs_in_at_are_told(
    home: Path, hub: Callable[..., Result], command: str, entry: str, words: str
) -> None:
    """A wrong use, and nothing is started."""
    configure(home, f"servers:\n  vault:\n    {entry}\n")
    result = hub(command, "vault")
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_a_server_that_is_not_approved_is_not_reached(
    home: Path, hub: Callable[..., Result]
) -> None:
    """A project cannot send the user to its provider."""
    (home / "project" / ".mcp.json").write_text(
        '{"mcpServers": {"vault": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}}'
    )
    result = hub("login", "vault")
    assert result.exit_code == 2
    assert "not approved" in result.output


def test_a_server_that_cannot_be_reached_is_told(home: Path, hub: Callable[..., Result]) -> None:
    """As an error of the server, with its name."""
    configure(home, "servers:\n  vault:\n    url: http://127.0.0.1:9/mcp\n")
    result = hub("login", "vault", "--no-browser")
    assert result.exit_code == 1
    assert "cannot be reached" in result.output
