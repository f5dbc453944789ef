"""What model servers of each kind are sent: nothing that they refuse, nothing lost on the way."""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.catalog.arguments import Completion
from hub.catalog.explain import PROFILES, Profile
from hub.catalog.gemini import FORMATS, KEPT
from hub.catalog.items import translation
from hub.catalog.profiles import MAX_DESCRIPTION, Form, profile_of, translated
from hub.catalog.schemas import Untranslatable, lowered
from hub.core.ports import RemoteTool
from tests.catalog.test_schemas import GOOD, KEYS, VALUES

JSON_PROFILES: tuple[Profile, ...] = ("openai", "anthropic", "generic")


def form(schema: dict[str, Any], profile: Profile, description: str = "It works.") -> Form:
    """A tool with a schema in the form for a profile."""
    return translated("a__t", description, lowered(schema).parameters, profile)


def prop(schema: Any, profile: Profile = "gemini", **more: Any) -> Any:
    """What becomes of one property."""
    whole = {"type": "object", "properties": {"p": schema}, **more}
    return form(whole, profile).parameters["properties"]["p"]


def completed(
    schema: dict[str, Any], arguments: dict[str, Any], profile: Profile
) -> dict[str, Any]:
    """What the server is sent for the arguments that a model gave."""
    return Completion(restores=form(schema, profile).restores).complete(arguments)


@pytest.mark.parametrize("profile", JSON_PROFILES)
def test_a_good_schema_is_sent_as_it_is(profile: Profile):
    """Deep-equal, in its order, references and recursion included (H42)."""
    found = form(GOOD, profile)
    assert json.dumps(found.parameters) == json.dumps(GOOD)
    assert found.changes == ()
    assert found.restores == ()


def test_openai_takes_1024_characters_and_the_rest_stands_in_the_schema():
    """Nothing of the description is lost, and the change is named (H42)."""
    text = " ".join(f"word{index}" for index in range(400))
    found = form({"type": "object"}, "openai", text)
    assert len(found.description) <= MAX_DESCRIPTION
    head = found.description.removesuffix("…")
    assert f"{head} {found.parameters['description']}" == text
    assert "1024" in found.changes[0]
    for profile in ("anthropic", "gemini", "generic"):
        assert form({"type": "object"}, profile, text).description == text


@pytest.mark.parametrize("profile", ["anthropic", "generic"])
@pytest.mark.parametrize("name", ["filter[id]", "$top", "user name", "é", "x" * 65, "", "a/b"])
def test_names_of_arguments_that_anthropic_refuses_are_given_back(profile: Profile, name: str):
    """The server gets its own; the list of required ones follows (H40)."""
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    found = form(schema, profile)
    (safe,) = found.parameters["properties"]
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", safe)
    assert found.parameters["required"] == [safe]
    assert repr(name)[:100] in found.changes[0]
    assert completed(schema, {safe: "v"}, profile) == {name: "v"}


def test_safe_names_never_meet_one_another():
    """Two that differ only in what is illegal, and one that is there already."""
    names = ["a[]", "a{}", "a__", "a"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    found = form(schema, "anthropic").parameters["properties"]
    assert len(found) == len(names)


def test_gemini_gets_no_references():
    """They become what they stand for, with what stands beside them (H40)."""
    schema = {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/kind", "description": "Mine"}},
        "$defs": {"kind": {"type": "string", "enum": ["a", "b"], "description": "Theirs"}},
    }
    found = form(schema, "gemini")
    assert found.parameters["properties"]["p"] == {
        "type": "string",
        "enum": ["a", "b"],
        "description": "Mine",
    }
    assert "$defs" not in found.parameters
    assert any("#/$defs/kind" in change for change in found.changes)


def test_gemini_gives_what_contains_itself_as_json_text():
    """And the server gets the value (H40)."""
    found = form(GOOD, "gemini").parameters["properties"]["node"]
    assert found["properties"]["next"]["type"] == "string"
    arguments = {"path": "x", "node": {"next": '{"next": {}}'}}
    assert completed(GOOD, arguments, "gemini")["node"] == {"next": {"next": {}}}


def test_gemini_knows_null_as_nullable_and_one_type_at_a_time():
    """Lists of types become alternatives (H40)."""
    assert prop({"type": ["string", "null"]}) == {"type": "string", "nullable": True}
    assert prop({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "N"}) == {
        "type": "integer",
        "description": "N",
        "nullable": True,
    }
    both = prop({"type": ["string", "integer"], "description": "D"})
    assert both == {
        "anyOf": [
            {"type": "string", "description": "D"},
            {"type": "integer", "description": "D"},
        ]
    }


def test_gemini_lists_texts_and_tells_other_values():
    """An enum of numbers, an empty text, a const (H40)."""
    assert prop({"enum": ["a", "", "b"]}) == {"type": "string", "enum": ["a", "b"]}
    assert prop({"const": "x"}) == {"type": "string", "enum": ["x"]}
    assert prop({"type": "integer", "enum": [1, 2]}) == {
        "type": "integer",
        "description": "One of: 1, 2.",
    }


def test_gemini_keeps_no_format_or_keyword_that_it_refuses():
    """Each is named where it was left out (H42)."""
    schema = {"type": "object", "properties": {"p": {"type": "string", "format": "uri", "x-a": 1}}}
    found = form(schema, "gemini")
    assert found.parameters["properties"]["p"] == {"type": "string"}
    assert any("'uri'" in change for change in found.changes)
    assert any("x-a" in change for change in found.changes)
    assert prop({"type": "string", "format": "date-time"})["format"] == "date-time"
    assert prop({"type": "integer", "exclusiveMinimum": 0}) == {"type": "integer", "minimum": 1}
    assert prop({"type": "number", "exclusiveMaximum": 1})["description"] == "Less than 1."


def test_gemini_gives_objects_and_values_of_any_content_as_json_text():
    """It takes neither an object without properties nor a value without a type (H39)."""
    schema = {
        "type": "object",
        "properties": {
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "rows": {"type": "array"},
            "any": {},
        },
    }
    found = form(schema, "gemini").parameters["properties"]
    assert found["env"]["type"] == "string"
    assert found["rows"]["items"]["type"] == "string"
    given = {"env": '{"a": "b"}', "rows": ["1", '"x"', "plain"], "any": "[1]"}
    assert completed(schema, given, "gemini") == {
        "env": {"a": "b"},
        "rows": [1, "x", "plain"],
        "any": [1],
    }


def test_a_text_beside_an_object_stays_a_text():
    """Only what is the JSON of an object is taken for one where both may stand."""
    schema = {
        "type": "object",
        "properties": {"p": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    }
    assert completed(schema, {"p": "5"}, "gemini") == {"p": "5"}
    assert completed(schema, {"p": '{"a": 1}'}, "gemini") == {"p": {"a": 1}}


def test_gemini_merges_all_of_and_takes_one_of_as_any_of():
    """Within the schema, not only at its top (H40)."""
    merged = prop({
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b", "gone"]},
        ]
    })
    assert set(merged["properties"]) == {"a", "b"}
    assert merged["required"] == ["a", "b"]
    one = prop({"oneOf": [{"type": "string"}, {"type": "integer"}]})
    assert one == {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def test_gemini_has_no_tuples():
    """Items may be of any of the kinds."""
    found = prop({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]})
    assert found["items"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def test_gemini_refuses_a_name_that_begins_with_a_digit():
    """An alias helps, and the reason says so."""
    with pytest.raises(Untranslatable, match="alias"):
        translated("3d__t", "", {"type": "object", "properties": {}}, "gemini")


def test_references_that_grow_without_end_cannot_be_translated():
    """Each doubles the one before; only gemini has to see them written out (H40)."""
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for index in range(1, 30):
        two = {name: {"$ref": f"#/$defs/d{index - 1}"} for name in "ab"}
        defs[f"d{index}"] = {"type": "object", "properties": two}
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/d29"}}, "$defs": defs}
    with pytest.raises(Untranslatable, match="too large for gemini"):
        form(schema, "gemini")
    assert form(schema, "openai").parameters == schema


def test_an_all_of_that_contains_itself_cannot_be_translated():
    """It has no end."""
    ring = {"allOf": [{"$ref": "#/$defs/ring"}]}
    schema = {"type": "object", "properties": {"p": ring}, "$defs": {"ring": ring}}
    with pytest.raises(Untranslatable):
        form(schema, "gemini")


def test_what_a_profile_changes_or_refuses_is_told_for_a_test_of_a_server():
    """One line for each profile, none for what it takes as it is."""
    tool = RemoteTool("t", "x" * 2000, {"type": "object", "properties": {"a b": {}}})
    told = {one.profile: one for one in (translation(tool, "s__t", p) for p in PROFILES)}
    assert told["openai"].changes
    assert not told["openai"].refused
    assert "'a b'" in told["anthropic"].changes[0]
    bad = translation(RemoteTool("t", "", {"type": "array"}), "s__t", "openai")
    assert "not object" in bad.refused


@pytest.mark.parametrize(
    ("model", "url", "profile"),
    [
        ("gpt-5.1", "", "openai"),
        ("anything", "https://api.openai.com/v1", "openai"),
        ("anything", "https://mine.openai.azure.com/x", "openai"),
        ("claude-x", "http://localhost:4000", "anthropic"),
        ("m", "https://api.anthropic.com/v1", "anthropic"),
        ("google/gemini-3", "https://openrouter.ai/api/v1", "gemini"),
        ("m", "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini"),
        ("openai/gpt-5", "https://openrouter.ai/api/v1", "openai"),
        ("qwen3", "http://localhost:11434/v1", "generic"),
        ("m", "https://evilopenai.com.example/v1", "generic"),
    ],
)
def test_address_and_name_of_a_model_decide_its_profile(model: str, url: str, profile: str):
    """Generic in doubt."""
    assert profile_of(model, url) == profile


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema within one for gemini."""
    yield schema
    for part in schema.get("properties", {}).values():
        yield from nodes(part)
    if "items" in schema:
        yield from nodes(schema["items"])
    for part in schema.get("anyOf", ()):
        yield from nodes(part)


SHAPES = st.dictionaries(
    KEYS | st.sampled_from(["oneOf", "const", "format", "minimum", "description", "nullable"]),
    VALUES,
    max_size=6,
)


@given(SHAPES)
def test_whatever_a_schema_is_gemini_gets_its_subset_or_a_reason(schema: dict[str, Any]):
    """Known keywords and formats, one type, objects with properties, arrays with items (H40)."""
    before = copy.deepcopy(schema)
    try:
        found = form(schema, "gemini").parameters
    except Untranslatable:
        return
    finally:
        assert schema == before
    assert found["type"] == "object"
    for index, node in enumerate(nodes(found)):
        assert node.keys() <= KEPT
        if "anyOf" in node:
            assert node.keys() == {"anyOf"}
            continue
        kind = node["type"]
        assert kind in {"string", "integer", "number", "boolean", "object", "array"}
        assert set(node.get("required", ())) <= set(node.get("properties", ()))
        if kind == "object" and index:
            assert node["properties"]
        if kind == "array":
            assert node["items"]
        if "enum" in node:
            assert kind == "string"
            assert all(isinstance(value, str) and value for value in node["enum"])
        if "format" in node:
            assert node["format"] in FORMATS[kind]


@given(SHAPES, st.sampled_from(JSON_PROFILES))
def test_whatever_a_schema_is_every_change_has_a_name(schema: dict[str, Any], profile: Profile):
    """Deep-equal unless a named transform ran (H42)."""
    try:
        sound = lowered(schema)
        found = translated("a__t", "", sound.parameters, profile)
    except Untranslatable:
        return
    assert found.parameters == schema or sound.changes or found.changes
