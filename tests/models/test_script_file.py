"""The script format: what is accepted, and that each fault names its file and line."""

import pytest

from hub.core.errors import ScriptFileError
from hub.models.script.file import load_scripts, parse_scripts, scripts_from


def fault(text: str) -> ScriptFileError:
    with pytest.raises(ScriptFileError) as caught:
        parse_scripts(text, "demo.yaml")
    return caught.value


def test_a_single_script_is_one_agent_without_a_name():
    """Turns and calls know their lines."""
    [script] = parse_scripts(
        "script: 1\nvars: {n: 2}\nturns:\n  - text: a\n  - calls:\n      - {tool: x__y}\n", "f.yaml"
    )
    assert (script.name, script.vars) == ("", {"n": 2})
    assert [turn.line for turn in script.turns] == [4, 5]
    assert script.turns[1].calls[0].line == 6
    assert script.place(4) == "f.yaml:4"


def test_several_agents_share_variables_and_add_their_own():
    """An agent's own variable wins."""
    scripts = scripts_from({
        "script": 1,
        "vars": {"a": 1, "b": 1},
        "agents": {
            "lead": {"match": {"system_contains": "You lead"}, "turns": [{"text": "x"}]},
            "child": {"vars": {"b": 2}, "turns": [{"text": "y"}]},
        },
    })
    assert [(s.name, s.vars) for s in scripts] == [
        ("lead", {"a": 1, "b": 1}),
        ("child", {"a": 1, "b": 2}),
    ]
    assert scripts[0].match == {"system_contains": ("You lead",)}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("turns: [{text: a}]", 1, ["version 1", "script: 1"]),
        ("script: 2\nturns: [{text: a}]", 1, ["version 1"]),
        ("script: 1", 1, ["either turns or agents"]),
        ("script: 1\nturns: []", 2, ["at least one turn"]),
        ("script: 1\nturns:\n  - text: a\n  - txet: b", 4, ["'txet'", "'text'"]),
        ("script: 1\nturns:\n  - calls: [{args: {}}]", 3, ["name of its tool"]),
        ("script: 1\nturns:\n  - calls: {tool: x}", 3, ["must be a list"]),
        ("script: 1\nturns:\n  - calls: [{tool: x, arg: {}}]", 3, ["'arg'", "'args'"]),
        ("script: 1\nturns:\n  - {text: a, finish: never}", 3, ["'never'", "length"]),
        ("script: 1\nturns:\n  - {text: a, expect: {tool: x}}", 3, ["'tool'"]),
        ("script: 1\nturns:\n  - {when: x}", 3, ["needs text"]),
        ("script: 1\nturns:\n  - just text", 2, ["mapping"]),
        ("script: 1\nturns: {a: 1}", 2, ["list"]),
        ("script: 1\nagents:\n  a:\n    turns: [{text: x}]\n    matsch: {}", 5, ["'matsch'"]),
        ("- a\n- b", 1, ["mapping"]),
    ],
)
def test_each_fault_names_its_place_and_what_to_write(text, line, words):
    """File, line, key, and the nearest known key."""
    error = fault(text)
    assert error.where == f"demo.yaml:{line}"
    for word in words:
        assert word in str(error)


def test_broken_yaml_names_line_and_column():
    """The parser's place is kept."""
    assert fault("script: 1\nturns: [\n  a: b: c").where.startswith("demo.yaml:3:")


def test_a_missing_file_and_a_binary_file_are_named(tmp_path):
    """Not a traceback."""
    with pytest.raises(ScriptFileError, match="cannot be read"):
        load_scripts(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScriptFileError, match="UTF-8"):
        load_scripts(tmp_path / "b.yaml")


def test_a_byte_order_mark_is_accepted(tmp_path):
    """Editors write it."""
    path = tmp_path / "s.yaml"
    path.write_text("\ufeffscript: 1\nturns: [{text: a}]", encoding="utf-8")
    assert len(load_scripts(path)) == 1
