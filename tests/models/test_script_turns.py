"""What turns do with the values of a script: kinds, loops, conditions, what is left over."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hub.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hub.models.script.file import parse_scripts, scripts_from
from hub.models.script.player import MAX_ROUNDS, Played, Player, ScriptError

TEXT = "script: 1\nturns:\n"


def player(*turns: dict[str, Any], **variables: Any) -> Player:
    return Player(scripts_from({"script": 1, "vars": variables, "turns": list(turns)})[0])


def grown(
    messages: Sequence[Message], played: Played, results: Sequence[str] = ("ok",)
) -> list[Message]:
    """Return the conversation with an answer and the results of its calls."""
    found = [*messages, AssistantMessage(played.text or "-", played.calls)]
    for number, call in enumerate(played.calls):
        found.append(ToolMessage(call.id, call.name, results[number % len(results)]))
    return found


def start(task: str = "go") -> list[Message]:
    return [UserMessage(task)]


def args_of(value: Any, **variables: Any) -> Any:
    call = {"tool": "x", "args": {"v": value}}
    [made] = player({"calls": [call]}, **variables).play(start()).calls
    return json.loads(made.arguments)["v"]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ n }}", 5),
        ("{{- n -}}", 5),
        (" {{ n }} ", 5),
        ("{{ n }}{{ n }}", "55"),
        ("n: {{ n }}", "n: 5"),
        ("{{ {'a': {'b': n}} }}", {"a": {"b": 5}}),
        ("{{ '}}' }}", "}}"),
        ("{{ none }}", None),
        ("{{ [1, 2] | map('string') }}", ["1", "2"]),
        ("{{ {'a': 1}.keys() }}", ["a"]),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ word }}\n", "hello\n"),
        ("{{ word }} you\n", "hello you\n"),
        ("{% if n > 4 %}big{% endif %}", "big"),
        ("{% raw %}{{ n }}{% endraw %}", "{{ n }}"),
        ("{# nothing #}", ""),
        ("plain } text", "plain } text"),
        (["{{ n }}", {"{{ n }}": "{{ n }}"}], [5, {"{{ n }}": 5}]),
        (7, 7),
    ],
)
def test_a_value_keeps_its_kind_where_it_stands_alone(template, value):
    """A number stays a number, what passes by becomes a list, a text keeps its line end."""
    assert args_of(template, n=5, word="hello") == value


def test_what_is_said_is_text_without_the_last_line_end():
    """A block of YAML ends in one; nothing is said for nothing."""
    block = "  - text: |\n      one {{ 1 }}\n      two\n  - text: |\n      three\n"
    playing = Player(parse_scripts(TEXT + block)[0])
    first = playing.play(start())
    assert first.text == "one 1\ntwo"
    assert playing.play(grown(start(), first)).text == "three"
    assert player({"text": "{{ [1] }}"}).play(start()).text == "[1]"
    assert player({"text": "{{ none }}", "reasoning": "{{ 5 }}"}).play(start()).reasoning == "5"


def test_a_whole_mapping_of_arguments_may_come_from_an_expression():
    """``args: "{{ … }}"``."""
    playing = player({"calls": [{"tool": "x", "args": "{{ given }}"}]}, given={"a": 1})
    assert playing.play(start()).calls[0].arguments == '{"a": 1}'


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"tool": "x", "args": "{{ [1] }}"}, "args must come out as a mapping"),
        ({"tool": "x", "args": {"r": "{{ results }}"}}, None),
        ({"tool": "x", "args": {"n": "{{ (task | length) * 1e308 * 10 }}"}}, "JSON"),
        ({"tool": "x", "for_each": "5"}, "for_each must come out as a list, not 5"),
        ({"tool": "x", "for_each": "task"}, "for_each must come out as a list"),
        ({"tool": "x", "for_each": "none"}, "for_each must come out as a list, not null"),
        ({"tool": "x", "for_each": "nothing"}, "nothing"),
        ({"tool": "x", "when": "nothing"}, "nothing"),
        ({"tool": "{{ nothing }}"}, "nothing"),
    ],
)
def test_a_call_that_cannot_be_made_fails_with_its_own_line(call, words):
    """Not with that of the turn."""
    text = "script: 1\nturns:\n  - text: a\n    calls:\n      - " + json.dumps(call)
    playing = Player(parse_scripts(text, "f.yaml")[0])
    if words is None:
        assert playing.play(start()).calls[0].arguments == '{"r": []}'
        return
    with pytest.raises(ScriptError, match=words) as caught:
        playing.play(start())
    assert caught.value.where == "f.yaml:5"


def test_a_result_as_a_whole_is_no_argument():
    """Its fields are."""
    playing = player(
        {"calls": [{"tool": "x"}]}, {"calls": [{"tool": "x", "args": {"r": "{{ last }}"}}]}
    )
    with pytest.raises(ScriptError, match="take one of its fields"):
        playing.play(grown(start(), playing.play(start())))


def test_for_each_takes_a_list_of_templates():
    """Each item is filled in; ``index`` counts."""
    line = {
        "tool": "x",
        "for_each": ["{{ n }}", "b"],
        "args": {"i": "{{ item }}", "at": "{{ index }}"},
    }
    calls = player({"calls": [line]}, n=5).play(start()).calls
    assert [json.loads(call.arguments) for call in calls] == [
        {"i": 5, "at": 0},
        {"i": "b", "at": 1},
    ]


def test_ids_are_counted_by_answer_or_as_the_script_says():
    """So that no two calls of a conversation share one."""
    turn = {"calls": [{"tool": "x"}, {"tool": "x", "id": "mine-{{ turn_index }}"}], "repeat": 2}
    playing = player(turn)
    first = playing.play(start())
    second = playing.play(grown(start(), first))
    assert [call.id for call in (*first.calls, *second.calls)] == [
        *("call_0_0", "mine-0", "call_1_0", "mine-1"),
    ]


@pytest.mark.parametrize(("repeat", "times"), [("n", 2), ("{{ n }}", 2), ("n - 2", 0), (0, 0)])
def test_repeat_is_a_number_or_an_expression_with_or_without_braces(repeat, times):
    """Computed when the turn is first reached."""
    playing = player({"text": "again", "repeat": repeat}, {"text": "end"}, n=2)
    messages, said = start(), []
    for _ in range(times + 1):
        played = playing.play(messages)
        said.append(played.text)
        messages = grown(messages, played)
    assert said == ["again"] * times + ["end"]


def test_repeat_that_is_no_number_fails():
    """With the line of the turn."""
    with pytest.raises(ScriptError, match="repeat must come out as a number") as caught:
        player({"text": "a", "repeat": "task"}).play(start())
    assert caught.value.where == "script:1"


def test_a_condition_guards_the_number_of_repetitions():
    """What only makes sense where the condition holds is not looked at before."""
    playing = player({"text": "a", "when": "false", "repeat": "nothing"}, {"text": "b"})
    assert playing.play(start()).text == "b"


def test_a_filter_alone_is_a_condition():
    """``selectattr`` gives nothing for nothing, not a generator that always counts as true."""
    turn = {"text": "errors", "when": "results | selectattr('is_error')"}
    assert player(turn, {"text": "fine"}).play(start()).text == "fine"


def test_until_looks_at_the_latest_results_and_repeat_bounds_it():
    """At least once, at most so often."""
    turn = {"calls": [{"tool": "x"}], "until": "last[0].text == 'done'", "repeat": 3}
    for texts, times in ((["done"], 1), (["no", "done"], 2), (["no", "no", "no", "no"], 3)):
        playing, messages = player(turn, {"text": "end"}), start()
        for number in range(times):
            messages = grown(messages, playing.play(messages), [texts[number]])
        assert playing.play(messages).text == "end"


def test_a_silent_turn_can_compute_in_a_loop_and_one_without_end_fails():
    """``set`` with ``until``."""
    double = {"set": {"n": "{{ n * 2 }}"}, "until": "n > 100"}
    assert player(double, {"text": "{{ n }}"}, n=1).play(start()).text == "128"
    with pytest.raises(ScriptError, match="without ever saying anything"):
        player({"set": {"n": "1"}, "repeat": MAX_ROUNDS + 1}, {"text": "x"}).play(start())


def test_last_are_the_results_of_the_latest_calls_in_call_order():
    """Whatever order they came in, and also after an answer without calls."""
    playing = player(
        {"calls": [{"tool": "a"}, {"tool": "b"}]},
        {"text": "pause"},
        {"text": "{{ last | map(attribute='tool') | join(',') }} {{ last[0].text }}"},
    )
    first = playing.play(start())
    one, two = first.calls
    messages = [
        *start(),
        AssistantMessage("", first.calls),
        ToolMessage(two.id, "b", "second"),
        ToolMessage(one.id, "a", "first"),
        AssistantMessage("pause"),
        UserMessage("go on"),
    ]
    assert playing.play(messages).text == "a,b first"


def test_a_task_is_taken_apart_only_where_its_frames_close():
    """A user may write what looks like one."""
    see = {"text": "{{ task }}|{{ context }}|{{ files | join(',') }}"}
    for task, said in (
        ("t\n\n<files>\na\nb\n</files>", "t||a,b"),
        ("t\n\n<context>\nc\n\nd\n</context>", "t|c\n\nd|"),
        ("t\n\n<context>\nc\n</context>\n\n<files>\na\n</files>\n", "t|c|a"),
        ("t\n\n<context>\nc </context> x\n</context>", "t|c </context> x|"),
        ("t\n\n<context>\nopen", "t\n\n<context>\nopen||"),
        ("", "||"),
    ):
        assert player(see).play(start(task)).text == said


def test_of_two_branches_only_the_one_taken_is_asked_for():
    """The other one is not left over."""
    bad = {"text": "bad", "when": "last[0].text == 'bad'"}
    good = {"text": "good", "when": "last[0].text != 'bad'"}
    playing = player({"calls": [{"tool": "x"}]}, bad, good)
    messages = grown(start(), playing.play(start()), ["bad"])
    messages = grown(messages, playing.play(messages))
    assert playing.leftover(messages) == []


def test_repetitions_that_were_not_played_are_left_over():
    """By number, and as long as ``until`` is not true."""
    playing = player({"text": "a", "repeat": 2})
    messages = grown(start(), playing.play(start()))
    assert [turn.text for turn in playing.leftover(messages)] == ["a"]
    assert playing.leftover(grown(messages, playing.play(messages))) == []

    playing = player({"calls": [{"tool": "x"}], "until": "last[0].text == 'done'"})
    assert playing.leftover(grown(start(), playing.play(start()), ["no"]))
    assert playing.leftover(grown(start(), playing.play(start()), ["done"])) == []

    assert player({"text": "a", "repeat": 2, "optional": True}).leftover(messages) == []
    assert player({"text": "a", "repeat": 0}).leftover(start()) == []


def test_the_tools_on_offer_decide_the_same_when_the_position_is_found_again():
    """Also for a player that has not seen the conversation before."""
    turns = ({"text": "with", "when": "'t' in tools"}, {"text": "then"})
    messages = start()
    for text in ("with", "then"):
        played = player(*turns).play(messages, tools=["t"])
        assert played.text == text
        messages = grown(messages, played)
    assert player(*turns).play(start()).text == "then"
    playing = player({"text": "a"}, {"text": "b", "when": "'t' in tools"})
    messages = grown(start(), playing.play(start(), tools=["t"]))
    assert [turn.text for turn in playing.leftover(messages)] == ["b"]
    messages = grown(start(), playing.play(start("other"), tools=["u"]))


def test_expectations_take_lists_and_templates():
    """All of them have to hold; the first that does not is shown."""
    expect = {"prompt_contains": ["g", "{{ word }}"], "tools_include": "t"}
    assert player({"text": "a", "expect": expect}, word="o").play(start(), tools=["t"]).text == "a"
    with pytest.raises(ScriptError, match="'x' is not in 'go'"):
        player({"text": "a", "expect": expect}, word="x").play(start(), tools=["t"])


def test_an_agent_is_named_in_its_faults():
    """A file may have several."""
    agents = {"lead": {"turns": [{"text": "{{ nothing }}"}]}}
    [script] = scripts_from({"script": 1, "agents": agents}, "f.yaml")
    with pytest.raises(ScriptError, match="agent 'lead': 'nothing' is undefined") as caught:
        Player(script).play(start())
    assert caught.value.where == "f.yaml:1"


@pytest.mark.parametrize(
    "expression",
    [
        "''['__class__']",
        "'' | attr('__class__')",
        "'{0.__class__}'.format(1)",
        "'{0.__class__}'.format_map({'0': 1})",
        "cycler.__init__.__globals__",
        "lipsum.__globals__",
        "joiner.__class__",
        "namespace.__init__",
        "last.__class__",
        "results.append(1)",
        "vars.clear()",
        "numbers.append(1)",
        "task.__getattribute__('upper')",
        "(1).__class__.__base__",
        "self._TemplateReference__context",
        "[].__class__.__mro__[1].__subclasses__()",
        "range(10 ** 9)",
        "import os",
    ],
)
def test_the_sandbox_lets_no_expression_out(expression):
    """Neither private attributes nor changes of state nor huge ranges."""
    for template in ("{{ " + expression + " }}", "x {{ " + expression + " }}"):
        with pytest.raises(ScriptError):
            player({"text": template}, numbers=[1]).play(start())


def test_a_script_of_many_rounds_is_found_again_from_nothing():
    """Replay takes no memo; the memo changes no answer."""
    playing = player(
        {"calls": [{"tool": "x", "args": {"n": "{{ turn_index }}"}}], "repeat": 60}, {"text": "e"}
    )
    messages = start()
    for number in range(60):
        played = playing.play(messages)
        assert played == Player(playing.script).play(messages)
        assert played.calls[0].arguments == f'{{"n": {number}}}'
        messages = grown(messages, played)
    assert Player(playing.script).play(messages).text == "e"
