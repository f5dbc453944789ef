"""Aliases and gates: what the settings say about the tools of all servers together."""

from pathlib import Path

import pytest

from hub.catalog.cache import ListingCache
from hub.catalog.catalog import Catalog, build_catalog, rebuilt
from hub.core.messages import ToolSpec
from hub.core.offers import Alias, Gate, Offers, Surroundings
from hub.core.servers import ServerSpec, ToolRule
from hub.core.team import Grant, Origin
from hub.permissions.policy import Policy, Rule
from tests.catalog.test_catalog import CONTEXT, Prepared, Untouchable, listing, spec

HERE = Origin("user", "config.yaml", 3)


def offered(
    *tools: str,
    aliases: dict[str, str] | None = None,
    gates: tuple[Gate, ...] = (),
    around: Surroundings | None = None,
) -> Catalog:
    """A catalog of the server ``git`` with these tools."""
    short = tuple(Alias(name, target, HERE) for name, target in (aliases or {}).items())
    catalog = Catalog()
    catalog.add(spec("git"), listing("git", *tools), Untouchable())
    catalog.settle(Offers(short, gates, around or Surroundings()))
    return catalog


def test_an_alias_takes_the_place_of_the_tools_own_name():
    """In the same place of the list; rules may speak of it by either name."""
    catalog = offered("log", "diff", "push", aliases={"d": "git__diff"})
    assert list(catalog.tools) == ["git__log", "d", "git__push"]
    assert catalog.tools["d"].spec.name == "d"
    assert catalog.tools["d"].spec.other_names == ("git__diff",)
    assert catalog.problems == []
    found = catalog.explain("git__diff")
    assert found is not None
    assert (found.name, found.alias) == ("d", "d")
    assert found.rules[-1].origin == "config.yaml:3"


async def test_a_tool_under_an_alias_is_called_by_its_own_name():
    """The alias is ours alone."""
    servers = Prepared(git=listing("git", "diff"))
    alias = Offers((Alias("d", "git__diff", HERE),))
    catalog = await build_catalog(
        [spec("git")], servers=servers, cache=ListingCache(None), offers=alias
    )
    await catalog.tools["d"].call({}, CONTEXT)
    assert servers.calls == [("git", "diff", {})]


@pytest.mark.parametrize(
    ("aliases", "why"),
    [
        ({"d": "git__nope"}, "there is no tool 'git__nope'"),
        ({"d": "git__diff", "e": "d"}, "'d' is an alias itself"),
        ({"git__log": "git__diff"}, "'diff' of 'git', and is that of 'log' of 'git'"),
        ({"report": "git__diff"}, "the hub's own tool"),
        ({"d": "git__diff", "e": "git__diff"}, "several aliases"),
    ],
)
def test_an_alias_that_is_none_is_refused_with_its_place(aliases: dict[str, str], why: str):
    """Missing, of an alias, colliding, several; both owners are named (H35)."""
    catalog = offered("log", "diff", aliases=aliases)
    assert len(catalog.problems) == 1
    assert why in catalog.problems[0]
    assert "config.yaml:3" in catalog.problems[0]
    assert "git__log" in catalog.tools


def test_a_deny_on_either_name_denies_and_a_grant_may_use_either():
    """A rename or an alias is no way around a rule."""
    tool = ToolSpec("d", "", {}, server="git", tool="diff", other_names=("git__diff",))
    for name in ("d", "git__diff", "git__*"):
        assert Policy((Rule("deny", name, HERE),)).judge(tool).effect == "deny"
        assert Policy((Rule("allow", name, HERE),)).judge(tool).effect == "allow"
        assert Grant((name,)).admits("d", "git__diff")
        assert not Grant(("*",), (name,)).admits("d", "git__diff")
    assert not Grant(("*",), also=(("x",),)).admits("d", "git__diff")


def test_gates_close_without_what_they_need(tmp_path: Path):
    """A variable, a file of the workspace, a system; the reason and the place are told."""
    (tmp_path / "go.mod").write_text("")
    around = Surroundings({"TOKEN": "x", "EMPTY": ""}, tmp_path, "linux")

    def why(**condition: object) -> str:
        gate = Gate("git__push", HERE, **condition)  # type: ignore[arg-type]
        catalog = offered("push", "log", gates=(gate,), around=around)
        assert "git__log" in catalog.tools
        assert ("git__push" in catalog.tools) is not bool(catalog.withheld)
        return catalog.withheld[0].withheld if catalog.withheld else ""

    assert why(env="TOKEN") == why(file="go.mod") == why(platform=("linux", "darwin")) == ""
    assert "EMPTY is not set" in why(env="EMPTY")
    assert "config.yaml:3" in why(env="MISSING")
    assert "has no package.json" in why(file="package.json")
    assert "out of the workspace" in why(file="../go.mod")
    assert "out of the workspace" in why(file=str(tmp_path.parent))
    assert "linux, not win32" in why(platform=("win32",))
    assert "TOKEN2" in why(env="TOKEN2", file="go.mod")


def test_a_gate_that_speaks_of_no_tool_is_a_problem():
    """With its place; a gated alias is quiet."""
    catalog = offered("log", gates=(Gate("nope__*", HERE, env="X"),))
    assert "config.yaml:3 (gates): 'nope__*' matches no tool" in catalog.problems
    gated = offered("log", aliases={"l": "git__log"}, gates=(Gate("git__*", HERE, env="X"),))
    assert gated.tools == {}
    assert gated.problems == []


def test_a_newer_list_changes_its_own_server_and_keeps_the_others():
    """Names of one server do not depend on what another offers (H4, H37)."""
    specs = [spec("a"), ServerSpec("b", "stdio", tools={"y": ToolRule(rename="z")})]
    catalog = Catalog()
    for one in specs:
        catalog.add(one, listing(one.name, "x", "y"), Untouchable())
    kept = catalog.shelves["b"]
    now = rebuilt(catalog, specs, {"a": listing("a", "y", "new")}, servers=Untouchable())
    assert list(now.tools) == ["a__y", "a__new", "b__x", "b__z"]
    assert now.shelves["b"] is kept
    assert now.tools["b__z"].item is kept.items[1]
