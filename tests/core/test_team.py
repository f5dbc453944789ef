"""Roles, edges and grants: patterns mean what is written, and a grant is only ever narrowed."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.team import MODE_ORDER, Edge, Grant, Origin, Role, matches_any, tightest

NAMES = ["files__read", "files__write", "shell__run", "git__log", "Files__read"]
patterns = st.lists(
    st.sampled_from(["*", "files__*", "files__read", "shell__*", "*__r*", "nothing"]), max_size=3
).map(tuple)


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("files__read", "files__read", True),
        ("files__read", "files__*", True),
        ("files__read", "*__read", True),
        ("files__read", "files__rea?", True),
        ("files__read", "files__[rw]*", True),
        ("files__read", "files__re", False),
        ("files__reader", "files__read", False),
        ("my_files__read", "files__read", False),
        ("files__read", "FILES__READ", False),
        ("files__read", "", False),
        ("", "*", True),
    ],
)
def test_a_pattern_means_what_is_written(name: str, pattern: str, fits: bool) -> None:
    """A pattern covers the whole name, with its case; nothing is added to it."""
    assert matches_any(name, (pattern,)) is fits


def test_no_pattern_fits_nothing() -> None:
    """An empty list of patterns admits no name."""
    assert not matches_any("files__read", ())
    assert not Grant(()).admits("files__read")


@given(tools=patterns, without=patterns, edges=st.lists(patterns, max_size=3).map(tuple))
def test_a_grant_is_only_ever_narrowed(
    tools: tuple[str, ...], without: tuple[str, ...], edges: tuple[tuple[str, ...], ...]
) -> None:
    """Every further list takes names away and never adds one."""
    wide = Grant(tools)
    for narrow in (
        Grant(tools, without),
        Grant(tools, also=edges),
        Grant(tools, without, also=edges),
    ):
        assert {n for n in NAMES if narrow.admits(n)} <= {n for n in NAMES if wide.admits(n)}


@given(tools=patterns, without=patterns, edges=st.lists(patterns, max_size=3).map(tuple))
def test_a_grant_admits_what_every_list_admits(
    tools: tuple[str, ...], without: tuple[str, ...], edges: tuple[tuple[str, ...], ...]
) -> None:
    """A name must fit the tools and each edge on the way down, and nothing disallowed."""
    grant = Grant(tools, without, also=edges)
    for name in NAMES:
        wanted = matches_any(name, tools) and not matches_any(name, without)
        assert grant.admits(name) == (wanted and all(matches_any(name, edge) for edge in edges))


def test_the_tightest_of_two_modes_wins_in_either_order() -> None:
    """A ceiling is the same from both sides, and no mode widens another."""
    for a, b in product(MODE_ORDER, repeat=2):
        assert tightest(a, b) == tightest(b, a)
        assert MODE_ORDER.index(tightest(a, b)) == min(MODE_ORDER.index(a), MODE_ORDER.index(b))


def test_a_role_knows_its_edges_by_name() -> None:
    """An edge that is not there is None, not a default."""
    role = Role("lead", dispatch=(Edge("worker", max_parallel=2), Edge("explorer")))
    edge = role.edge_to("worker")
    assert edge is not None
    assert edge.max_parallel == 2
    assert role.edge_to("lead") is None


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (Origin("default"), "default"),
        (Origin("user", "a.yaml"), "a.yaml"),
        (Origin("user", "a.yaml", 7), "a.yaml:7"),
    ],
)
def test_an_origin_reads_as_a_place(origin: Origin, text: str) -> None:
    """File and line where there are any, else the layer."""
    assert str(origin) == text
