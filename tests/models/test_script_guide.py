"""The scripts in the guide load and do what the guide says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hub.models.script_file import parse_scripts
from hub.models.script_filters import FILTERS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "scripts.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("text", SCRIPTS)
def test_each_script_of_the_guide_loads(text):
    """Its keys are those of the format."""
    assert parse_scripts(text)


def test_the_first_script_counts_what_is_there(tmp_path):
    """Run as the guide says."""
    (tmp_path / "count.yaml").write_text(SCRIPTS[0])
    (tmp_path / "b.py").touch()
    (tmp_path / "a.py").touch()
    line = [sys.executable, "-m", "hub", "run", "Count", "--model", "script:count.yaml"]
    done = subprocess.run(
        line, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.stdout.strip() == "2 files; the first is a.py.", done.stderr


def test_the_guide_names_every_filter():
    """A filter that nobody knows of is of no use."""
    assert [name for name in FILTERS if not re.search(rf"`{name}[`(]", GUIDE)] == []
