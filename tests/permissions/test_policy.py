"""Which ruling comes from which rules, mode and kind of tool."""

import pytest

from hub.core.messages import ToolSpec
from hub.core.team import Origin
from hub.permissions.policy import Policy, Rule

READ = ToolSpec("files__read", "", {}, server="files", tool="read", read_only=True)
WRITE = ToolSpec("files__write", "", {}, server="files", tool="write")
SHELL = ToolSpec("shell__run", "", {}, server="shell", tool="run", destructive=True)
TODO = ToolSpec("notes__todo", "", {}, server="notes", tool="todo")
OWN = ToolSpec("dispatch", "", {})
PROJECT = Origin("project", ".hub/config.yaml", 7)


def policy(*rules: tuple[str, str], mode: str = "default") -> Policy:
    made = tuple(Rule(effect, pattern, PROJECT) for effect, pattern in rules)
    return Policy(made, mode, bundled=frozenset({"files", "shell", "notes"}))


@pytest.mark.parametrize(
    ("mode", "read", "write", "shell", "todo"),
    [
        ("default", "allow", "ask", "ask", "allow"),
        ("accept_edits", "allow", "allow", "ask", "allow"),
        ("plan", "allow", "deny", "deny", "allow"),
        ("deny", "deny", "deny", "deny", "deny"),
        ("bypass", "allow", "allow", "allow", "allow"),
    ],
)
def test_each_mode_rules_as_its_name_says(mode, read, write, shell, todo):
    """No rule speaks, so that the mode decides."""
    judge = policy(mode=mode).judge
    assert [judge(spec).effect for spec in (READ, WRITE, SHELL, TODO)] == [
        read,
        write,
        shell,
        todo,
    ]


@pytest.mark.parametrize("mode", ["default", "accept_edits", "plan", "deny", "bypass"])
def test_the_hubs_own_tools_are_allowed_in_every_mode(mode):
    """Whether a role may dispatch is decided by its edges, not by rules about servers."""
    assert policy(mode=mode).judge(OWN).effect == "allow"


@pytest.mark.parametrize("mode", ["default", "accept_edits", "plan", "deny", "bypass"])
def test_a_deny_rule_wins_over_every_other_rule_and_mode(mode):
    """Deny beats ask beats allow, whatever the order of the rules."""
    for rules in ([("allow", "*"), ("deny", "files__*")], [("deny", "files__*"), ("allow", "*")]):
        ruling = policy(*rules, ("ask", "*"), mode=mode).judge(READ)
        assert ruling.effect == "deny"
        assert ruling.origin == ".hub/config.yaml:7"


def test_an_ask_rule_wins_over_an_allow_rule():
    """Somebody wants to be asked."""
    assert policy(("allow", "shell__run"), ("ask", "shell__*")).judge(SHELL).effect == "ask"


def test_plan_mode_lets_no_allow_rule_through_for_what_may_change_something():
    """The ceiling stands above allow rules."""
    assert policy(("allow", "*"), mode="plan").judge(WRITE).effect == "deny"


def test_an_allow_rule_opens_what_mode_deny_closes():
    """Mode deny allows what a rule allows."""
    assert policy(("allow", "files__read"), mode="deny").judge(READ).effect == "allow"


def test_a_pattern_means_exactly_what_is_written():
    """No prefix matching, no case folding."""
    assert policy(("allow", "shell")).judge(SHELL).effect == "ask"
    assert policy(("allow", "Shell__Run")).judge(SHELL).effect == "ask"
    assert policy(("allow", "shell__r?n")).judge(SHELL).effect == "allow"


@pytest.mark.parametrize("mode", ["default", "accept_edits", "deny", "bypass"])
def test_a_plan_above_forbids_changes_in_every_mode_below(mode):
    """Deny alone would let run what an allow rule names, bypass anything."""
    rules = (Rule("allow", "*", PROJECT),)
    judge = Policy(rules, mode, plan=True).judge
    assert judge(READ).effect == "allow"
    assert judge(WRITE).effect == judge(SHELL).effect == "deny"


@pytest.mark.parametrize("mode", ["default", "accept_edits", "plan"])
def test_a_foreign_server_gains_nothing_by_the_name_of_a_bundled_one(mode):
    """Its write and todo may be anything, so they are asked about, or denied in plan."""
    judge = Policy((), mode, bundled=frozenset({"shell"})).judge
    expected = "deny" if mode == "plan" else "ask"
    assert [judge(spec).effect for spec in (WRITE, TODO)] == [expected, expected]
