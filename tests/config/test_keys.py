"""Dotted keys: written and split."""

import pytest

from hub.config.keys import dotted, is_secret, split_key, type_at
from hub.config.schema import ModelEntry, Settings


@pytest.mark.parametrize(
    "path",
    [
        ("model",),
        ("limits", "steps"),
        ("models", "gpt-5.1", "headers", "X-A"),
        ("servers", "a b"),
        ("models", "ünïcode"),
    ],
)
def test_a_key_that_is_written_splits_into_the_same_path(path: tuple[str, ...]) -> None:
    """Names with dots stand in quotes."""
    assert split_key(dotted(path)) == path


def test_list_positions_are_written_in_brackets() -> None:
    """As in ``permissions.allow[0]``."""
    assert dotted(("permissions", "allow", 0)) == "permissions.allow[0]"


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", 'a."b', 'a"b"', "a..b"])
def test_what_is_no_key_is_not_split(text: str) -> None:
    """None says so."""
    assert split_key(text) is None


def test_keys_headers_and_variables_count_as_secrets() -> None:
    """Their values are never shown."""
    assert is_secret(("models", "a", "api_key"))
    assert is_secret(("models", "a", "headers", "Authorization"))
    assert is_secret(("servers", "a", "env", "TOKEN"))
    assert not is_secret(("models", "a", "base_url"))
    assert not is_secret(("models", "headers"))
    assert not is_secret(())


def test_the_schema_is_looked_up_by_path() -> None:
    """Names that users choose stand for any name."""
    assert type_at(Settings, ("model",)) is str
    assert type_at(Settings, ("models", "any")) is ModelEntry
    assert type_at(Settings, ("models", "any", "base_url")) is str
    assert type_at(Settings, ("models", "any", "headers", "X")) is str
    assert type_at(Settings, ("models", "any", "nope")) is None
    assert type_at(Settings, ("model", "nope")) is None
