"""From settings to a model: entries, bare names, scripts, keys."""

from pathlib import Path
from typing import Any

import pytest

from hub.config.models import model_spec
from hub.core.errors import ConfigError
from hub.core.modelspec import ModelSpec
from hub.core.team import Origin

KEY = {"OPENAI_API_KEY": "sk-default"}


def spec(place: Any, name: str | None = None, **how: Any) -> ModelSpec:
    found = model_spec(place.load(**how), name)
    assert isinstance(found, ModelSpec)
    return found


def test_a_bare_name_goes_to_the_default_endpoint(place: Any) -> None:
    """OPENAI_API_KEY and OPENAI_BASE_URL are the ones of the SDK."""
    env = {**KEY, "OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "HUB_MODEL": "gpt-x"}
    found = spec(place, env=env)
    assert (found.name, found.model) == ("gpt-x", "gpt-x")
    assert (found.base_url, found.api_key) == ("http://127.0.0.1:1/v1", "sk-default")


def test_an_entry_gives_all_that_it_says(place: Any) -> None:
    """References are resolved now, not when the file was read."""
    place.user(
        "model: fast\n"
        "models:\n"
        "  fast:\n"
        "    model: real-name\n"
        "    base_url: https://h.test/v1\n"
        "    api_key: ${env:FAST_KEY}\n"
        "    headers: {X-Team: 'a ${env:TEAM}'}\n"
        "    context_window: 1000\n"
        "    max_output_tokens: 100\n"
        "    max_retries: 0\n"
        "    connect_timeout: 1\n"
        "    idle_timeout: 2.5\n"
        "    temperature: 0\n"
        "    extra_body: {seed: 7, deep: {a: [1]}}\n"
    )
    found = spec(place, env={"FAST_KEY": "sk-fast", "TEAM": "red", **KEY})
    assert found == ModelSpec(
        name="fast",
        model="real-name",
        base_url="https://h.test/v1",
        api_key="sk-fast",
        context_window=1000,
        max_output_tokens=100,
        headers={"X-Team": "a red"},
        max_retries=0,
        connect_timeout=1.0,
        idle_timeout=2.5,
        temperature=0.0,
        extra_body={"seed": 7, "deep": {"a": [1]}},
    )
    assert "sk-fast" not in repr(found)
    assert "red" not in repr(found)


def test_the_default_key_is_never_sent_to_an_endpoint_of_its_own(place: Any) -> None:
    """An entry with a base_url gets the key that it names, or none."""
    place.user("models:\n  own: {base_url: 'http://127.0.0.1:8080/v1'}\n  bare: {}\n")
    assert spec(place, "own", env=KEY).api_key == ""
    assert spec(place, "bare", env=KEY).api_key == "sk-default"


def test_a_missing_variable_names_key_file_line_and_remedy(place: Any) -> None:
    """The message is all that a user needs."""
    path = place.user("models:\n  a.b:\n    base_url: https://h.test\n    api_key: ${env:NOPE}\n")
    with pytest.raises(ConfigError) as caught:
        spec(place, "a.b")
    assert caught.value.where == f'{path}:4 (models."a.b".api_key)'
    assert caught.value.message == "the environment variable NOPE is not set"
    assert "export NOPE=" in caught.value.remedy


def test_a_reference_of_another_kind_is_refused(place: Any) -> None:
    """It must not be sent as if it were a key."""
    place.user("models:\n  a: {base_url: 'https://h.test', api_key: '${file:x}'}\n")
    with pytest.raises(ConfigError, match="not supported by this version"):
        spec(place, "a")


def test_no_model_at_all_says_the_three_ways_and_the_one_without_a_model(place: Any) -> None:
    """The first thing that a new user sees."""
    with pytest.raises(ConfigError) as caught:
        spec(place)
    for word in ("HUB_MODEL", "model:", "--model", "script:"):
        assert word in str(caught.value)


def test_a_model_without_any_key_names_the_variable(place: Any) -> None:
    """Where the model was named is said as well."""
    path = place.user("role: lead\nmodel: gpt-x\nmodels: {other: {}}\n")
    with pytest.raises(ConfigError) as caught:
        spec(place)
    assert caught.value.where == f"{path}:2"
    assert "OPENAI_API_KEY is not set" in caught.value.message
    assert "The entries of 'models' are: other." in caught.value.remedy


def test_an_endpoint_of_ones_own_may_need_no_key(place: Any) -> None:
    """Local servers rarely do."""
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    assert spec(place, "local", env=env).api_key == ""


def test_a_script_is_found_from_where_it_is_named(place: Any) -> None:
    """From a file: beside the file. From a flag or variable: in the current folder."""
    by_user = place.write(place.user_file.parent / "a.yaml", "x")
    by_project = place.write(place.project_file.parent / "a.yaml", "x")
    in_cwd = place.write(place.project / "a.yaml", "x")
    place.user("model: script:a.yaml\n")
    assert model_spec(place.load()) == f"script:{by_user}"
    place.shared("model: script:a.yaml\n")
    assert model_spec(place.load()) == f"script:{by_project}"
    assert model_spec(place.load(env={"HUB_MODEL": "script:a.yaml"})) == f"script:{in_cwd}"
    flags = {"model": ("script:./a.yaml", "--model")}
    assert model_spec(place.load(flags=flags)) == f"script:{in_cwd}"
    assert model_spec(place.load(), f"script:{by_user}") == f"script:{by_user}"


def test_a_script_that_a_role_names_is_found_beside_the_role(place: Any, tmp_path: Path) -> None:
    """The caller says who named it."""
    script = place.write(tmp_path / "roles" / "s.yaml", "x")
    origin = Origin("user", str(tmp_path / "roles" / "lead.md"), 2)
    assert model_spec(place.load(), "script:s.yaml", origin=origin) == f"script:{script}"


def test_a_script_that_does_not_exist_is_told_with_its_whole_path(place: Any) -> None:
    """And with the line that names it."""
    path = place.shared("model: script:gone.yaml\n")
    with pytest.raises(ConfigError) as caught:
        model_spec(place.load())
    assert str(path.parent / "gone.yaml") in caught.value.message
    assert caught.value.where == f"{path}:1"
