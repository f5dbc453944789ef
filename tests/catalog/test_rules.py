"""What the settings change about single tools, and what is said when they miss."""

from typing import Any

import pytest
from msgspec.structs import replace

from hub.catalog.catalog import Catalog
from hub.core.ports import Quarantine, RemoteTool, ServerListing
from hub.core.servers import ServerSpec, ToolRule
from hub.core.team import Origin
from hub.pipeline.arguments import BadArguments, validate
from tests.catalog.test_catalog import CONTEXT, Prepared, Untouchable, listing

PLACE = Origin("user", "config.yaml", 12)
SEND = RemoteTool(
    "send",
    "Sends a mail.",
    {
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "token": {"type": "string"},
            "dry": {"type": "boolean"},
        },
        "required": ["to", "token"],
        "additionalProperties": False,
    },
)


def ruled(*tools: RemoteTool | str, **rules: ToolRule) -> Catalog:
    """A catalog of a server ``mail`` with rules for its tools."""
    placed = {name: replace(rule, origin=PLACE) for name, rule in rules.items()}
    spec = ServerSpec("mail", "stdio", command="m", tools=placed, origin=PLACE)
    catalog = Catalog()
    catalog.add(spec, listing("mail", *(tools or (SEND,))), Untouchable())
    return catalog


def test_a_hidden_argument_is_not_seen_and_comes_from_the_defaults():
    """The server's own schema stays for the final check, which the completed call passes."""
    catalog = ruled(send=ToolRule(defaults={"token": "t"}, hidden=("token",)))
    tool = catalog.tools["mail__send"]
    assert set(tool.spec.parameters["properties"]) == {"to", "dry"}
    assert tool.spec.parameters["required"] == ["to"]
    assert tool.validation_schema == SEND.input_schema
    completed = tool.complete({"to": "you"})
    assert completed == {"to": "you", "token": "t"}
    validate(completed, tool.validation_schema)
    assert catalog.problems == []


def test_a_call_that_gives_a_hidden_argument_is_refused():
    """The message does not say what stands in its place."""
    catalog = ruled(send=ToolRule(defaults={"token": "secret"}, hidden=("token",)))
    with pytest.raises(ValueError, match="no argument 'token'") as caught:
        catalog.tools["mail__send"].complete({"to": "you", "token": "mine"})
    assert "secret" not in str(caught.value)


def test_defaults_fill_what_is_missing_or_null_and_nothing_else():
    """A value that a model gives wins; the arguments that it gave stay as they were."""
    tool = ruled(send=ToolRule(defaults={"token": "t", "dry": True})).tools["mail__send"]
    given: dict[str, Any] = {"to": "you", "dry": None}
    assert tool.complete(given) == {"to": "you", "token": "t", "dry": True}
    assert given == {"to": "you", "dry": None}
    assert tool.complete({"token": "x", "dry": False}) == {"token": "x", "dry": False}
    assert tool.spec.parameters["required"] == ["to"]


def test_the_final_check_is_over_what_the_server_gets():
    """A default of the wrong kind is no way around the server's schema."""
    tool = ruled(send=ToolRule(defaults={"token": 5}, hidden=("token",))).tools["mail__send"]
    with pytest.raises(BadArguments, match="token"):
        validate(tool.complete({"to": "you"}), tool.validation_schema)


def test_description_and_name_take_the_place_of_the_servers():
    """Rules may still speak of the tool by the name that it would have."""
    catalog = ruled(send=ToolRule(rename="post", description="Ours."))
    tool = catalog.tools["mail__post"]
    assert tool.spec.description == "Ours."
    assert tool.spec.other_names == ("mail__send",)
    assert tool.spec.tool == "send"


async def test_a_renamed_tool_is_called_by_the_servers_own_name():
    """The new name is ours alone."""
    servers = Prepared(mail=listing("mail", SEND))
    spec = ServerSpec("mail", "stdio", command="m", tools={"send": ToolRule(rename="post")})
    catalog = Catalog()
    catalog.add(spec, listing("mail", SEND), servers)
    await catalog.tools["mail__post"].call({"to": "x"}, CONTEXT)
    assert servers.calls == [("mail", "send", {"to": "x"})]


def test_a_rename_that_collides_is_refused_with_both_owners_and_the_place():
    """Neither tool takes the name of the other (H35)."""
    catalog = ruled("send", "post", send=ToolRule(rename="post"))
    assert list(catalog.tools) == ["mail__send", "mail__post"]
    (problem,) = catalog.problems
    assert problem.startswith("config.yaml:12 (servers.mail.tools.send.rename)")
    assert "'send'" in problem
    assert "'post'" in problem


def test_two_renames_to_one_name_are_both_refused_and_a_swap_is_none():
    """As a group (H34)."""
    both = ruled("a", "b", a=ToolRule(rename="x"), b=ToolRule(rename="x"))
    assert list(both.tools) == ["mail__a", "mail__b"]
    assert len(both.problems) == 2
    swapped = ruled("a", "b", a=ToolRule(rename="b"), b=ToolRule(rename="a"))
    assert [tool.spec.tool for tool in swapped.tools.values()] == ["a", "b"]
    assert list(swapped.tools) == ["mail__b", "mail__a"]


def test_a_rule_for_what_there_is_not_is_a_problem_with_its_place():
    """A tool, a hidden argument, a default."""
    catalog = ruled(
        send=ToolRule(defaults={"nope": 1}, hidden=("gone",)), sent=ToolRule(rename="x")
    )
    assert len(catalog.problems) == 3
    assert all(problem.startswith("config.yaml:12") for problem in catalog.problems)
    text = "\n".join(catalog.problems)
    assert "no argument 'nope'" in text
    assert "no argument 'gone'" in text
    assert "no tool 'sent'" in text
    assert catalog.tools["mail__send"].complete({"to": "x"}) == {"to": "x"}


def test_a_hidden_argument_that_is_required_needs_a_default():
    """Otherwise every call would fail, so the tool is withheld with its reason."""
    catalog = ruled(send=ToolRule(hidden=("token",)))
    assert catalog.tools == {}
    assert "'token' is required and hidden" in catalog.withheld[0].withheld
    assert "config.yaml:12" in catalog.problems[0]


def test_what_is_quarantined_is_not_offered_and_its_neighbours_are():
    """Tools, prompts and resources alike (H50)."""
    catalog = Catalog()
    held = Quarantine(tools={"bad": "its description changed"})
    spec = ServerSpec("mail", "stdio", command="m")
    catalog.add(spec, listing("mail", "bad", "good"), Untouchable(), held)
    assert list(catalog.tools) == ["mail__good"]
    assert catalog.withheld[0].withheld == "its description changed"
    assert not [one for one in catalog.problems if "bad" in one]


def test_a_tool_that_the_server_took_back_says_so():
    """It stays on offer until the turn is over, for the sake of prompt caches (H20)."""
    catalog = ruled()
    catalog.take_back("other", ["send"])
    assert not catalog.tools["mail__send"].item.gone
    catalog.take_back("mail", ["send"])
    assert catalog.tools["mail__send"].item.gone


async def test_a_call_of_a_tool_that_is_gone_is_not_run():
    """The answer names the server and says what happened."""
    catalog = ruled()
    catalog.take_back("mail", ["send"])
    outcome = await catalog.tools["mail__send"].call({}, CONTEXT)
    assert outcome.is_error
    assert outcome.kind == "tool_removed"
    assert "no longer offers 'send'" in outcome.text


def test_everything_about_a_tool_can_be_told():
    """Origin, each rule, what the server said and what a model sees."""
    rule = ToolRule("post", "Ours.", {"token": "t"}, ("token",))
    catalog = ruled(SEND, "other", send=rule)
    found = catalog.explain("mail__send", "openai")
    assert found is not None
    assert found == catalog.explain("mail/send", "openai")
    assert found.name == "mail__post"
    assert [touch.kind for touch in found.rules] == ["rename", "description", "defaults", "hidden"]
    assert {touch.origin for touch in found.rules} == {"config.yaml:12"}
    assert found.said == SEND
    assert found.description == "Ours."
    assert found.parameters is not None
    assert "token" not in found.parameters["properties"]
    assert len(found.digest) == 64
    assert found.as_dict()["rules"][2]["text"] == "defaults: token"
    assert catalog.explain("mail__nope") is None
    assert [one.name for one in catalog.explained()] == ["mail__post", "mail__other"]


def test_what_a_pattern_withholds_is_told_with_its_place():
    """Allow that does not name it, deny that does."""
    spec = ServerSpec("m", "stdio", allow=("a*",), deny=("ab",), origin=PLACE)
    catalog = Catalog()
    catalog.add(
        spec, ServerListing("m", "x", tuple(map(RemoteTool, ("a", "ab", "c")))), Untouchable()
    )
    why = {one.tool: one.withheld for one in catalog.explained()}
    assert why == {
        "a": "",
        "ab": "deny names it (config.yaml:12)",
        "c": "allow does not name it (config.yaml:12)",
    }


def test_hidden_values_are_not_shown_to_whoever_is_asked():
    """They may be secrets; what the model gave is shown."""
    tool = ruled(send=ToolRule(defaults={"token": "t"}, hidden=("token",))).tools["mail__send"]
    assert tool.shown({"to": "x", "token": "t"}) == {"to": "x", "token": "…"}
