"""The program in the README does what it says."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_library_example_of_the_readme_runs_anywhere(tmp_path):
    """It needs no checkout; it prints the events of a turn, then the outcome and the answer."""
    [program] = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done Hello! You said: Say hello"
    assert "turn.done lead" in done.stdout
