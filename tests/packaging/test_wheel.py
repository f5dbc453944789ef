"""The wheel, installed into an empty environment outside of the checkout, is whole."""

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SCRIPT = """
script: 1
turns:
  - calls: [{tool: files__list, args: {}}]
  - text: "seen {{ last[0].text }}"
"""


def run(*line: str | Path, cwd: Path, home: Path, ok: bool = True) -> str:
    """Run a program far from the checkout and return what it printed."""
    done = subprocess.run(
        [str(word) for word in line],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **pip_settings()},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0 or not ok, done.stdout + done.stderr
    return done.stdout


def pip_settings() -> dict[str, str]:
    """Pass on how pip reaches its registry here."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a release would."""
    folder = tmp_path_factory.mktemp("dist")
    line = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(
        [*line, str(ROOT)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and its locked dependencies; return the environment's bin folder."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    for words in (["-r", ROOT / "requirements.lock"], ["--no-deps", wheel]):
        run(*pip, *words, cwd=folder.parent, home=folder.parent)
    return folder / "bin"


def test_the_wheel_installs_no_top_level_name_but_ours(wheel: Path) -> None:
    """Nothing generic such as roles or servers; types and the shipped team are inside."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"hub", "hub_servers"}
    for needed in ("hub/py.typed", "hub_servers/py.typed", "hub/shipped_roles/lead.md"):
        assert needed in names
    assert not [name for name in names if "test" in name and not name.startswith("hub/testing/")]


@pytest.mark.timeout(400)
def test_an_installed_hub_works_far_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    """It lists the shipped team, runs scripts and the README's program, and starts the servers."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "s.yaml").write_text(SCRIPT)
    where = {"cwd": work, "home": tmp_path}
    listed = run(installed / "hub", "roles", "list", **where)
    for role in ("lead", "orchestrator", "explorer", "worker", "reviewer"):
        assert role in listed
    assert "seen ./" in run(installed / "hub", "run", "go", "--model", "script:s.yaml", **where)
    assert run(installed / "hub", "--version", **where).startswith("hub ")
    [program] = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert "done Hello!" in run(installed / "python", "-c", program, **where)
    for server in ("files", "shell", "notes"):
        assert "--root" in run(installed / f"hub-server-{server}", "--help", **where)
