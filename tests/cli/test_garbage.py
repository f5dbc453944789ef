"""Searching for garbage is put off while a command starts, and taken up again by a run."""

import subprocess
import sys

from hub.cli import garbage

PACE = """
import gc
from hub.cli import garbage
usual = gc.get_threshold()[0]
garbage.settle()
assert gc.get_threshold()[0] == usual and not gc.get_freeze_count()
garbage.put_off()
assert gc.isenabled()
garbage.settle()
print(gc.get_threshold()[0], gc.get_freeze_count() > 0)
"""


def test_a_run_searches_at_a_usual_pace_and_a_library_is_left_alone() -> None:
    """Only a process whose searches were put off is changed, and they are never off."""
    done = subprocess.run([sys.executable, "-c", PACE], capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    assert done.stdout.split() == [str(garbage.WHILE_RUNNING), "True"]
