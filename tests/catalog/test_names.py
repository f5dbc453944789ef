"""Model-facing names: legal, unique, and the same for ever."""

import re
from random import Random

from hypothesis import assume, example, given
from hypothesis import strategies as st

from hub.catalog.catalog import Catalog
from hub.catalog.names import MAX_LENGTH, model_name
from hub.core.servers import ServerSpec
from tests.catalog.test_catalog import Untouchable, listing

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
PARTS = st.one_of(
    st.text(max_size=12),
    st.text("ab_-.", max_size=8),
    st.text("aé_/", min_size=50, max_size=90),
    st.from_regex(r"\A[ab]_?_?[0-9a-f]{8}\Z"),
)
PAIR = st.tuples(PARTS, PARTS)


@given(PAIR)
def test_every_name_is_legal(pair: tuple[str, str]):
    """Whatever a server calls its tools (H32, H34)."""
    assert LEGAL.fullmatch(model_name(*pair))


@given(PAIR, PAIR)
@example(("a", "b__c"), ("a__b", "c"))
@example(("a_", "b"), ("a", "_b"))
@example(("fs", "read-file"), ("fs", "read.file"))
@example(("fs", "read_file"), ("fs", "read file"))
@example(("a" * 40, "b" * 40 + "1"), ("a" * 40, "b" * 40 + "2"))
@example(("a", "\0b"), ("a\0", "b"))
def test_different_tools_have_different_names(one: tuple[str, str], other: tuple[str, str]):
    """Two servers, or two tools of one server, never share a name (H34, H35)."""
    assume(one != other)
    assert model_name(*one) != model_name(*other)


@given(PAIR)
def test_a_plain_name_never_looks_like_a_hashed_one(pair: tuple[str, str]):
    """So that no server can take the name of another's tool by guessing its hash (H35)."""
    name = model_name(*pair)
    plain = name == f"{pair[0]}__{pair[1]}"
    assert plain != bool(re.search(r"_[0-9a-f]{8}\Z", name))


def test_ordinary_names_are_joined_as_they_are():
    """A name depends on its own server and tool alone, with one server or with many (H37)."""
    assert model_name("files", "read") == "files__read"
    assert model_name("my-server_2", "get-sum") == "my-server_2__get-sum"


def test_long_names_are_cut_and_carry_a_hash():
    """The same one at each start, as saved permissions need it (H32)."""
    name = model_name("s" * 60, "t" * 80)
    assert len(name) == MAX_LENGTH
    assert name == "s" * 55 + "_" + name[-8:]
    assert name == model_name("s" * 60, "t" * 80)
    assert model_name("fs", "read.file") == "fs__read_file_" + model_name("fs", "read.file")[-8:]


NAMED = st.dictionaries(
    st.from_regex(r"\A[a-c]([-_]?[a-c]){0,3}\Z"),
    st.lists(PARTS.filter(bool), min_size=1, max_size=6, unique=True),
    min_size=1,
    max_size=4,
)


def named(servers: dict[str, list[str]]) -> dict[str, tuple[str, str]]:
    """The owner of each name in a catalog of these servers and tools."""
    catalog = Catalog()
    for server, tools in servers.items():
        catalog.add(ServerSpec(server, "stdio"), listing(server, *tools), Untouchable())
    assert not catalog.contested
    return {name: (one.spec.server, one.spec.tool) for name, one in catalog.tools.items()}


@given(NAMED, st.randoms())
def test_names_stay_whatever_else_is_connected_and_lead_back_to_their_owner(
    servers: dict[str, list[str]], chance: Random
):
    """In any order, with any of the other servers gone, and for each tool one name (H35, H37)."""
    whole = named(servers)
    owners = [(server, tool) for server, tools in servers.items() for tool in tools]
    assert sorted(whole.values()) == sorted(owners)
    order = list(servers)
    chance.shuffle(order)
    fewer = named({name: servers[name] for name in order[: chance.randint(1, len(order))]})
    assert fewer.items() <= whole.items()
