"""Wrong settings: each message says what, where and what to do."""

from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import ConfigError


def error_of(place: Any, **how: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        place.load(**how)
    return caught.value


def test_an_unknown_key_is_named_with_line_and_the_nearest_name(place: Any) -> None:
    """The where holds file, line and dotted key."""
    path = place.shared("role: lead\nmodle: x\n")
    error = error_of(place)
    assert error.message == "unknown key 'modle'"
    assert error.where == f"{path}:2 (modle)"
    assert error.remedy == "Did you mean 'model'?"
    assert error.exit_code == 2


def test_an_unknown_key_like_nothing_else_lists_what_is_known(place: Any) -> None:
    """Inside of an entry, the keys of entries are offered."""
    path = place.shared("models:\n  fast:\n    zzz: 1\n")
    error = error_of(place)
    assert error.where == f"{path}:3 (models.fast.zzz)"
    assert "base_url" in error.remedy


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("limits:\n  steps: many\n", "limits.steps", "expected a whole number, got 'many'"),
        ("limits:\n  steps: '5'\n", "limits.steps", "expected a whole number, got '5'"),
        ("limits:\n  steps: 0\n", "limits.steps", "expected at least 1, got 0"),
        ("limits:\n  steps: true\n", "limits.steps", "expected a whole number, got True"),
        ("limits:\n  seconds: .inf\n", "limits.seconds", "expected a finite number, got inf"),
        ("limits:\n  seconds: 0\n", "limits.seconds", "expected more than 0, got 0"),
        ("limits: 5\n", "limits", "expected a mapping, got 5"),
        ("claude_agents: 'yes'\n", "claude_agents", "expected true or false, got 'yes'"),
        ("models: [a]\n", "models", "expected a mapping, got a list"),
        ("permissions:\n  allow: x\n", "permissions.allow", "expected a list, got 'x'"),
        ("servers:\n  a: {command: [x]}\n", "servers.a.command", "expected text, got a list"),
        ("servers:\n  a: {command: }\n", "servers.a.command", "expected text, got nothing"),
    ],
)
def test_a_wrong_type_is_told_with_the_value_and_what_was_expected(
    place: Any, text: str, key: str, message: str
) -> None:
    """Types are strict: text is no number and a number is no boolean."""
    path = place.shared(text)
    error = error_of(place)
    assert error.message == message
    line = text.rstrip().count("\n") + 1
    assert error.where == f"{path}:{line} ({key})"


def test_a_mode_that_does_not_exist_lists_those_that_do(place: Any) -> None:
    """A literal says what it may be."""
    place.shared("permissions:\n  mode: yolo\n")
    error = error_of(place)
    assert "'plan'" in error.message
    assert "'yolo'" in error.message


def test_a_number_where_text_is_expected_is_answered_with_quotes(place: Any) -> None:
    """Ports and versions in ``env`` are the usual case; the value itself may be a secret."""
    place.shared("servers:\n  a:\n    command: x\n    env:\n      TOKEN: 8080\n")
    error = error_of(place)
    assert error.message == "expected text, got a number"
    assert error.remedy == "Put the value in quotes."


def test_broken_yaml_is_told_with_line_column_and_the_line_itself(place: Any) -> None:
    """What stands there saves opening the file."""
    path = place.shared("role: lead\nmodel: a: b\n")
    error = error_of(place)
    assert error.where == f"{path}:2:9"
    assert error.message.startswith("broken YAML: ")
    assert "model: a: b" in error.message


def test_all_problems_of_a_file_are_told_at_once(place: Any) -> None:
    """A syntax error hides neither a second one nor a wrong key."""
    path = place.shared(
        "limits: {steps: 5\nmodle: x\npermissions:\n  mode: bypass: now\nrole: lead\n"
    )
    text = str(error_of(place))
    assert "3 problems" in text
    assert f"{path}:4:15: broken YAML" in text
    assert f"{path}:2 (modle): unknown key" in text
    assert f"{path}:1:9: broken YAML" in text
    assert "  | limits: {steps: 5" in text


def test_problems_of_all_layers_are_told_at_once(place: Any) -> None:
    """One run of the command shows everything that has to be mended."""
    user = place.user("rol: lead\n")
    shared = place.shared("limits: {steps: no}\n")
    local = place.local("permissions: {allow: ['a b']}\n")
    text = str(error_of(place, env={"HUB_LIMITS__DEPTH": "-1"}, sets=("nonsense",)))
    for where in (
        f"{user}:1 (rol)",
        f"{shared}:1 (limits.steps)",
        f"{local}:1 (permissions",
        "HUB_LIMITS__DEPTH",
        "--set",
    ):
        assert where in text


def test_a_key_that_stands_twice_is_an_error(place: Any) -> None:
    """YAML itself would silently take the last."""
    path = place.shared("model: a\nrole: lead\nmodel: b\n")
    error = error_of(place)
    assert error.message == "the key 'model' stands here twice, first in line 1"
    assert error.where == f"{path}:3:1"


def test_a_settings_file_that_was_named_has_to_exist(place: Any) -> None:
    """Files that are looked for may be missing, a file that is asked for may not."""
    error = error_of(place, file=Path("missing.yaml"))
    assert error.where == str(place.project / "missing.yaml")
    assert "No such file" in error.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"model: \xff\n", "not UTF-8"),
        (b"#" * 1_000_001, "larger than"),
        (b"model: \x00\n", "broken YAML"),
        (b"- a\n- b\n", "'key: value' lines"),
        (b"[" * 50_000, "broken YAML"),
        (b"a: &a [*a]\n", "an alias stands inside"),
        (b"model: !!python/name:os.system\n", "is not supported"),
        (b"? [a]\n: b\n", "a key must be plain text"),
        (b"--- a\n--- b\n", "broken YAML"),
        (b"<<: 5\n", "only a mapping can be merged"),
    ],
)
def test_hostile_files_are_refused_with_a_message(place: Any, content: bytes, message: str) -> None:
    """A project's files come from strangers."""
    place.project_file.parent.mkdir()
    place.project_file.write_bytes(content)
    error = error_of(place)
    assert message in str(error)
    assert str(place.project_file) in str(error)


def test_aliases_that_unfold_without_end_are_refused(place: Any) -> None:
    """Nine levels of nine aliases would be 387 million values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    place.shared("\n".join(lines))
    assert "unfolds to more than 20,000 values" in str(error_of(place))


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(place: Any) -> None:
    """Editors on Windows write both."""
    place.project_file.parent.mkdir()
    place.project_file.write_bytes(b"\xef\xbb\xbfmodel: a\r\nrole: worker\r\n")
    loaded = place.load()
    assert (loaded.settings.model, loaded.settings.role) == ("a", "worker")
    assert loaded.origin("role").line == 2


def test_a_rule_over_arguments_is_refused_as_not_supported(place: Any) -> None:
    """Treating it as a rule over the tool would allow more than was written."""
    path = place.shared("permissions:\n  allow:\n    - shell__run(git *)\n")
    error = error_of(place)
    assert "speaks of arguments" in error.message
    assert error.where == f"{path}:3 (permissions.allow[0])"
    assert "'shell__run'" in error.remedy


def test_a_rule_that_is_no_pattern_is_refused(place: Any) -> None:
    """Spaces and slashes never occur in a tool's name."""
    place.shared("permissions: {deny: ['rm -rf /']}\n")
    assert "no pattern over tool names" in error_of(place).message


def test_an_unset_key_below_a_value_is_told(place: Any) -> None:
    """Two flags of which one replaces what the other fills."""
    error = error_of(place, sets=("limits=5", "limits.steps=5"))
    assert "limits is set as a whole already" in str(error)
