"""``hub mcp tools``, ``show`` and ``explain``: what models see, and why."""

import pytest

from hub.core.ports import RemotePrompt, RemoteResource
from tests.cli.mcp.desk import Desk, tool

READS = {"readOnlyHint": True}


@pytest.fixture
def stocked(desk: Desk) -> Desk:
    """A desk with one server that was listed before, with rules about its tools."""
    desk.server(
        "mine",
        deny=["secret*"],
        tools={"old": {"rename": "new", "hidden": ["text"], "defaults": {"text": "x"}}},
    )
    desk.listed(
        "mine",
        tool("look", "Looks at it.\nIn detail.", annotations=READS),
        tool("old", "Does the old thing."),
        tool("secret_one"),
        instructions="Be careful.",
        prompts=(RemotePrompt("greet", description="Says hello."),),
        resources=(RemoteResource("note://1", "first"),),
    )
    return desk


def test_tools_are_listed_under_the_names_that_models_see(stocked: Desk) -> None:
    """With what calls do, the first line of the description, and the withheld ones apart."""
    told = stocked.run("tools", "mine").stdout.splitlines()
    assert told[0].split() == ["NAME", "MARK", "DESCRIPTION"]
    assert told[1].split(maxsplit=2) == ["mine__look", "read-only", "Looks at it."]
    assert told[2].split(maxsplit=1)[0] == "mine__new"
    assert "In detail." not in "\n".join(told)
    assert any("mine__secret_one: deny names it" in line for line in told)
    assert not stocked.started()


def test_explained_tools_say_which_rules_touched_them(stocked: Desk) -> None:
    """Each rule with file and line."""
    told = stocked.run("tools", "mine", "--explain").stdout
    assert "rename: new (" in told
    assert "hidden: text (" in told
    assert "deny: 'secret*' (" in told


def test_a_role_sees_its_tools_with_the_permission_of_each(stocked: Desk) -> None:
    """A reader is not offered what writes, and learns what is asked for."""
    told = stocked.run("tools", "mine", "--role", "lead").stdout.splitlines()
    assert told[0].split() == ["NAME", "MARK", "PERMISSION", "DESCRIPTION"]
    assert told[1].split()[:3] == ["mine__look", "read-only", "allow"]
    assert told[2].split()[:3] == ["mine__new", "destructive", "ask"]
    others = stocked.run("tools", "mine", "--role", "worker").stdout
    assert "2 more tools are not among the role's." in others


def test_what_is_not_known_is_said_with_the_way_to_know_it(desk: Desk) -> None:
    """One note for each server that was never listed, and why."""
    desk.server("new")
    desk.asked_for("theirs")
    told = desk.run("tools").stdout
    assert "'new' was never asked for its tools. Ask it with: hub mcp tools new --refresh" in told
    assert "'theirs' is not approved, so its tools are not known" in told
    assert desk.run("tools", "new").exit_code == 2
    assert not desk.started()


def test_refresh_asks_approved_servers_only(desk: Desk) -> None:
    """H52: what nobody approved is not started by a look, however eager."""
    desk.server("mine")
    desk.asked_for("theirs")
    told = desk.run("tools", "--refresh").stdout
    assert "mine__echo" in told
    assert len(desk.log.events("start")) == 1
    refused = desk.run("tools", "theirs", "--refresh")
    assert refused.exit_code == 2
    assert "hub mcp approve theirs" in refused.stderr
    assert len(desk.log.events("start")) == 1


def test_a_server_that_cannot_be_refreshed_costs_only_itself(desk: Desk) -> None:
    """H5: the others are listed, the failure is a note."""
    desk.server("good")
    desk.server("bad", "exit_on_start")
    told = desk.run("tools", "--refresh").stdout
    assert "good__echo" in told
    assert "note: bad could not be asked:" in told


def test_tools_as_json_hold_schema_rules_and_reasons(stocked: Desk) -> None:
    """One object a line, the withheld ones included."""
    found = {line["tool"]: line for line in stocked.lines("tools", "mine")}
    assert found["secret_one"]["offered"] is False
    assert found["old"]["name"] == "mine__new"
    assert found["old"]["parameters"]["properties"] == {}
    assert [rule["kind"] for rule in found["old"]["rules"]] == ["rename", "defaults", "hidden"]


def test_show_tells_all_that_a_server_offers(stocked: Desk) -> None:
    """Instructions, tools, prompts and resources, from the last list."""
    told = stocked.run("show", "mine").stdout
    for words in ("Be careful.", "tools (3)", "prompts (1)", "greet", "resources (1)", "note://1"):
        assert words in told


def test_show_of_a_tool_prints_its_whole_schema_as_models_see_it(stocked: Desk) -> None:
    """What is hidden is not in it."""
    assert '"text"' in stocked.run("show", "mine/look").stdout
    assert '"text"' not in stocked.run("show", "mine/old").stdout


def test_explain_tells_origin_rules_rights_and_the_difference(stocked: Desk) -> None:
    """Everything that has a say about one tool, by any of its names."""
    stocked.lived("mine", state="failed", error="it exited", stderr="no disk")
    told = stocked.run("explain", "mine__old").stdout
    assert stocked.run("explain", "mine__new").stdout == told
    assert stocked.run("explain", "mine/old").stdout == told
    assert "rename: new (" in told
    assert "it exited" in told
    assert "no disk" in told
    assert "lead          ask: no rule allows mine__new" in told
    assert "explorer      not among the role's tools" in told
    assert '-    "text": {' in told
    assert "last error" in told


def test_explain_names_the_rule_that_decides(stocked: Desk) -> None:
    """File and line of the permission."""
    stocked.settings(permissions={"deny": ["mine__old"]})
    told = stocked.run("explain", "mine__new", "--role", "lead").stdout
    assert "lead  deny: deny rule 'mine__old' (" in told
    assert "config.yaml:" in told
    assert "worker" not in told


def test_explain_shows_a_tool_as_the_models_of_one_provider_see_it(stocked: Desk) -> None:
    """The schema is lowered for whoever is asked about; no key is needed."""
    assert (
        "offered to gemini models"
        in stocked.run("explain", "mine__new", "--model", "gemini-2.5-pro").stdout
    )
    assert (
        "offered to anthropic models"
        in stocked.run("explain", "mine__new", "--model", "claude-sonnet-4").stdout
    )


def test_explain_tells_what_changed_since_the_approval(stocked: Desk) -> None:
    """H50: why a tool is gone, in words."""
    listing = stocked.view().find("mine").listing
    assert listing is not None
    stocked.pins().check(stocked.spec("mine"), listing)
    stocked.listed("mine", tool("look", "Looks at it.\nIn detail."))
    told = stocked.run("explain", "mine/look").stdout
    assert "withheld: changed since it was approved: became writable" in told
    assert "pinned" in told


def test_an_unknown_tool_or_role_is_told_with_the_nearest_name(stocked: Desk) -> None:
    """A slip of the finger costs one look."""
    missed = stocked.run("explain", "mine__lok")
    assert missed.exit_code == 2
    assert "Did you mean 'mine__look'?" in missed.stderr
    assert "worker" in stocked.run("explain", "mine__look", "--role", "worke").stderr
