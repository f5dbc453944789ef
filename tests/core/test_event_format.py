"""Events are a file format: names, fields, types and defaults change only on purpose."""

import os
from difflib import unified_diff
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hub.core import events as ev
from hub.core.events import EVENT_TYPES, Event, parse_event
from tests.golden.event_format import GOLDEN, event_format, misplaced


def test_the_format_is_the_one_that_is_written_down() -> None:
    """A stored log of an earlier build can be read by this one; a change shows as a diff."""
    now = event_format()
    if os.environ.get("HUB_UPDATE_GOLDEN"):
        GOLDEN.write_text(now, encoding="utf-8")
    pinned = GOLDEN.read_text(encoding="utf-8")
    if now != pinned:
        diff = unified_diff(
            pinned.splitlines(), now.splitlines(), "the golden file", "the code", lineterm="", n=2
        )
        pytest.fail(
            "the format of events has changed:\n"
            + "\n".join(diff)
            + "\nIf that is meant: pytest --update-golden, or python -m tests.golden.regenerate",
            pytrace=False,
        )


def test_every_event_class_is_in_the_union_once() -> None:
    """No event is forgotten, none has another one's type."""
    classes = {
        found
        for found in vars(ev).values()
        if isinstance(found, type) and issubclass(found, Event) and "type" in found.model_fields
    }
    assert classes == set(EVENT_TYPES)
    names = [kind.model_fields["type"].default for kind in EVENT_TYPES]
    assert len(set(names)) == len(names) == len(classes)


def test_durable_events_come_first_and_are_no_transients() -> None:
    """Whether an event is stored is said by its class alone."""
    assert misplaced() == []
    durable = [kind.durable for kind in EVENT_TYPES]
    assert durable == sorted(durable, reverse=True)


def test_every_event_and_field_that_needs_words_has_them() -> None:
    """Each event says in one line what happened."""
    for kind in EVENT_TYPES:
        assert kind.__doc__, kind.__name__
        assert kind.__doc__.splitlines()[0].endswith("."), kind.__name__


def sample(kind: type[Event], text: str) -> Event:
    """Make an event with every required field filled."""
    values: dict[type, Any] = {str: text, int: 3, float: 0.5, bool: True}
    fields = {
        name: values[field.annotation]
        if field.annotation in values
        else get_args(field.annotation)[0]
        for name, field in kind.model_fields.items()
        if field.is_required()
    }
    return kind(session="s-1", seq=4, at=1.25, agent="lead/worker#2", turn=1, step=2, **fields)


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
@given(text=st.text())
def test_an_event_is_the_same_after_a_round_trip(kind: type[Event], text: str) -> None:
    """What is written is read as the same event of the same class."""
    event = sample(kind, text)
    again = parse_event(event.model_dump_json())
    assert type(again) is kind
    assert again == event


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"type":"no.such.event"}',
        '{"type":"turn.started","colour":"red"}',
        '{"type":"user.message"}',
        '{"type":"user.message","text":7}',
        '{"type":"turn.started"',
        "\0\0\0",
    ],
)
def test_what_is_no_event_is_refused(line: str) -> None:
    """Unknown types and fields, missing fields, wrong types and torn lines do not parse."""
    with pytest.raises(ValidationError):
        parse_event(line)


def test_an_event_cannot_be_changed() -> None:
    """An event that was published stays what it is."""
    event = ev.TurnStarted()
    with pytest.raises(ValidationError):
        event.turn = 2
