"""Every value of a script is checked: what is wrong, on which line, and what to write."""

import pytest

from hub.core.errors import ScriptFileError
from hub.models.script.file import TURN_KEYS, parse_scripts, scripts_from
from hub.models.script.wire import WIRE_KEYS, Cut, Stall, Wire

TURN = "script: 1\nturns:\n  - text: a\n    "
CALL = "script: 1\nturns:\n  - calls:\n      - tool: x\n        "
WIRE = "script: 1\nturns:\n  - text: a\n    wire:\n      "


def fault(text: str) -> ScriptFileError:
    with pytest.raises(ScriptFileError) as caught:
        parse_scripts(text, "demo.yaml")
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("text: true", ["a text", "quotes"]),
        ("reasoning: [a]", ["a text", "a list"]),
        ("when: [a]", ["when", "a list"]),
        ("until: {a: 1}", ["until", "a mapping"]),
        ("repeat: -1", ["at least 0"]),
        ("repeat: 1.5", ["whole number"]),
        ("repeat: true", ["whole number"]),
        ("calls: x", ["must be a list"]),
        ("optional: maybe", ["true or false"]),
        ("usage: 5", ["usage", "mapping"]),
        ("usage: {input_token: 5}", ["'input_token'", "'input_tokens'"]),
        ("usage: {input_tokens: five}", ["whole number"]),
        ("finish: stopp", ["'stop'"]),
        ("set: [a]", ["set", "mapping"]),
        ("set: {last: 1}", ["'last'", "meaning"]),
        ("set: {'not': 1}", ["'not'"]),
        ("set: {a-b: 1}", ["'a-b'", "letters"]),
        ("set: {1: 1}", ["no text"]),
        ("expect: [a]", ["expect", "mapping"]),
        ("expect: {tools_includes: a}", ["'tools_include'"]),
        ("expect: {prompt_contains: 5}", ["a text or a list of texts"]),
        ("expect: {that: [x]}", ["that", "a list"]),
        ("wire: 5", ["wire", "mapping"]),
        ("wire: [a]", ["wire", "mapping"]),
        ("wire: {stal: 1}", ["'stal'", "'stall'"]),
        ("text: again", ["'text'", "twice"]),
    ],
)
def test_a_wrong_value_of_a_turn_names_its_own_line(text, words):
    """The line of the key, not that of the turn."""
    error = fault(TURN + text.replace("text: true", "reasoning: true"))
    assert error.where.startswith("demo.yaml:4")
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("args: 5", ["args", "mapping", "raw_args"]),
        ("args: [1]", ["args", "a list"]),
        ("raw_args: {a: 1}", ["a text"]),
        ("id: [1]", ["a text"]),
        ("for_each: {a: 1}", ["a list or an expression"]),
        ("as: a b", ["'a b'"]),
        ("as: index", ["'index'"]),
        ("tools: y", ["'tool'"]),
    ],
)
def test_a_wrong_value_of_a_call_names_its_own_line(text, words):
    """As for turns."""
    error = fault(CALL + text)
    assert error.where == "demo.yaml:5"
    for word in words:
        assert word in str(error)


def test_a_call_has_one_kind_of_arguments_and_a_tool():
    """Both would leave open which is meant."""
    assert "either args or raw_args" in str(fault(CALL + "args: {}\n        raw_args: x"))
    assert "needs the name" in str(fault("script: 1\nturns:\n  - calls: [{tool: ''}]"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fault: 503", ["fault", "mapping"]),
        ("fault: {}", ["status: 503"]),
        ("fault: {status: 700}", ["100 to 599"]),
        ("fault: {status: 503, times: 0}", ["at least 1"]),
        ("fault: {status: 503, headers: [a]}", ["mapping"]),
        ("fault: {status: 503, retry: 1}", ["'retry'"]),
        ("stall: {after: soon}", ["whole number"]),
        ("stall: {seconds: -1}", ["seconds"]),
        ("stall: {keep_alive: 1}", ["keep_alive"]),
        ("close: {after: -1}", ["at least 0"]),
        ("close: 3", ["mapping"]),
        ("chunks: x", ["a list"]),
        ("raw: [5]", ["hex"]),
        ("raw: [{hex: 10}]", ["hex"]),
        ("raw: [{hex: 'zz'}]", ["hexadecimal"]),
        ("deltas: many", ["whole number"]),
        ("delta_size: 0", ["at least 1"]),
        ("batch: 0", ["at least 1"]),
        ("comments: x", ["whole number"]),
        ("crlf: 1", ["true or false"]),
        ("done: 'no'", ["true or false"]),
        ("content_type: [a]", ["a text"]),
        ("framing: none", ["chunked", "close"]),
    ],
)
def test_a_wrong_fault_of_the_wire_names_its_own_line(text, words):
    """A misspelt fault would make a test pass that shows nothing."""
    error = fault(WIRE + text)
    assert error.where == "demo.yaml:5"
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("script: true\nturns: [{text: a}]", 1, ["script: 1"]),
        ("script: 1\nvars: [a]\nturns: [{text: a}]", 2, ["vars", "mapping"]),
        ("script: 1\nvars: {results: 1}\nturns: [{text: a}]", 2, ["'results'"]),
        ("script: 1\nagents: {}", 2, ["at least one agent"]),
        ("script: 1\nagents: [a]", 2, ["agents", "mapping"]),
        ("script: 1\nagents:\n  a:", 3, ["turns must be a list"]),
        ("script: 1\nagents:\n  a: {match: x, turns: [{text: a}]}", 3, ["match", "mapping"]),
        ("script: 1\nagents:\n  a: {match: {modell: x}, turns: [{text: a}]}", 3, ["'model'"]),
        ("script: 1\nagents:\n  a: {match: {header: x}, turns: [{text: a}]}", 3, ["header"]),
        ("script: 1\nagents:\n  a: {match: {system_contains: 5}, turns: []}", 3, ["list of texts"]),
        ("script: 1\nturns: [{text: a}]\nagents: {a: {turns: [{text: b}]}}", 2, ["either"]),
        ("script: 1\nturns: []\nturns: []", 3, ["'turns'", "twice"]),
        ("script: 1\n? [a]\n: b", 2, ["plain text"]),
        ("script: !!python/object:os.system x", 1, ["broken YAML"]),
        ("script: 1\nturns: &a [*a]", 2, ["broken YAML"]),
        ("script: 1\nturns:\n  - text: \x07", 3, ["broken YAML"]),
        ("[" * 3000, 1, ["nested too deeply"]),
        ("", 1, ["mapping", "nothing"]),
    ],
)
def test_a_fault_outside_of_the_turns_names_its_line(text, line, words):
    """Also what YAML itself refuses."""
    error = fault(text)
    assert (error.where + ":").startswith(f"demo.yaml:{line}:") or error.where == "demo.yaml"
    for word in words:
        assert word in str(error)


def test_dates_stay_text_and_merged_keys_may_be_overridden():
    """YAML would make a date that JSON cannot hold."""
    [script] = parse_scripts(
        "script: 1\nvars: &v {a: 2026-01-02, b: 1}\nturns:\n  - {text: x, set: {<<: *v, b: 2}}\n"
    )
    assert script.vars == {"a": "2026-01-02", "b": 1}
    assert script.turns[0].set == {"a": "2026-01-02", "b": 2}


def test_numbers_are_read_as_text_where_text_is_meant():
    """``text: 5`` says 5."""
    [script] = scripts_from({"script": 1, "turns": [{"text": 5, "when": True, "until": 0.5}]})
    assert (script.turns[0].text, script.turns[0].when, script.turns[0].until) == (
        "5",
        "True",
        "0.5",
    )


def test_a_fault_in_data_without_lines_names_the_first_line():
    """A test's own data has none."""
    with pytest.raises(ScriptFileError) as caught:
        scripts_from({"script": 1, "turns": [{"text": "a", "wen": "b"}]}, "mine")
    assert caught.value.where == "mine:1"


def test_what_stands_under_wire_is_read_into_plain_values():
    """Every key."""
    [script] = parse_scripts(
        "script: 1\nturns:\n  - wire:\n"
        "      fault: {status: 429, headers: {Retry-After: 3}, body: {a: 1}, times: 2}\n"
        "      stall: {after: 2, name: n, seconds: 1, keep_alive: 0.5}\n"
        "      close: {after: 1, bytes: 4}\n"
        "      chunks: [{a: 1}]\n"
        "      raw: [x, {hex: 'f09f'}]\n"
        "      deltas: 3\n      delta_size: 4\n      batch: 5\n      comments: 6\n"
        "      crlf: true\n      done: false\n      content_type: null\n      framing: close\n"
    )
    wire = script.turns[0].wire
    assert wire is not None
    assert wire.fault is not None
    assert (wire.fault.status, wire.fault.headers, wire.fault.times) == (
        429,
        {"Retry-After": "3"},
        2,
    )
    assert wire.stall == Stall(2, "n", 1.0, 0.5)
    assert wire.close == Cut(1, 4)
    assert (wire.chunks, wire.raw) == (({"a": 1},), (b"x", b"\xf0\x9f"))
    assert (wire.deltas, wire.delta_size, wire.batch, wire.comments) == (3, 4, 5, 6)
    assert (wire.crlf, wire.done, wire.content_type, wire.until_closed) == (True, False, None, True)
    assert len(WIRE_KEYS) == len(Wire.__struct_fields__)
    assert set(TURN_KEYS) == set(type(script.turns[0]).__struct_fields__) - {"line"}
