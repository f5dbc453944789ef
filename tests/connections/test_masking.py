"""What is told of a server shows references, never the values of variables."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.config.references import resolve_server
from hub.connections.masking import hidden_values, masked
from hub.core.errors import ServerError
from hub.core.events import ServerFailed
from hub.core.servers import ServerSpec
from tests.connections.pools import Heard, called, faulty, open_pool

TOKEN = "tok-5f3a9c1e"
DYING = f"import os, sys; sys.exit('refused: ' + os.environ['TOKEN'] + ' is not {TOKEN[:3]}')"


def _resolved(spec: ServerSpec) -> ServerSpec:
    return resolve_server(spec, {"TOKEN": TOKEN, "HOST": "host.example", "SHORT": "no"})


async def test_a_program_that_prints_its_token_gives_nothing_away(tmp_path: Path):
    """Neither the error, nor the event, nor the outcome of a call holds the value."""
    command = faulty("a").command
    env = {"TOKEN": "${env:TOKEN}"}
    spec = ServerSpec("a", "stdio", command=command, args=("-c", DYING), env=env)
    heard = Heard()
    async with open_pool(spec, workspace=tmp_path, resolve=_resolved, heard=heard) as pool:
        with pytest.raises(ServerError) as caught:
            await pool.listing("a")
        outcome = await called(pool, "a", "echo", text="x")
    told = [str(caught.value), outcome.text, *map(repr, heard.of(ServerFailed))]
    assert len(told) >= 3
    assert all("refused: ${env:TOKEN} is not tok" in text for text in told)
    assert all(TOKEN not in text for text in told)


async def test_an_address_that_is_quoted_in_an_error_gives_nothing_away(tmp_path: Path):
    """The HTTP library quotes what it cannot read in an address."""
    spec = ServerSpec("a", "http", url="http://[::${env:TOKEN}")
    async with open_pool(spec, workspace=tmp_path, resolve=_resolved) as pool:
        with pytest.raises(ServerError) as caught:
            await pool.listing("a")
    assert TOKEN not in str(caught.value)
    assert "${env:TOKEN}" in str(caught.value)


def test_only_what_took_the_place_of_a_reference_is_hidden():
    """The text around a reference, a short value and a plain value stay readable."""
    written = ServerSpec(
        "a",
        "stdio",
        command="run",
        args=("--to=${env:HOST}:${env:TOKEN}!", "plain-argument"),
        env={"MODE": "${env:SHORT}", "PLAIN": "some-text"},
    )
    hidden = hidden_values(written, _resolved(written))
    assert hidden == {"host.example": "${env:HOST}", TOKEN: "${env:TOKEN}"}
    assert masked(f"no {TOKEN} at host.example", hidden) == "no ${env:TOKEN} at ${env:HOST}"


def test_a_value_that_contains_another_is_hidden_whole():
    """The longest value is replaced first."""
    written = ServerSpec("a", "http", headers={"X": "${env:LONG}", "Y": "${env:TOKEN}"})
    resolved = replace(written, headers={"X": TOKEN + "-more", "Y": TOKEN})
    assert masked(f"{TOKEN}-more", hidden_values(written, resolved)) == "${env:LONG}"
