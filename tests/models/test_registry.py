"""The models of one process."""

import sys
from dataclasses import replace
from pathlib import Path
from subprocess import run

import pytest

from hub.core.errors import ScriptFileError
from hub.core.modelspec import ModelSpec
from hub.models.registry import Models
from hub.testing.clock import FakeClock
from tests.models.asking import ask
from tests.models.chunks import answer
from tests.models.wire_server import streamed, wire_server

SCRIPT = "script: 1\nturns:\n  - text: Done.\n"


def test_a_model_is_opened_once_and_told_apart_by_everything() -> None:
    """The key and the headers count too, although they are in no printed form of a spec."""
    models = Models(FakeClock())
    spec = ModelSpec("m", "m", "http://x/v1", api_key="a", headers={"x": "1"})
    first = models.open(spec)
    assert models.open(replace(spec)) is first
    assert models.open(replace(spec, api_key="b")) is not first
    assert models.open(replace(spec, headers={"x": "2"})) is not first
    assert models.open(replace(spec, model="other")) is not first


async def test_models_of_one_endpoint_share_its_connections() -> None:
    """Two names for two models of one server: one pool, closed at the end."""
    async with wire_server(streamed(*answer())) as server:
        models = Models(FakeClock())
        for name in ("one", "two"):
            await ask(models.open(ModelSpec(name, name, server.url)))
        await models.aclose()
        assert [seen.json["model"] for seen in server.requests] == ["one", "two"]
        assert server.connections == 1


def test_a_script_is_a_model(tmp_path: Path) -> None:
    """By its path; a script that cannot be read is an error of its file."""
    path = tmp_path / "a.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    models = Models(FakeClock())
    assert models.open(f"script:{path}") is models.open(f"script:{path}")
    assert models.open(f"script:{path}").name == "script:a.yaml"
    with pytest.raises(ScriptFileError, match="cannot be read"):
        models.open(f"script:{tmp_path / 'none.yaml'}")


def test_scripts_cost_no_import_of_the_sdk(tmp_path: Path) -> None:
    """A run with scripts alone starts without openai and its HTTP library."""
    path = tmp_path / "a.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    code = (
        "import sys; from hub.models.registry import Models; from hub.core.clock import "
        f"SystemClock; Models(SystemClock()).open('script:{path}'); "
        "assert not {'openai', 'httpx2', 'jinja2'} & set(sys.modules)"
    )
    done = run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
