"""``hub doctor`` as a command."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hub.cli.main import app

Hub = Callable[..., Result]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The doctor in an empty home, on an empty folder, with a script as model."""
    for name in ("STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("HUB_STATE_DIR", raising=False)
    monkeypatch.delenv("HUB_MODEL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "team.yaml").write_text("script: 1\nturns: [{text: hi}]", encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(
        app, ["doctor", "-C", str(tmp_path / "folder"), *arguments]
    )


def test_a_machine_that_is_in_order_exits_with_0(hub: Hub, tmp_path: Path) -> None:
    """One marked line for each thing that was looked at."""
    result = hub("--model", f"script:{tmp_path / 'team.yaml'}")
    assert result.exit_code == 0, result.output
    checks = [line.split(":")[0] for line in result.stdout.splitlines()]
    assert {"✓ python", "✓ packages", "✓ state", "✓ settings", "✓ model", "✓ roles"} <= set(checks)
    assert {"✓ server files", "✓ server shell", "✓ server notes"} <= set(checks)


def test_what_is_missing_is_told_with_the_line_to_fix_it_and_exit_code_1(hub: Hub) -> None:
    """Without a model, the remedy says how to name one."""
    result = hub()
    assert result.exit_code == 1
    assert "✗ model: no model is configured\n    Set HUB_MODEL" in result.stdout
    assert result.stderr == ""


def test_json_holds_every_finding_and_the_verdict(hub: Hub) -> None:
    """One object for programs."""
    told = json.loads(hub("--json").stdout)
    assert told["ok"] is False
    assert {"check", "state", "message", "remedy"} == set(told["findings"][0])
    assert [f["check"] for f in told["findings"] if f["state"] == "error"] == ["model"]


def test_broken_settings_do_not_hide_the_rest(hub: Hub, tmp_path: Path) -> None:
    """What does not depend on them is still looked at."""
    (tmp_path / "folder" / ".hub").mkdir()
    path = tmp_path / "folder" / ".hub" / "config.yaml"
    path.write_text("modle: x\n", encoding="utf-8")
    result = hub()
    assert result.exit_code == 1
    assert f"{path}:1" in result.stdout
    assert "✓ packages" in result.stdout
    assert "Traceback" not in result.output
