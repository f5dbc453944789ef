"""Whatever way a run ends: its servers, and all that they started, are counted afterwards."""

import pytest

from bench.leftovers import SECONDS, WAYS, count
from bench.processes import place


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_nobody_is_left_of_a_run(way) -> None:
    """Servers behind shells that ignore SIGTERM and EOF, with daemons in other sessions (H9, A47).

    Within 20 s nobody is left, not even a zombie.
    """
    wanted = 4 if way.connecting else 8
    with place() as where:
        counts = count(where, way)
    assert counts.before >= wanted, "shell, server, grandchild and sleeper of each"
    assert counts.left == 0
    assert counts.seconds < SECONDS
