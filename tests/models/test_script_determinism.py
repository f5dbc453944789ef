"""A script says the same each time: in a lasting player, in a new one, and in another process."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hub.models.script.file import scripts_from
from hub.models.script.player import Player, ScriptError


def player(*turns: dict[str, Any], **variables: Any) -> Player:
    return Player(scripts_from({"script": 1, "vars": variables, "turns": list(turns)})[0])


def test_the_same_text_as_a_failure_is_another_conversation():
    """A player that has seen the call succeed does not take its failure for the same."""
    playing = player(
        {"calls": [{"tool": "x__y"}]},
        {"set": {"failed": "{{ last[0].is_error }}"}, "text": "noted"},
        {"text": "{{ failed }}"},
    )

    def after(*, is_error: bool) -> str:
        call = ToolCall("call_0_0", "x__y", "{}")
        result = ToolMessage("call_0_0", "x__y", "same", is_error)
        history = [UserMessage("go"), AssistantMessage("", (call,)), result]
        return playing.play([*history, AssistantMessage("noted"), UserMessage("and?")]).text

    assert [after(is_error=False), after(is_error=True), after(is_error=False)] == [
        *("False", "True", "False"),
    ]


@pytest.mark.parametrize("text", ["{{ [1, 2, 3] | random }}", "{{ lipsum() }}"])
def test_chance_is_refused(text):
    """A replay would give another answer than the one in the history."""
    with pytest.raises(ScriptError, match="script:1"):
        player({"text": text}).play([UserMessage("go")])


def test_a_set_comes_out_in_the_order_of_its_texts():
    """Its own order is another one in each process."""
    letters = dict.fromkeys("hgfedcba", 1)
    difference = "a.keys() - b.keys()"
    playing = player(
        {
            "text": f"{{{{ {difference} }}}}",
            "calls": [{"tool": "x__y", "args": f"{{{{ {{'nested': {difference}}} }}}}"}],
        },
        a=letters,
        b={"c": 1},
    )
    played = playing.play([UserMessage("go")])
    assert json.loads(played.text) == list("abdefgh")
    assert json.loads(played.calls[0].arguments) == {"nested": list("abdefgh")}


def test_the_keys_of_a_mapping_keep_their_order():
    """They have one."""
    [text] = [player({"text": "{{ a.keys() }}"}, a={"b": 1, "a": 2}).play([UserMessage("go")]).text]
    assert json.loads(text) == ["b", "a"]


CONDITIONS = st.sampled_from([
    *("true", "false", "last and last[0].text == 'a'", "'x' in tools", "turn_index < 1"),
    *("results | length > 2", "n | default(0) > 1", "last and last[0].is_error", "prompt == 'b'"),
])
CALLS = st.fixed_dictionaries(
    {"tool": st.sampled_from(["x", "y"])},
    optional={"when": CONDITIONS, "for_each": st.sampled_from(["[1, 2]", "results", "tools"])},
)
TURNS = st.lists(
    st.fixed_dictionaries(
        {"text": st.just("{{ n | default('-') }}:{{ turn_index }}")},
        optional={
            "when": CONDITIONS,
            "until": CONDITIONS,
            "repeat": st.integers(0, 3),
            "calls": st.lists(CALLS, max_size=2),
            "set": st.sampled_from([
                {"n": "{{ results | length }}"},
                {"n": "{{ (n | default(0)) + 1 }}"},
                {"n": "{{ last[0].text if last else 0 }}"},
            ]),
        },
    ),
    min_size=1,
    max_size=5,
)


def said(playing: Player, messages: list[Message], tools: tuple[str, ...]) -> Any:
    try:
        played = playing.play(messages, tools=tools)
    except ScriptError as error:
        return str(error)
    return played.text, played.calls, played.number


@given(TURNS, st.data())
def test_a_player_of_many_conversations_answers_each_like_a_new_one(turns, data):
    """What it remembers of one conversation never shows in another; tools and results differ."""
    lasting = player(*turns)
    for _ in range(3):
        messages: list[Message] = [UserMessage(data.draw(st.sampled_from("ab")))]
        for _ in range(4):
            tools = data.draw(st.sampled_from([(), ("x",), ("x", "y")]))
            answer = said(lasting, messages, tools)
            assert answer == said(Player(lasting.script), messages, tools)
            if isinstance(answer, str):
                break
            messages.append(AssistantMessage(answer[0], answer[1]))
            for call in answer[1]:
                text, failed = data.draw(st.sampled_from("ab")), data.draw(st.booleans())
                messages.append(ToolMessage(call.id, call.name, text, failed))
