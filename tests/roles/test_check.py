"""The static check of a team."""

from collections.abc import Callable
from typing import Any

import pytest

from hub.core.errors import RoleError
from hub.core.team import Origin
from hub.roles.check import check, require
from hub.roles.finding import Finding
from hub.roles.idle import idle_tools
from hub.roles.load import RoleBook
from hub.roles.paths import cycles, routes

Team = Callable[..., RoleBook]
Names = tuple[str, ...]


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_a_team_in_order_has_no_findings(team: Team, tool_names: Names) -> None:
    """Nothing to say is the usual case."""
    book = team(lead="user_facing: true\ndispatch: [worker]", worker="tools: ['files__*']")
    assert check(book, tool_names) == []


def test_an_edge_to_a_role_that_does_not_exist_is_an_error(team: Team, tool_names: Names) -> None:
    """With the line of the edge and the nearest name."""
    book = team(lead="user_facing: true\ndispatch:\n  - worker\n  - wroker", worker="tools: []")
    found = only(check(book, tool_names))
    assert (found.severity, found.role) == ("error", "lead")
    assert (
        found.message == "it may dispatch to 'wroker', which does not exist. Did you mean 'worker'?"
    )
    assert found.origin.line == 5


def test_a_tools_list_that_resolves_to_nothing_is_an_error_naming_the_entries(
    team: Team, tool_names: Names
) -> None:
    """A55: a child without tools would only find out while it works."""
    book = team(lead="user_facing: true\ntools: [file__read, shel__run]")
    found = only(check(book, tool_names))
    assert found.severity == "error"
    assert "'file__read', 'shel__run'" in found.message
    assert "Did you mean 'files__read'?" in found.message
    assert found.origin.line == 3
    with pytest.raises(RoleError) as caught:
        require([found])
    assert caught.value.exit_code == 2
    assert caught.value.where.endswith("lead.md:3")


def test_disallowed_tools_that_leave_nothing_are_an_error(team: Team, tool_names: Names) -> None:
    """A55 by the other list."""
    book = team(lead="user_facing: true\ntools: ['files__*']\ndisallowed_tools: ['files__*']")
    assert "leave it no tool" in only(check(book, tool_names)).message


def test_no_tools_on_purpose_are_fine(team: Team, tool_names: Names) -> None:
    """An empty list says so."""
    assert check(team(lead="user_facing: true\ntools: []"), tool_names) == []


def test_a_single_pattern_that_matches_nothing_is_a_warning(team: Team, tool_names: Names) -> None:
    """The role still has tools, so it can run."""
    book = team(lead="user_facing: true\ntools:\n  - files__read\n  - files__wirte")
    found = only(check(book, tool_names))
    assert (found.severity, found.origin.line) == ("warning", 5)
    assert "Did you mean 'files__write'?" in found.message
    require([found])


def test_patterns_for_a_server_that_is_not_there_are_told_once(
    team: Team, tool_names: Names
) -> None:
    """A role may name tools of servers that only some projects have."""
    book = team(lead="user_facing: true\ntools: [files__read, git__log, git__show]")
    found = only(check(book, tool_names))
    assert (found.severity, found.message) == (
        "info",
        "no server 'git', so nothing for 2 of its tools",
    )


def test_the_hubs_own_tools_need_no_pattern(team: Team, tool_names: Names) -> None:
    """Naming them does nothing, and harms nothing."""
    book = team(lead="user_facing: true\ntools: [files__read, dispatch]")
    found = only(check(book, tool_names))
    assert (found.severity, "the hub adds it" in found.message) == ("info", True)


def test_a_cycle_is_reported_with_its_path_and_what_ends_it(team: Team, tool_names: Names) -> None:
    """The usual depth makes it harmless, a great one does not."""
    book = team(a="user_facing: true\ndispatch: [b]", b="dispatch: [c]", c="dispatch: [a]")
    found = only(check(book, tool_names))
    assert (found.severity, found.origin.line) == ("info", 3)
    assert "a → b → c → a; only the depth limit of 3 ends that" in found.message
    deep = "limits: {depth: 50}\n"
    book = team(
        a=f"{deep}user_facing: true\ndispatch: [b]",
        b=f"{deep}dispatch: [c]",
        c=f"{deep}dispatch: [a]",
    )
    assert only(check(book, tool_names)).severity == "warning"


def test_a_role_that_nobody_can_start_is_a_warning(team: Team, tool_names: Names) -> None:
    """Two that only reach each other count as well."""
    book = team(lead="user_facing: true", a="dispatch: [b]", b="dispatch: [a]")
    found = [f for f in check(book, tool_names) if f.severity == "warning"]
    assert [f.role for f in found] == ["a", "b"]
    assert "nobody can start it" in found[0].message


def test_a_reader_that_reaches_a_writer_is_told_with_the_way(team: Team, tool_names: Names) -> None:
    """Over several edges as well; it is a fact to know, no fault."""
    book = team(
        boss="user_facing: true\ntools: ['notes__*']\ndispatch: [middle]",
        middle="tools: [files__read]\ndispatch: [hand]",
        hand="tools: [files__edit]",
    )
    found = {f.role: f for f in check(book, tool_names)}
    assert set(found) == {"boss", "middle"}
    assert all(f.severity == "info" for f in found.values())
    assert "(files__edit): boss → middle → hand" in found["boss"].message
    assert found["boss"].origin.line == 4


def test_the_caller_may_say_which_tools_write(team: Team) -> None:
    """The catalog knows more than the bundled names."""
    names = ("jira__get", "jira__create")
    book = team(
        boss="user_facing: true\ntools: [jira__get]\ndispatch: [hand]", hand="tools: [jira__create]"
    )
    assert check(book, names) == []
    assert only(check(book, names, writers={"jira__create"})).role == "boss"


def test_a_report_schema_that_is_none_is_an_error(team: Team, tool_names: Names) -> None:
    """Otherwise no report of the role could ever be accepted."""
    book = team(lead="user_facing: true\nreport_schema: {type: objekt}")
    found = only(check(book, tool_names))
    assert (found.severity, found.origin.line) == ("error", 3)
    assert check(book, tool_names, schemas=False) == []


def test_errors_come_before_warnings_before_notes(team: Team, tool_names: Names) -> None:
    """Whoever reads only the top reads what matters."""
    book = team(
        a="user_facing: true\ntools: [files__read, git__x]\ndispatch: [nope]",
        b="tools: [files__read]",
    )
    assert [f.severity for f in check(book, tool_names)] == ["error", "warning", "info"]


def test_all_errors_are_raised_together(team: Team, tool_names: Names) -> None:
    """Each with its role."""
    book = team(a="user_facing: true\ntools: [x]\ndispatch: [nope]")
    with pytest.raises(RoleError, match="2 problems"):
        require(check(book, tool_names))


def test_routes_and_cycles_are_shortest_and_complete(team: Team) -> None:
    """Edges to roles that do not exist are passed over."""
    roles: Any = team(
        a="dispatch: [b, c]", b="dispatch: [d]", c="dispatch: [d, gone]", d="dispatch: [d]"
    ).roles
    assert routes(roles, "a") == {"b": ("a", "b"), "c": ("a", "c"), "d": ("a", "b", "d")}
    assert cycles(roles) == [("d",)]


def test_the_narrowing_of_an_edge_is_checked(team: Team, tool_names: Names) -> None:
    """A pattern that matches nothing is a warning; a child without any tool is an error (A55)."""
    book = team(
        lead="user_facing: true\ndispatch:\n  - role: hand\n    tools: [files__wirte, files__edit]"
        "\n  - role: eye\n    tools:\n      - shell__run",
        hand="tools: [files__edit]",
        eye="tools: [files__read]",
    )
    error, warning = check(book, tool_names)
    assert (error.severity, error.origin.line) == ("error", 7)
    assert error.message == "the edge to 'eye' leaves it no tool at all"
    assert (warning.severity, warning.origin.line) == ("warning", 5)
    assert "Did you mean 'files__write'?" in warning.message


def test_an_edge_that_narrows_is_no_way_to_more(team: Team, tool_names: Names) -> None:
    """The writer can only read when it is dispatched like that, and so can those below it."""
    narrow = "dispatch: [{role: hand, tools: [files__read]}]"
    book = team(
        boss=f"user_facing: true\ntools: [files__read]\n{narrow}",
        hand="tools: ['files__*']\ndispatch: [finger]",
        finger="tools: ['files__*']",
    )
    assert check(book, tool_names) == []


def test_a_way_is_told_with_all_its_edges(team: Team, tool_names: Names) -> None:
    """Path and places, for people and as JSON."""
    book = team(
        boss="user_facing: true\ntools: [files__read]\ndispatch: [middle]",
        middle="tools: [files__read]\ndispatch:\n  - hand",
        hand="tools: [files__edit]",
    )
    found = next(f for f in check(book, tool_names) if f.role == "boss")
    assert found.path == ("boss", "middle", "hand")
    told = found.as_dict()
    assert [edge.rpartition("/")[2] for edge in told["edges"]] == ["boss.md:4", "middle.md:4"]
    assert (told["file"], told["line"]) == (found.origin.path, 4)


def test_an_acceptance_that_runs_what_its_role_may_only_write_is_told(
    team: Team, tool_names: Names
) -> None:
    """Whoever writes a test decides what is run; a role with a shell has no less already."""
    accepted = "acceptance: {command: pytest -q}"
    book = team(
        a=f"user_facing: true\ntools: [files__edit]\n{accepted}",
        b=f"user_facing: true\ntools: [files__edit, shell__run]\n{accepted}",
        c=f"user_facing: true\ntools: [files__read]\n{accepted}",
    )
    found = only(check(book, tool_names))
    assert (found.role, found.severity, found.origin.line) == ("a", "info", 4)
    assert "'pytest -q'" in found.message


def test_tools_that_no_role_comes_to_are_told_by_server(team: Team) -> None:
    """Those of roles that nobody can start count as well, and so does what an edge takes away."""
    book = team(
        lead="user_facing: true\ntools: [a__one]\ndispatch: [{role: hand, tools: ['b__*']}]",
        hand="tools: ['a__*', 'b__one']",
        lost="tools: ['*']",
    )
    tools = ("a__one", "a__two", "b__one", "b__two", "c__new")
    found = list(idle_tools(book, tools, {"c__new": ("c__old",)}, lambda name: Origin(name)))
    assert [(f.severity, f.role, f.origin.layer) for f in found] == [
        ("info", "", "a"),
        ("info", "", "b"),
        ("info", "", "c"),
    ]
    assert [f.message.rpartition(": ")[2] for f in found] == ["a__two", "b__two", "c__new"]
    speaks = team(lead="user_facing: true\ntools: ['a__*', 'b__*', c__old]")
    assert not list(idle_tools(speaks, tools, {"c__new": ("c__old",)}, lambda name: Origin(name)))
