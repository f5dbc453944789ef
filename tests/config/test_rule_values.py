"""Values of default arguments that are not written into settings."""

from hub.config.rule_values import with_values
from hub.core.servers import ServerSpec, ToolRule
from hub.core.team import Origin, matches_any

HERE = Origin("user", "config.yaml", 9)


def spec(**defaults: object) -> ServerSpec:
    """A server with a rule for the tool ``a[b]``."""
    return ServerSpec("m", "stdio", tools={"a[b]": ToolRule(defaults=defaults, origin=HERE)})


def test_references_in_defaults_become_values_at_any_depth() -> None:
    """And nothing else changes."""
    given = spec(key="${env:KEY}", deep={"list": ["x-${env:KEY}", 5]}, plain="p")
    (found,), problems = with_values([given], {"KEY": "secret"})
    assert dict(found.tools["a[b]"].defaults) == {
        "key": "secret",
        "deep": {"list": ["x-secret", 5]},
        "plain": "p",
    }
    assert problems == []
    untouched = spec(plain="p")
    assert with_values([untouched], {}) == ([untouched], [])


def test_a_tool_whose_value_is_not_there_is_denied_alone() -> None:
    """With its place; the name of the tool is no pattern."""
    (found,), problems = with_values([spec(key="${env:KEY}")], {})
    assert matches_any("a[b]", found.deny)
    assert not matches_any("ab", found.deny)
    assert "config.yaml:9 (servers.m.tools.a[b].defaults)" in problems[0]
    assert "KEY is not set" in problems[0]
    assert "withheld" in problems[0]
