"""The table from which the settings reference is made."""

from typing import Any, get_args

from hub.config import schema
from hub.config.keys import fields_of
from hub.config.table import settings_table
from hub.core.limits import Limits
from hub.core.modelspec import ModelSpec


def test_every_key_has_a_type_a_default_and_a_text() -> None:
    """A field without a text under it would have none here."""
    rows = {row.key: row for row in settings_table()}
    assert all(row.type and row.doc for row in rows.values())
    steps = rows["limits.steps"]
    assert (steps.type, steps.default) == ("whole number or null", "100")
    assert steps.doc == "Model requests of one turn."
    assert rows["models.NAME.api_key"].type == "text"
    assert rows["servers.NAME.args"].type == "list of text"
    assert rows["servers.NAME.env.NAME"].type == "text"
    assert "models" not in rows


def test_the_table_holds_exactly_the_keys_of_the_schema() -> None:
    """Counted from the models, leaf by leaf."""
    known = vars(schema).values()
    sections = [one for one in known if one is not schema.BaseModel and _is_section(one)]
    leaves = sum(
        1
        for section in sections
        for field in section.model_fields.values()
        if not any(_is_section(part) for part in (field.annotation, *get_args(field.annotation)))
    )
    assert len(settings_table()) == leaves


def _is_section(annotation: Any) -> bool:
    return fields_of(annotation) is not None and annotation is not schema.Section


def test_bounds_in_settings_are_those_that_agents_carry() -> None:
    """Names and defaults are written in two places and must not part."""
    assert schema.LimitSettings().as_limits() == Limits()


def test_defaults_of_model_entries_are_those_of_the_value() -> None:
    """The same for models."""
    entry, spec = schema.ModelEntry(), ModelSpec(name="", model="")
    for name in fields_of(schema.ModelEntry) or {}:
        assert getattr(entry, name) == getattr(spec, name), name
