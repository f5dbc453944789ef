"""Layers of settings: order, merging, origins and what is shadowed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.config.merge import Leaf
from hub.core.errors import ConfigError
from hub.core.limits import Limits


def origins(leaves: Mapping[str, Leaf], key: str) -> list[str]:
    leaf = leaves[key]
    return [str(leaf.origin), *(str(hidden.origin) for hidden in leaf.shadowed)]


def test_without_any_file_the_defaults_hold_and_nothing_is_created(place: Any) -> None:
    """Loading writes nothing and needs nothing."""
    loaded = place.load()
    assert loaded.settings.model is None
    assert loaded.settings.role == "lead"
    assert loaded.limits() == Limits()
    assert list(loaded.settings.servers) == ["files", "shell", "notes"]
    assert loaded.origin("role").layer == "default"
    assert not place.paths.state.exists()
    assert not place.paths.config.exists()


def test_each_layer_beats_the_ones_below_it_and_remembers_what_it_hides(place: Any) -> None:
    """The order is user, project, local, named file, environment, --set, flag."""
    user = place.user("model: of-user\n")
    shared = place.shared("role: lead\nmodel: of-project\n")
    local = place.local("model: of-local\n")
    named = place.write(place.project / "extra.yaml", "\n\nmodel: of-file\n")
    loaded = place.load(
        env={"HUB_MODEL": "of-env"},
        sets=("model=of-set",),
        flags={"model": ("of-flag", "--model")},
        file=Path("extra.yaml"),
    )
    assert loaded.settings.model == "of-flag"
    assert origins(loaded.origins, "model") == [
        "--model",
        "HUB_MODEL",
        f"{named}:3",
        f"{local}:1",
        f"{shared}:2",
        f"{user}:1",
        "default",
    ]


def test_maps_merge_per_key_and_scalars_override(place: Any) -> None:
    """An entry may be written in one layer and adjusted in another."""
    user = place.user("models:\n  fast:\n    model: a\n    headers: {X-A: one, X-B: two}\n")
    shared = place.shared("models:\n  fast:\n    headers:\n      X-B: three\n  slow: {}\n")
    loaded = place.load()
    assert loaded.settings.models["fast"].headers == {"X-A": "one", "X-B": "three"}
    assert loaded.settings.models["fast"].model == "a"
    assert loaded.settings.models["slow"].model == ""
    assert str(loaded.origin("models.fast.headers.X-A")) == f"{user}:4"
    assert origins(loaded.origins, "models.fast.headers.X-B") == [f"{shared}:4", f"{user}:4"]


def test_permission_rules_of_all_layers_add_up_each_with_its_line(place: Any) -> None:
    """No layer can take back a rule of another."""
    user = place.user("permissions:\n  deny:\n    - shell__run\n  allow: [files__read]\n")
    shared = place.shared("permissions:\n  deny: [files__write]\n")
    loaded = place.load(env={"HUB_PERMISSIONS__DENY": "[notes__memory]"})
    assert loaded.settings.permissions.deny == ("shell__run", "files__write", "notes__memory")
    assert [(rule.effect, rule.pattern, str(rule.origin)) for rule in loaded.rules()] == [
        ("deny", "shell__run", f"{user}:3"),
        ("allow", "files__read", f"{user}:4"),
        ("deny", "files__write", f"{shared}:2"),
        ("deny", "notes__memory", "HUB_PERMISSIONS__DENY"),
    ]


def test_absent_is_not_null(place: Any) -> None:
    """A null sets a value to null; a key that is absent leaves what is below."""
    place.user("limits:\n  steps: 7\n  tokens: 1000\n")
    place.shared("limits:\n  steps: null\n")
    loaded = place.load()
    assert loaded.settings.limits.steps is None
    assert loaded.settings.limits.tokens == 1000
    assert loaded.settings.limits.tool_calls == 500


def test_a_section_that_was_left_empty_changes_nothing(place: Any) -> None:
    """All lines below ``servers:`` may be comments."""
    place.user("servers:\n#  git: {}\npermissions:\nmodels:\n  fast:\n")
    loaded = place.load()
    assert list(loaded.settings.servers) == ["files", "shell", "notes"]
    assert loaded.settings.models["fast"].model == ""


def test_an_empty_settings_file_is_fine(place: Any) -> None:
    """A file of comments alone holds nothing."""
    place.user("# nothing yet\n")
    assert place.load().settings.role == "lead"


def test_variables_nest_by_double_underscores_and_are_read_by_type(place: Any) -> None:
    """Text stays text, even where YAML would see a number or a boolean."""
    loaded = place.load(
        env={
            "HUB_MODEL": "5.10",
            "HUB_ROLE": "on",
            "HUB_LIMITS__STEPS": "12",
            "HUB_LIMITS__TOKENS": "null",
            "HUB_CLAUDE_AGENTS": "true",
            "HUB_MODELS__FAST__MAX_RETRIES": "0",
            "HUB_STATE_DIR": "/somewhere",
            "HUB_ROLE_": "",
        }
    )
    settings = loaded.settings
    assert (settings.model, settings.role, settings.claude_agents) == ("5.10", "on", True)
    assert settings.limits.steps == 12
    assert settings.limits.tokens is None
    assert settings.models["fast"].max_retries == 0
    assert str(loaded.origin("limits.steps")) == "HUB_LIMITS__STEPS"


def test_an_empty_variable_counts_as_not_set(place: Any) -> None:
    """``HUB_MODEL= hub run`` is how shells take a variable away."""
    place.user("model: mine\n")
    assert place.load(env={"HUB_MODEL": ""}).settings.model == "mine"


def test_a_mistyped_variable_is_told_and_a_strange_one_is_ignored(place: Any) -> None:
    """Other programs have variables that begin with HUB_ as well."""
    loaded = place.load(env={"HUB_MODLE": "x", "HUB_PROTOCOL_QUX": "https"})
    assert loaded.notices == (
        "The environment variable HUB_MODLE is no setting. Did you mean HUB_MODEL?",
    )


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("HUB_LIMTS__STEPS", "HUB_LIMITS__STEPS"),
        ("HUB_LIMTS__STEP", "HUB_LIMITS__STEPS"),
        ("HUB_PERMISION__MOED", "HUB_PERMISSIONS__MODE"),
        ("HUB_SERVER__GIT__COMAND", "HUB_SERVERS__GIT__COMMAND"),
        ("HUB_LIMTS__XYZ", "HUB_LIMITS"),
    ],
)
def test_a_mistyped_variable_is_told_with_the_whole_right_name(
    place: Any, wrong: str, right: str
) -> None:
    """What is told can be typed."""
    assert place.load(env={wrong: "3"}).notices == (
        f"The environment variable {wrong} is no setting. Did you mean {right}?",
    )


def test_a_variable_of_a_section_that_has_no_such_key_is_an_error_with_the_right_name(
    place: Any,
) -> None:
    """The section is ours, so this is surely a mistake."""
    with pytest.raises(ConfigError) as caught:
        place.load(env={"HUB_LIMITS__STEP": "3"})
    assert caught.value.message == "there is no setting limits.step"
    assert caught.value.where == "HUB_LIMITS__STEP (limits.step)"
    assert caught.value.remedy == "Did you mean HUB_LIMITS__STEPS?"
    with pytest.raises(ConfigError, match="unknown key 'zzz'"):
        place.load(env={"HUB_LIMITS__ZZZ": "3"})


def test_a_flag_that_was_not_given_decides_nothing(place: Any) -> None:
    """None is absent, an empty text and false are values."""
    place.user("claude_agents: true\nrole: worker\n")
    loaded = place.load(
        flags={"model": (None, "--model"), "claude_agents": (False, "--no-claude-agents")}
    )
    assert loaded.settings.model is None
    assert loaded.settings.claude_agents is False
    assert loaded.settings.role == "worker"


def test_set_takes_dotted_keys_with_quotes_for_names_that_hold_dots(place: Any) -> None:
    """A value is YAML, except where text is expected."""
    loaded = place.load(
        sets=(
            'models."gpt-5.1".context_window=1000',
            "limits.seconds=1.5",
            "servers.git.args=[a, b]",
            "servers.git.command=run=fast",
        )
    )
    assert loaded.settings.models["gpt-5.1"].context_window == 1000
    assert loaded.settings.limits.seconds == 1.5
    assert loaded.settings.servers["git"].args == ("a", "b")
    assert loaded.settings.servers["git"].command == "run=fast"
    assert loaded.origin('models."gpt-5.1".context_window').path.startswith("--set models.")


@pytest.mark.parametrize("text", ["limits.steps", "=5", "limits..steps=5", 'limits."steps=5'])
def test_a_set_that_is_no_assignment_is_refused(place: Any, text: str) -> None:
    """The message shows how one looks."""
    with pytest.raises(ConfigError, match="--set key=value"):
        place.load(sets=(text,))


def test_bounds_that_somebody_chose_are_told_apart_from_defaults(place: Any) -> None:
    """A role may replace a default bound, but only tighten a chosen one."""
    place.user("limits: {tokens: 1000, steps: 100}\n")
    assert place.load().chosen_limits() == {"tokens", "steps"}


def test_an_anchor_may_be_used_again_in_the_same_file(place: Any) -> None:
    """Aliases and merge keys are read."""
    place.user(
        "models:\n  a: &base\n    max_retries: 1\n    idle_timeout: 9\n"
        "  b:\n    <<: *base\n    max_retries: 2\n"
    )
    models = place.load().settings.models
    assert (models["b"].max_retries, models["b"].idle_timeout) == (2, 9)
