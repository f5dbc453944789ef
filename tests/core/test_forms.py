"""Forms that servers want filled in."""

from typing import Any

import pytest

from hub.core.forms import Choice, FieldKind, FormField, form_problems

COLOURS = (Choice("r", "Red"), Choice("g", "Green"))


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        ("text", " ada ", "ada"),
        ("integer", "7", 7),
        ("number", "1.5", 1.5),
        ("switch", "Yes", True),
        ("switch", "0", False),
        ("choice", "2", "g"),
        ("choice", "red", "r"),
        ("choice", "g", "g"),
        ("choices", "1, green", ["r", "g"]),
        ("choices", "", []),
    ],
)
def test_what_is_typed_becomes_the_value_of_its_kind(
    kind: FieldKind, typed: str, value: Any
) -> None:
    """Choices go by number, value or label."""
    assert FormField("f", kind, choices=COLOURS).read(typed) == value


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        (FormField("f", "integer"), "1.5", "whole number"),
        (FormField("f", "number"), "nan", "a number"),
        (FormField("f", "number"), "inf", "a number"),
        (FormField("f", "integer", least=1, most=3), "4", "3 or less"),
        (FormField("f", least=3), "ab", "at least 3"),
        (FormField("f", most=3), "abcd", "at most 3"),
        (FormField("f", "switch"), "maybe", "yes or no"),
        (FormField("f", "choice", choices=COLOURS), "blue", "1 to 2"),
        (FormField("f", "choices", choices=COLOURS, least=2), "1", "at least 2"),
        (FormField("f", format="email"), "ada", "e-mail"),
        (FormField("f", format="uri"), "example", "address"),
        (FormField("f", format="date"), "tomorrow", "2026-07-28"),
        (FormField("f", format="date-time"), "noon", "12:00"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(
    field: FormField, typed: str, words: str
) -> None:
    """The message can be shown to whoever typed it."""
    with pytest.raises(ValueError, match=words):
        field.read(typed)


def test_a_form_is_checked_as_a_whole() -> None:
    """Missing, strange and wrong fields are each named."""
    fields = [FormField("name", required=True), FormField("age", "integer"), FormField("more")]
    problems = form_problems(fields, {"age": "old", "x": 1})
    assert problems == [
        "'x' is no field of the form",
        "'name' is missing",
        "'age' has to be a number",
    ]
    assert form_problems(fields, {"name": "ada"}) == []


@pytest.mark.parametrize(
    ("field", "secret"),
    [
        (FormField("api_key"), True),
        (FormField("x", title="Your password"), True),
        (FormField("x", format="password"), True),
        (FormField("pin"), True),
        (FormField("spinach"), False),
        (FormField("token", "integer"), False),
    ],
)
def test_a_field_for_a_secret_is_known_by_its_words(field: FormField, secret: bool) -> None:
    """No form should ask for one."""
    assert field.secret is secret
