"""What a server may ask, as the settings say it."""

from typing import Any

import pytest

from hub.config.beside import said_beside
from hub.config.servers import server_specs
from hub.config.trust import active_parts, digest
from hub.core.errors import ConfigError

ENTRY = "servers: {git: {command: uvx}}\n"
WIDER = "servers: {git: {command: uvx, may_ask: [elicitation, roots]}}\n"


def test_questions_to_the_user_are_all_that_a_server_may_ask_by_default(place: Any) -> None:
    """An empty list takes even these away."""
    place.user("servers: {a: {command: x}, b: {command: x, may_ask: []}}\n")
    found = {spec.name: spec.may_ask for spec in server_specs(place.load())}
    assert found["a"] == ("elicitation",)
    assert found["b"] == ()


def test_what_nobody_can_ask_is_a_mistake(place: Any) -> None:
    """With the place."""
    path = place.user("servers:\n  a:\n    command: x\n    may_ask: [root]\n")
    with pytest.raises(ConfigError, match="may_ask") as caught:
        place.load()
    assert str(path) in str(caught.value)


def test_a_project_that_lets_a_server_ask_more_asks_for_trust_anew(place: Any) -> None:
    """It counts for trust and for the approval of the one server (H52)."""
    place.shared(ENTRY)
    before = place.load()
    place.shared(WIDER)
    after = place.load()
    assert digest(active_parts(before)) != digest(active_parts(after))
    assert said_beside(before, "git") != said_beside(after, "git")


def test_a_project_cannot_let_a_server_of_the_user_ask_more_unnoticed(place: Any) -> None:
    """The added key is a part of its own."""
    place.user(ENTRY)
    place.shared("servers: {git: {may_ask: [roots, sampling]}}\n")
    assert [(part.kind, part.name) for part in active_parts(place.load())] == [("server", "git")]
