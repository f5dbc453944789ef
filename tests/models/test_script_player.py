"""Playing a script: templates, conditions, loops, expectations, and replay without state."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hub.models.script.file import scripts_from
from hub.models.script.player import Played, Player, ScriptError


def player(*turns: dict[str, Any], **variables: Any) -> Player:
    return Player(scripts_from({"script": 1, "vars": variables, "turns": list(turns)})[0])


def run(
    playing: Player, *, task: str = "do it", results: Any = "ok", steps: int = 50
) -> list[Played]:
    """Play to the end, answering each call; results may depend on the call."""
    messages: list[Message] = [UserMessage(task)]
    said = []
    for _ in range(steps):
        if not playing.leftover(messages):
            return said
        played = playing.play(messages, tools=["x__y"])
        said.append(played)
        messages.append(AssistantMessage(played.text or "-", played.calls))
        for call in played.calls:
            text = results(call) if callable(results) else results
            messages.append(ToolMessage(call.id, call.name, text))
    return said


def arguments(played: Played) -> list[Any]:
    return [json.loads(call.arguments) for call in played.calls]


def test_templates_see_task_context_files_results_and_variables():
    """The child's first message is taken apart; an expression alone keeps its kind."""
    playing = player(
        {
            "calls": [
                {
                    "tool": "x__y",
                    "args": {"n": "{{ n + 1 }}", "t": "{{ task }}!", "f": "{{ files }}"},
                }
            ]
        },
        {
            "text": "{{ last[0].text }}, {{ results | length }}, {{ context }}, "
            "{{ prompt | length }}"
        },
        n=4,
    )
    task = "look\n\n<context>\nold\n</context>\n\n<files>\na.py\nb.py\n</files>"
    first, second = run(playing, task=task)
    assert arguments(first) == [{"n": 5, "t": "look!", "f": ["a.py", "b.py"]}]
    assert second.text == f"ok, 1, old, {len(task)}"


def test_turns_are_skipped_repeated_and_ended_by_conditions():
    """``when``, ``repeat`` as a number and as an expression, ``until``."""
    said = run(
        player(
            {"text": "never", "when": "false"},
            {"text": "twice {{ turn_index }}", "repeat": 2},
            {"text": "n {{ turn_index }}", "repeat": "{{ n }}"},
            {"text": "more", "until": "turn_index == 3"},
            {"text": "end"},
            n=1,
        )
    )
    assert [played.text for played in said] == [
        *("twice 0", "twice 1", "n 0", "more", "more", "more", "end"),
    ]


def test_a_call_is_made_for_each_item_of_a_list():
    """``for_each`` over an expression, ``as`` and ``index``, and a condition for each item."""
    [played] = run(
        player({
            "calls": [
                {
                    "tool": "x__{{ name }}",
                    "for_each": "['a', 'b', 'c']",
                    "as": "name",
                    "when": "name != 'b'",
                    "args": {"at": "{{ index }}"},
                }
            ]
        })
    )
    assert [(call.name, json.loads(call.arguments)) for call in played.calls] == [
        ("x__a", {"at": 0}),
        ("x__c", {"at": 2}),
    ]
    assert len({call.id for call in played.calls}) == 2


def test_set_computes_variables_that_later_turns_see():
    """A turn that only sets says nothing."""
    said = run(
        player(
            {"calls": [{"tool": "x__y"}]},
            {"set": {"numbers": "{{ last[0].json.n }}", "total": "{{ numbers | sum }}"}},
            {"text": "{{ total }}"},
        ),
        results='found: {"n": [1, 2, 3]}',
    )
    assert [played.text for played in said] == ["", "6"]


def test_a_framed_dispatch_result_reads_as_json():
    """Escapes inside of the frame are undone by JSON."""
    framed = '<dispatch_result>\n{"report": {"summary": "\\u003cb\\u003e"}}\n</dispatch_result>'
    said = run(
        player({"calls": [{"tool": "dispatch"}]}, {"text": "{{ last[0].json.report.summary }}"}),
        results=framed,
    )
    assert said[-1].text == "<b>"


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ({"tools_include": ["nope"]}, "nope"),
        ({"prompt_contains": "absent"}, "absent"),
        ({"last_result_contains": "absent"}, "absent"),
        ({"system_contains": "absent"}, "absent"),
        ({"that": "1 == 2"}, "false"),
    ],
)
def test_an_expectation_that_does_not_hold_fails_with_its_line(expect, problem):
    """Loud, with what was wanted."""
    with pytest.raises(ScriptError, match=problem) as caught:
        run(player({"text": "x", "expect": expect}))
    assert caught.value.where == "script:1"
    held = {"tools_include": ["x__y"], "prompt_contains": "do", "that": "task"}
    assert run(player({"text": "x", "expect": held}))[0].text == "x"


def test_a_request_too_many_fails_and_quotes_the_last_message():
    """The script is over, the conversation is not."""
    playing = player({"text": "only"})
    messages = [UserMessage("a"), AssistantMessage("only"), UserMessage("and now?")]
    with pytest.raises(ScriptError, match="and now"):
        playing.play(messages)


def test_turns_that_were_not_played_are_left_over_unless_they_need_not_be():
    """Optional turns and turns whose condition is false do not count."""
    playing = player(
        {"text": "a"},
        {"text": "b"},
        {"text": "c", "optional": True},
        {"text": "d", "when": "false"},
    )
    assert [turn.text for turn in playing.leftover([UserMessage("x"), AssistantMessage("a")])] == [
        "b"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{{ nothing }}",
        "{{ task.__class__.__mro__ }}",
        "{{ last[7] }}",
        "{% for x in %}",
        "{{ 1 / 0 }}",
        "{{ ''.__class__ }}",
        "{{ vars.update({}) }}",
    ],
)
def test_a_template_that_fails_or_reaches_out_of_the_sandbox_is_a_script_error(text):
    """Undefined names, private attributes, faults and changes of state are refused."""
    with pytest.raises(ScriptError):
        run(player({"text": f"x {text}"}))


def test_broken_arguments_can_be_written_on_purpose():
    """``raw_args`` go out as they are."""
    [played] = run(player({"calls": [{"tool": "x__y", "raw_args": '{"a": ', "id": "c9"}]}))
    assert (played.calls[0].arguments, played.calls[0].id) == ('{"a": ', "c9")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'a1 b22' | regex_findall('\\\\d+')", ["1", "22"]),
        ("'n: 7' | regex_search('n: (\\\\d+)')", "7"),
        ("'x' | regex_search('y', 'none')", "none"),
        ("'a\\n\\nb' | lines", ["a", "b"]),
        ("['a.py', 'b.py', 'c.md'] | map('suffix') | count_by", {".py": 2, ".md": 1}),
        ("'d/a.py' | basename", "a.py"),
        ("'d/e/a.py' | dirname", "d/e"),
        ("'../x.md' | path_from('docs/a/b.md')", "docs/x.md"),
        ("['ab', 'cd'] | matching('^a')", ["ab"]),
        ("['ab', 'cd'] | not_matching('^a')", ["cd"]),
        ("{'a': [1]} | to_json", '{"a": [1]}'),
        ("'[1, 2]' | from_json", [1, 2]),
        ("'a-b' | regex_replace('-', '+')", "a+b"),
        ("'a,b' | split(',')", ["a", "b"]),
    ],
)
def test_filters_turn_tool_output_into_values(expression, value):
    """What a survey of text needs."""
    [played] = run(player({"calls": [{"tool": "x__y", "args": {"v": "{{ " + expression + " }}"}}]}))
    assert arguments(played) == [{"v": value}]


TURNS = st.lists(
    st.fixed_dictionaries(
        {"text": st.sampled_from(["a", "b {{ results | length }}", "{{ task }}"])},
        optional={
            "repeat": st.integers(1, 3),
            "when": st.sampled_from(["true", "results | length > 1"]),
            "calls": st.lists(
                st.just({"tool": "x__y", "args": {"n": "{{ turn_index }}"}}), max_size=2
            ),
            "set": st.just({"seen": "{{ results | length }}"}),
        },
    ),
    min_size=1,
    max_size=5,
)


@given(TURNS)
def test_a_fresh_player_gives_the_same_answer_at_every_position(turns):
    """Position is found in the conversation alone: after a resume, over HTTP, with a lost memo."""
    script = scripts_from({"script": 1, "turns": turns})[0]
    lasting = Player(script)
    messages: list[Message] = [UserMessage("go")]
    while lasting.leftover(messages):
        played = lasting.play(messages)
        assert played == Player(script).play(messages)
        messages.append(AssistantMessage(played.text, played.calls))
        messages.extend(ToolMessage(call.id, call.name, "ok") for call in played.calls)
    assert Player(script).leftover(messages) == []
